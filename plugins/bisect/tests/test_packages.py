"""Runtimes of a backend and packages beside them."""

from __future__ import annotations

import numpy as np
import pytest
from in_process import plugins_installed

from polycmp_bisect.environments.packages import ReleaseRequest, held_release, parse_version, runtimes_of


def test_a_backend_with_two_runtimes_takes_releases_of_each():
    pytest.importorskip("polycmp_tf")
    runtimes = dict(runtimes_of(plugins_installed(), "tf"))
    assert runtimes == {"tensorflow": "tensorflow", "ai-edge-litert": "ai_edge_litert.interpreter"}
    asked = parse_version("ai_edge_litert==1.4.0,numpy==1.26.4,python==3.10", list(runtimes))
    assert asked == ReleaseRequest("ai-edge-litert", "1.4.0", ("numpy==1.26.4",), "3.10")
    assert parse_version("2.16", ["tensorflow", "ai-edge-litert"]).package == "tensorflow"


def test_another_package_is_held_at_a_release_or_at_the_one_that_is_installed_here():
    assert held_release("numpy == 1.26.4") == "numpy==1.26.4"
    assert held_release("numpy") == f"numpy=={np.__version__}"
    with pytest.raises(ValueError, match="names no release"):
        held_release("absent-package")

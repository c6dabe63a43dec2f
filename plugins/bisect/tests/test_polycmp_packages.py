"""The packages of polycmp that an environment gets: those that run a backend, and what they require of others."""

from __future__ import annotations

import pytest
from in_process import plugins_installed
from packaging.requirements import Requirement

from polycmp.errors import PluginError
from polycmp_bisect.environments.polycmp_packages import polycmp_packages, requirements_of

REGISTRY = plugins_installed()


def test_a_backend_needs_the_core_its_plugin_and_who_makes_its_models():
    pytest.importorskip("polycmp_onnxrt")
    found = polycmp_packages(REGISTRY, "onnxrt")
    assert {"polycmp", "polycmp_onnx", "polycmp_onnxrt"} <= set(found.places)
    assert "polycmp_bisect" not in found.places
    assert all(place.exists() for place in found.places.values())
    about = [name for name in found.places if name.endswith("-info")]
    assert len(about) == len(found.places) - len(about)  # each module with its metadata, which has the entry points


def test_what_they_require_is_others_and_nothing_of_an_extra():
    found = polycmp_packages(REGISTRY, "onnx")
    names = {Requirement(text).name for text in found.requirements}
    assert {"numpy", "click"} <= names
    assert not {name for name in names if name.startswith("polycmp")}
    assert not [text for text in found.requirements if "extra ==" in text]
    assert any("extra" in str(item.marker) for item in requirements_of(["polycmp"]))


def test_who_makes_models_for_a_backend_comes_with_it_though_its_package_does_not_require_that(shelf, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(shelf.site))
    monkeypatch.syspath_prepend(str(shelf.site))
    found = polycmp_packages(plugins_installed(), "toy")  # which requires the core alone, and takes ONNX models
    assert {"polycmp", "polycmp_toyrt", "polycmp_onnx"} <= set(found.places)


def test_other_places_have_another_digest():
    one, other = (polycmp_packages(REGISTRY, name) for name in ("onnx", "onnxrt"))
    assert one.digest != other.digest
    assert one.digest == polycmp_packages(REGISTRY, "onnx").digest


def test_a_backend_that_nobody_brings_is_told():
    with pytest.raises(PluginError):
        polycmp_packages(REGISTRY, "nobody")

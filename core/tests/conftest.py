"""What the core's tests share: the toy box, a command line, and an environment with the core alone."""

from __future__ import annotations

import sys

import pytest
from commandline import core_alone_with, model, polycmp, run, signals_as_a_terminal_has_them, toybox
from fakes import FakeSite, forget_modules

__all__ = ["model", "polycmp", "run", "signals_as_a_terminal_has_them", "toybox"]


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our plugins."""
    with core_alone_with():
        yield


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Distributions that this process finds; their modules are forgotten afterwards."""
    before = set(sys.modules)
    site = FakeSite(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    yield site
    forget_modules(before, tmp_path)

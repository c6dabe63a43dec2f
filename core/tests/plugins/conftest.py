"""Plugins that are installed for one test."""

from __future__ import annotations

import sys

import pytest
from fakes import FakeSite


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Distributions that this process finds; their modules are forgotten afterwards."""
    before = set(sys.modules)
    site = FakeSite(tmp_path / "site")
    monkeypatch.syspath_prepend(str(site.folder))
    yield site
    for name in set(sys.modules) - before:
        if name.startswith("fake_"):
            del sys.modules[name]

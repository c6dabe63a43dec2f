"""Releases to search over, and a folder for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from onnx_commands import polycmp, signals_as_a_terminal_has_them
from releases import Shelf, make_place

from polycmp_bisect.environments.cache import Cache
from polycmp_bisect.environments.tools import interpreters

__all__ = ["place", "polycmp", "shelf", "signals_as_a_terminal_has_them"]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """Wheels, a plugin and a cache that all tests share."""
    return Shelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of environments of one test alone."""
    monkeypatch.setenv("POLYCMP_CACHE", str(tmp_path / "cache"))
    return Cache()


@pytest.fixture
def place(shelf, tmp_path, capfd, monkeypatch):
    """A folder in which commands see the wheels and nothing else."""
    if sys.platform == "win32":
        pytest.skip("backends run in processes of their own")
    yield make_place(tmp_path, shelf, capfd, monkeypatch)
    interpreters.cache_clear()

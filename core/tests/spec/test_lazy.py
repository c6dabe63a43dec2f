"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import sys

import pytest

PACKAGE = """
from polycmp.spec import lazy_names
here = 1
__getattr__, __dir__ = lazy_names(__name__, {"first": ["One"], "second": ["Two", "Three"]})
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "first.py").write_text("One = 1\n")
    (folder / "second.py").write_text("Two = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__("lazily")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazily"]:
        del sys.modules[name]


def test_a_module_is_imported_with_the_first_of_its_names(package):
    assert "lazily.first" not in sys.modules
    assert package.One == 1
    assert "lazily.first" in sys.modules
    assert "lazily.second" not in sys.modules
    from lazily import Two

    assert Two == 2


def test_all_names_are_listed_and_no_others_are_there(package):
    assert {"One", "Two", "Three", "here"} <= set(dir(package))
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'Four'"):
        _ = package.Four

"""Deprecations: the warning points to the line to change, and nothing outlives the version it was to be removed in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from packaging.version import Version

import polycmp
from polycmp._deprecation import deprecated

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])


def old() -> int:
    deprecated("old()", since="0.1", until="0.3", instead="new()")
    return 1


def overdue(text: str, version: str) -> list[int]:
    """Return the lines of calls of `deprecated` whose time has come, or that do not say when it comes."""
    found = []
    for node in ast.walk(ast.parse(text)) if "deprecated" in text else ():
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "deprecated":
            until = next((item.value for item in node.keywords if item.arg == "until"), None)
            base = Version(Version(version).base_version)
            if not isinstance(until, ast.Constant) or Version(until.value) <= base:
                found.append(node.lineno)
    return found


def test_the_warning_says_what_to_write_and_where():
    says = r"old\(\) is deprecated since polycmp 0.1 and will be removed in 0.3; use new\(\)"
    with pytest.warns(DeprecationWarning, match=says) as seen:
        assert old() == 1
    assert [item.filename for item in seen] == [__file__]
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "old() == 1" in source[seen[0].lineno - 1]


def test_nothing_outlives_its_time():
    found = {path: overdue(path.read_text(encoding="utf-8"), polycmp.__version__) for path in SOURCES}
    assert {str(path): lines for path, lines in found.items() if lines} == {}


def test_what_is_overdue_is_noticed():
    call = 'deprecated("f", since="0.1", until="0.3", instead="g")'
    assert overdue(call, "0.2.9") == []
    assert overdue(call, "0.3.0.dev0") == [1]
    assert overdue('deprecated("f", since="0.1", until=LATER, instead="g")', "0.1") == [1]

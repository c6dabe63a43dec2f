"""Every public Python name of Polygraphy 0.53.6 works under ours, or the documentation says what to do instead.

`data/polygraphy-0.53.6/api.json` was printed by `tools/record_api.py` in Polygraphy's interpreter; where
POLYGRAPHY_PYTHON names one, the list is checked against it. `data/api_differences.json` lists what is not the same.
"""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live

TESTS = Path(__file__).parent
THEIRS = json.loads((TESTS / "data/polygraphy-0.53.6/api.json").read_text(encoding="utf-8"))
DIFFERENCES = json.loads((TESTS / "data/api_differences.json").read_text(encoding="utf-8"))
OURS = {
    "comparator": "polycmp.comparator",
    "func": "polycmp.func",
    "json": "polycmp.json",
    "logger": "polycmp.logger",
    "common": "polycmp.tensors",
    "cuda": "polycmp_trt",
    "exception": "polycmp.errors",
    "backend.base": "polycmp.runner",
    "backend.common": "polycmp.loader",
    "backend.onnx": "polycmp_onnx",
    "backend.onnxrt": "polycmp_onnxrt",
    "backend.pluginref": "polycmp_pluginref",
    "backend.trt": "polycmp_trt",
}
ENTRIES = [(module, name) for module, names in THEIRS.items() for name in names]


def accepts(function: Callable[..., object]) -> tuple[set[str], bool]:
    """Return the keywords of a function of ours, and whether it takes any others."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:  # a method of dict, which takes what theirs takes
        return set(), True
    return {item.name for item in found}, any(item.kind is item.VAR_KEYWORD for item in found)


def missing(module: str, name: str) -> list[str]:
    """Return what of a name of theirs does not work under ours: it, its keywords, its methods and their keywords."""
    theirs = THEIRS[module][name]
    ours = getattr(importlib.import_module(OURS[module]), name, None)
    if ours is None:
        return [f"{module}.{name}"]
    lacking = [f"{module}.{name}({word})" for word in lacking_keywords(ours, theirs["parameters"])]
    for method, words in theirs.get("members", {}).items():
        if not hasattr(ours, method):
            lacking += [] if inspect.isroutine(ours) else [f"{module}.{name}.{method}"]
            continue
        function = getattr(ours, method)
        if callable(function):
            lacking += [f"{module}.{name}.{method}({word})" for word in lacking_keywords(function, words)]
    return lacking


def lacking_keywords(function: object, wanted: list[str]) -> list[str]:
    if not callable(function) or not wanted:
        return []
    names, others = accepts(function)
    return [word for word in wanted if word not in names and not others]


def covered(entry: str) -> bool:
    """Return whether the list of differences speaks of an entry, or of the whole that it is part of."""
    whole = entry.partition("(")[0]
    parts = [entry, whole, whole.rpartition(".")[0]]
    return any(part in DIFFERENCES for part in parts)


@pytest.mark.parametrize(("module", "name"), ENTRIES, ids=lambda value: value)
def test_every_public_name_works_or_is_explained(module, name):
    assert [entry for entry in missing(module, name) if not covered(entry)] == []


@pytest.mark.parametrize("entry", DIFFERENCES)
def test_no_difference_is_explained_that_is_none(entry):
    lacking = [item for module, name in ENTRIES for item in missing(module, name)]
    about = [item for item in lacking if item == entry or item.startswith((f"{entry}.", f"{entry}("))]
    assert about or DIFFERENCES[entry]["kind"] == "refused", f"{entry} works: take it off the list"


@live
def test_the_list_is_that_of_the_installed_polygraphy():
    done = subprocess.run(
        [POLYGRAPHY_PYTHON, TESTS / "tools/record_api.py"], capture_output=True, text=True, check=True, timeout=300
    )
    assert json.loads(done.stdout) == THEIRS

"""Every name that public programs import from Polygraphy is there, in the module that they import it from."""

from __future__ import annotations

import importlib
import json
import subprocess
from pathlib import Path

import pytest
from live_polygraphy import POLYGRAPHY_PYTHON, live

TESTS = Path(__file__).parent
LINES = (TESTS / "data/public_names.txt").read_text(encoding="utf-8").splitlines()
#: Module -> the names that public programs import from it.
NAMES = {line.split()[0]: line.split()[1:] for line in LINES if not line.startswith("#")}
#: Prints the names that are absent, of those that are written to standard input.
ABSENT = """
import importlib, json, sys

def has(module, name):
    try:
        return hasattr(importlib.import_module(module), name) or bool(importlib.import_module(f"{module}.{name}"))
    except ImportError:
        return False

asked = [(module, name) for module, names in json.load(sys.stdin).items() for name in names]
print(json.dumps([f"{module}.{name}" for module, name in asked if not has(module, name)]))
"""


@pytest.mark.parametrize("module", NAMES)
def test_a_module_has_the_names_that_programs_import_from_it(module):
    ours = importlib.import_module(module.replace("polygraphy", "polycmp_polygraphy", 1))
    for name in NAMES[module]:
        if not hasattr(ours, name):
            importlib.import_module(f"{ours.__name__}.{name}")


@live
def test_the_real_tool_has_them_there_too():
    done = subprocess.run(
        [POLYGRAPHY_PYTHON, "-c", ABSENT], input=json.dumps(NAMES), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []

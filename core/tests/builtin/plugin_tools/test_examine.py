"""Everything that a plugin names is imported in a child, which may die."""

from __future__ import annotations

import os
import re

import pytest
from fakes import LOUD, SEGFAULT, runner

from polycmp.builtin.plugin_tools.examine import check_plugin
from polycmp.plugins import discover


def check(name, timeout=20.0):
    [candidate] = [item for item in discover({}) if item.record.name == name]
    return check_plugin(candidate.record, os.environ, timeout=timeout)


def test_good_plugin_says_what_was_loaded(site):
    site.plugin("good", runner("good", factory="fake_heavy:make"))
    (site.folder / "fake_heavy.py").write_text(LOUD + "def make(model, options, *, name): ...\n")
    result = check("good")
    assert result.problems == ()
    assert result.loaded == ("backend 'good' of fake-good: fake_heavy:make",)


def test_segfault_of_a_heavy_library_is_reported_as_one(site):
    site.plugin("crashing", runner("crashing", factory="fake_heavy:make"))
    (site.folder / "fake_heavy.py").write_text(SEGFAULT)
    [problem] = check("crashing").problems
    assert problem == "loading fake_heavy:make: the process died with signal 11 (SIGSEGV)"


def test_hang_is_a_time_out(site):
    site.plugin("hangs", runner("hangs", factory="fake_heavy:make"))
    (site.folder / "fake_heavy.py").write_text("import time\ntime.sleep(600)\n")
    [problem] = check("hangs", timeout=6.0).problems
    assert problem == "loading fake_heavy:make: the process did not answer for 6 s and was ended"


@pytest.mark.parametrize(
    ("source", "heavy", "says"),
    [
        (runner("sick", needs="('not_there',)"), "", "needs the Python module 'not_there'"),
        (runner("sick", factory="fake_heavy:make"), "import not_there", "needs the Python module 'not_there'"),
        (runner("sick", factory="fake_heavy:make"), "make = 3", "fake_heavy:make is int, not callable"),
        (runner("sick", factory="fake_heavy:make"), "", "has no attribute 'make'"),
        (
            runner("sick", tools="'fake_heavy:Tools'"),
            "class Tools: pass\ndef make(): pass",
            "no class derived from polycmp.spec.RunnerTools",
        ),
        (
            runner("sick", tools="'fake_heavy:Tools'"),
            "from polycmp.spec import RunnerTools\nclass Tools(RunnerTools): thread = ''\ndef make(): pass",
            "did you mean 'threads'",
        ),
        ("import numpy\n" + runner("sick"), "", "its light module fake_sick also imports .*numpy"),
        ("raise SystemExit", "", "cannot be imported: SystemExit"),
    ],
)
def test_problems(site, source, heavy, says):
    site.plugin("sick", source)
    (site.folder / "fake_heavy.py").write_text(heavy)
    result = check("sick")
    assert any(re.search(says, problem) for problem in result.problems)


def test_excluded_plugin_is_a_problem_and_not_imported(site):
    site.plugin("too_new", SEGFAULT, requires=["polycmp>=99"])
    [problem] = check("too_new").problems
    assert problem.startswith("excluded: needs polycmp>=99")


def test_hint_says_what_to_install(site):
    site.plugin("sick", runner("sick", needs="('not_there',)"))
    assert check("sick").hints == ("pip install not_there",)

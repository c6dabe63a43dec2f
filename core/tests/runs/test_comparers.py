"""Comparers of a plan: scripts, functions, and what is said where nothing could have differed."""

from __future__ import annotations

import numpy as np
import pytest
from in_process import plugins_installed

from polycmp._builtin_options import SimpleOptions
from polycmp.errors import DataError, UsageError
from polycmp.plan import Choice, ComparePlan
from polycmp.runs.comparers import comparer_maker

X = {"y": np.linspace(1.0, 2.0, 8, dtype=np.float32)}
Z = {"y": X["y"] + np.float32(1.0)}


@pytest.fixture
def comparer(toybox, tmp_path):
    """Return a comparer of two runs by a plan, or by a function that is written to a script."""

    def of(*choices, script="", watching=True, **plan):
        if script:
            path = tmp_path / "c.py"
            path.write_text(f"def compare_outputs(result, other):\n    {script}\n")
            plan["script"] = str(path)
        made = ComparePlan(functions=choices, **plan)
        return comparer_maker(made, plugins_installed(), watching=watching)("new", "old")

    return of


def simple(atol):
    return Choice("simple", SimpleOptions(atol={"": atol}, rtol={"": 0.0}))


def test_all_functions_of_a_plan_have_to_pass(comparer):
    both = comparer(simple(10.0), simple(0.01))
    both.add(Z, X)
    assert both.result().verdict == "failed"


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ("return {name: bool((result[name] == other[name]).all()) for name in result}", "failed"),
        ("return {name: True for name in result}", "blind"),
        ("return {}", "failed"),
    ],
)
def test_a_script_judges_all_outputs_and_is_asked_whether_it_could_fail(comparer, script, verdict):
    scripted = comparer(script=script)
    scripted.add(Z, X)
    result = scripted.result()
    assert result.verdict == verdict
    assert ("the compare function judged no output" in result.reason) == (script == "return {}")


def test_a_script_that_passes_anything_may_be_accepted(comparer):
    accepted = comparer(script="return {name: True for name in result}", allow_blind=("y",))
    accepted.add(Z, X)
    assert accepted.result().passed
    unwatched = comparer(script="return {name: True for name in result}", watching=False)
    unwatched.add(Z, X)
    assert unwatched.result().passed


def test_the_worst_iteration_of_a_script_is_kept_and_unequal_numbers_fail(comparer):
    scripted = comparer(script="return {name: bool((result[name] == other[name]).all()) for name in result}")
    for candidate in (X, Z, X):
        scripted.add(candidate, X)
    result = scripted.result()
    assert (result.iterations, result.outputs["y"].worst_iteration, result.outputs["y"].failed_iterations) == (3, 1, 1)
    assert scripted.result(3, 2).reason == "new ran 3 iterations, old 2"


def test_a_script_that_cannot_be_loaded_is_refused_by_name(comparer, tmp_path):
    with pytest.raises(DataError, match=r"c\.py fails to import"):
        comparer(script="return (")
    gone = ComparePlan(functions=(), script=str(tmp_path / "gone.py"))
    with pytest.raises(DataError, match=r"gone\.py"):
        comparer_maker(gone, plugins_installed(), watching=True)


def test_a_measured_tolerance_beside_one_that_was_typed_is_refused(comparer):
    with pytest.raises(UsageError, match="--tolerance"):
        comparer(simple(0.1), tolerance="auto")

"""One run from plan to outcome: who is compared with whom, what is told of it, and how it ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from in_process import plugins_installed
from toymodels import small

from polycmp.errors import UsageError
from polycmp.options import OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.runs import resolve
from polycmp.session import judge_outputs, run_plan

WRONG = "toy:name=wrong,fault=add,at=y,amount=0.5"


def notes_of(report):
    return " | ".join(report["notes"])


# --- how backends take turns


@pytest.mark.parametrize(
    "words", [("--warm-up", "2"), ("--sequential-runners",), ("--warm-up", "1", "--sequential-runners")]
)
def test_ways_to_run_give_the_same(run, words):
    done, found = run("-b", "toy:name=toy,seconds=0.5", "-b", "plain", "--iterations", "3", *words)
    assert done.status == 0
    assert found["inference_results"]["toy"]["iterations"] == 3
    assert found["inference_results"]["toy"]["runtime"]["median"] == 0.5


@pytest.mark.parametrize(
    ("backend", "says"),
    [
        ("toy:name=bad,fault=raise,at=h", "has had enough (in iteration 0)"),
        ("toy:name=bad,fault=raise,at=h,after=1", "has had enough (in iteration 1)"),
        ("toy:name=bad,fault=overwrite,at=h", "MemoryError: no room left (in iteration 0)"),
        ("toy:name=bad,refuses=Softmax", "has no operator Softmax"),
    ],
)
def test_a_backend_that_fails_is_a_result_and_the_others_go_on(run, backend, says):
    done, found = run("-b", backend, "-b", "toy", "-b", "plain", "--iterations", "2")
    assert done.status == 3
    assert says in found["inference_results"]["bad"]["error"]
    assert [pair["passed"] for pair in found["comparison_results"] if pair["candidate"] == "toy"] == [True]


# --- who is compared with whom


def test_where_the_reference_fails_the_others_are_compared_with_the_last_that_ran(run):
    done, report = run("-b", WRONG, "-b", "plain", "-b", "toy:name=bad,fault=raise,at=h")
    assert done.status == 3
    assert report["reference"] == "plain"
    assert [(pair["candidate"], pair["passed"]) for pair in report["comparison_results"]] == [("wrong", False)]
    assert "the reference bad failed, so the others are compared with plain" in notes_of(report)


def test_a_reference_that_fails_later_stays_the_reference(run):
    done, report = run("-b", "plain", "-b", "toy:name=bad,fault=raise,at=h,after=1", "--iterations", "2")
    assert (done.status, report["reference"]) == (3, "bad")
    assert "so the others" not in notes_of(report)


def test_runs_that_are_the_same_thing_prove_nothing(run, polycmp):
    same = "all runs have the same backend, options and model: that they agree shows only that it repeats itself"
    _, report = run("-b", "toy", "-b", "toy", "--save-outputs", "o.npz")
    assert same in notes_of(report)
    _, report = run("-b", "toy", "-b", "toy:threads=2")
    assert same not in notes_of(report)
    done = polycmp("run", "--load-outputs", "o.npz", "o.npz", "--report", "r.json")
    assert "o.npz is loaded more than once: that its runs agree with themselves shows nothing" in notes_of(
        done.report()
    )


def test_saved_runs_go_on_where_live_ones_end(run):
    run("-b", "plain:name=saved", "--iterations", "3", "--save-outputs", "o.npz")
    done, report = run("-b", "toy", "--iterations", "2", "--load-outputs", "o.npz")
    assert done.status == 1
    assert {name: item["iterations"] for name, item in report["inference_results"].items()} == {"toy": 2, "saved": 3}
    [pair] = report["comparison_results"]
    assert (pair["outputs"]["y"]["passed"], pair["passed"]) == (True, False)


# --- what is told of it


def test_a_difference_of_a_backend_that_may_round_more_says_so(run):
    _, report = run("-b", "toy:name=fast,fast,fault=add,at=y,amount=0.5", "-b", "plain")
    assert "fast may round to bfloat16, by up to 0.004 relative" in notes_of(report)
    _, report = run("-b", "toy:name=fast,fast", "-b", "plain")
    assert "may calculate" not in notes_of(report)


# --- outputs that are there


@pytest.fixture
def resolved(toybox, tmp_path):
    def of(*backends, **simple):
        values = OptionValues({}, SECTIONS, model=str(small(tmp_path / "m.toy")), backends=backends)
        values = values.replaced("compare_func", "simple", {name: {"": value} for name, value in simple.items()})
        registry = plugins_installed()
        return resolve(make_plan(values, registry), registry)

    return of


def case(offset):
    y = np.linspace(0.0, 1.0, 16, dtype=np.float32).reshape(2, 8)
    return {"x": np.ones((2, 8), np.float32)}, {"y": y + np.float32(offset)}, {"y": y}


def test_outputs_that_two_runs_have_made_are_judged_as_those_of_a_run(resolved):
    both = resolved("toy", "plain", atol=0.01, rtol=0.0)
    passing = judge_outputs(both, "toy", "plain", [case(0.005), case(0.0)])
    assert (passing.verdict, passing.comparisons[0].iterations) == ("passed", 2)
    failing = judge_outputs(both, "toy", "plain", [case(0.0), case(0.2)])
    [pair] = failing.comparisons
    assert (failing.verdict, pair.outputs["y"].worst_iteration, pair.outputs["y"].failed_iterations) == ("failed", 1, 1)


def test_a_plan_that_names_no_such_reference_is_refused_before_anything_runs(resolved):
    plan = resolved("toy", "plain").plan
    wrong = replace(plan, compare=replace(plan.compare, reference="plian"))
    with pytest.raises(UsageError, match="plian"):
        run_plan(wrong, plugins_installed())


# --- interrupted

SCRIPT = """
import os, signal
import numpy as np

def load_data():
    for index in range(5):
        if index == WHEN:
            os.kill(os.getpid(), signal.SIGINT)
        yield {"x": np.full((2, 8), index + 1, np.float32)}
"""


@pytest.mark.parametrize(
    ("when", "fault", "said"),
    [
        (3, "", "polycmp: 3 iterations were compared: 1 output within tolerance\n"),
        (2, ":fault=add,at=y,amount=0.5", "polycmp: 2 iterations were compared: 1 of 1 output differs, 'y': "),
        (0, "", ""),
    ],
)
def test_ctrl_c_says_what_the_finished_iterations_showed(polycmp, tmp_path, when, fault, said):
    small(tmp_path / "m.toy")
    (tmp_path / "data.py").write_text(SCRIPT.replace("WHEN", str(when)))
    done = polycmp("run", "m.toy", "-b", f"toy{fault}", "-b", "plain", "--data-loader-script", "data.py")
    assert done.status == 130
    assert said in done.err
    assert ("compared" in done.err) == bool(said)
    assert done.err.endswith("polycmp: interrupted\n")
    assert "PASSED" not in done.out


def test_of_how_many_iterations_they_are_is_said_where_it_is_known(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    (tmp_path / "compare.py").write_text(
        "import os, signal\nseen = []\n"
        "def compare_outputs(candidate, reference):\n"
        "    seen.append(1)\n"
        "    if len(seen) == 4:\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return {name: True for name in candidate}\n"
    )
    words = ("--iterations", "9", "--compare-func-script", "compare.py", "--allow-blind")
    done = polycmp("run", "m.toy", "-b", "toy", "-b", "plain", *words)
    assert done.status == 130
    assert "of 9 iterations were compared: 1 output within tolerance" in done.err

"""`polycmp run` names the search as the next step where two backends differ inside the same model."""

from __future__ import annotations

import html
import shlex

import pytest
from commandline import core_alone_with
from toymodels import chain, node, residual, small, write

WRONG = "toy:fault=scale,amount=0.5,at=h2"
FAILS = "the backend fails here"


@pytest.fixture(scope="module", autouse=True)
def core_alone():
    """Hide ONNX, ONNX Runtime and our plugins but those that the commands lead to."""
    with core_alone_with("polycmp_checks", "polycmp_locate", "polycmp_report"):
        yield


def next_of(done):
    """Return the words of the command that stands behind the verdict; None if there is none."""
    lines = done.out.splitlines()
    found = [line.removeprefix("  next: ") for line in lines if line.startswith("  next: polycmp locate")]
    assert len(found) < 2
    if not found:
        return None
    assert lines[-1] == f"  next: {found[0]}"
    return shlex.split(found[0])[1:]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ((), []),
        (("--input-shapes", "x:[3,8]", "--seed", "7"), ["--input-shapes", "x:[3,8]", "--seed", "7"]),
        (("--iterations", "2", "--validate", "--warm-up", "1"), ["--validate", "--iterations", "2"]),
        (("--reference", "plain", "--atol", "1e-6", "--save-outputs", "o.json"),
         ["--reference", "plain", "--atol", "1e-06"]),
        (("--toy-mark-all",), ["--toy-mark-all"]),
    ],
    ids=["plain", "inputs", "options that the search lacks", "files", "all tensors"],
)  # fmt: skip
def test_the_next_step_finds_the_fault(polycmp, tmp_path, words, kept):
    chain(tmp_path / "m o d e l.toy")
    done = polycmp("run", "m o d e l.toy", "-b", WRONG, "-b", "plain", *words, "--report", "r.json", "r.md", "r.html")
    assert done.status == 1
    step = next_of(done)
    assert step == ["locate", "m o d e l.toy", "-b", WRONG, "-b", "plain", *kept]
    assert done.report()["next_steps"] == [
        {
            "command": shlex.join(["polycmp", *step]),
            "purpose": "Find the first tensor inside a model that goes wrong.",
        }
    ]
    assert "- next: <code>polycmp locate " in (tmp_path / "r.md").read_text()
    page = (tmp_path / "r.html").read_text()
    assert "next: Find the first tensor inside a model that goes wrong." in page
    assert html.escape(shlex.join(["polycmp", *step])) in page
    found = polycmp(*step, "--report", "found.json")
    assert found.status == 1
    assert found.report("found.json")["origin"] == "h2"


def test_the_search_gets_the_feed_that_failed(polycmp, tmp_path):
    chain(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", WRONG, "-b", "plain", "--data-loader", "edges")
    assert done.status == 1
    step = next_of(done)
    assert step[-4:] != ["--data-loader", "edges"]  # the options that make the feed alone stand behind
    assert polycmp(*step).status == 1


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("-b", "toy", "-b", "plain"), 0),
        (("-b", WRONG, "-b", "shut"), 1),
        (("-b", "toy", "--load-outputs", "good.json"), 0),
        (("-b", "shut", "--load-outputs", "other.json"), 1),
        (("-b", "toy", "-b", "needy"), 3),
        (("-b", "toy:fault=raise,at=h2", "-b", "plain"), 3),
        (("-b", "toy:fault=overwrite,at=h2,name=one", "-b", "toy:fault=overwrite,at=h2,name=two"), 3),
    ],
    ids=["equal", "nothing inside", "a saved run", "nothing inside beside a saved run", "a missing library",
         "a failure with a hint", "two that fail"],
)  # fmt: skip
def test_where_a_search_would_not_work_none_is_named(polycmp, tmp_path, words, status):
    chain(tmp_path / "m.toy")
    assert polycmp("run", "m.toy", "-b", "plain", "--save-outputs", "good.json").status == 0
    assert polycmp("run", "m.toy", "-b", WRONG, "--save-outputs", "other.json").status == 0
    done = polycmp("run", "m.toy", *words)
    assert next_of(done) is None
    assert done.status == status


def test_a_saved_run_is_what_the_search_believes(polycmp, tmp_path):
    chain(tmp_path / "m.toy")
    assert polycmp("run", "m.toy", "-b", "plain", "--save-outputs", "good.json").status == 0
    done = polycmp("run", "m.toy", "-b", WRONG, "--load-outputs", "good.json")
    assert done.status == 1
    step = next_of(done)
    assert step == ["locate", "m.toy", "-b", WRONG, "--load-outputs", "good.json"]
    assert polycmp(*step).status == 1


def test_the_next_step_finds_the_operator_that_a_backend_fails_at(polycmp, tmp_path):
    chain(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", "toy:fault=overwrite,at=h2", "-b", "plain")
    assert done.status == 3
    found = polycmp(*next_of(done), "--report", "found.json")
    assert (found.report("found.json")["words"], found.report("found.json")["first_bad"]) == (FAILS, "h2")


def test_a_search_is_named_for_models_with_other_operators_too(polycmp, tmp_path):
    chain(tmp_path / "m.toy")
    residual(tmp_path / "other.toy")
    step = next_of(polycmp("run", "m.toy", "-b", WRONG, "-b", "plain:model=other.toy"))
    assert step == ["locate", "m.toy", "-b", WRONG, "-b", "plain:model=other.toy"]


def test_a_model_of_one_operator_has_no_inner_tensors(polycmp, tmp_path):
    write(tmp_path / "m.toy", [node("Relu", "x", "y")])
    done = polycmp("run", "m.toy", "-b", "toy:fault=add,at=y,amount=0.5", "-b", "plain")
    assert (done.status, next_of(done)) == (1, None)


def test_another_model_of_the_same_structure(polycmp, tmp_path):
    small(tmp_path / "new.toy", seed=1)
    small(tmp_path / "old.toy")
    done = polycmp("run", "new.toy", "-b", "toy", "-b", "plain:model=old.toy")
    assert done.status == 1
    assert polycmp(*next_of(done)).status == 1

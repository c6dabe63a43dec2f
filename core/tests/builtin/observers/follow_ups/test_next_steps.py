"""`polycmp run` names the search as the next step where two backends differ inside the same model."""

from __future__ import annotations

import pytest
from next_commands import WRONG, core_alone, next_of
from toymodels import chain, node, residual, small, write

__all__ = ["core_alone"]

FAILS = "the backend fails here"


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


def test_a_search_is_named_for_a_model_of_one_operator(polycmp, tmp_path):
    """It tells what the operator reads, whether it is wrong alone, and whether its file asks for something else."""
    write(tmp_path / "m.toy", [node("Relu", "x", "y")])
    done = polycmp("run", "m.toy", "-b", "toy:fault=add,at=y,amount=0.5", "-b", "plain")
    assert done.status == 1
    found = polycmp(*next_of(done))
    assert (found.status, "Relu" in found.out) == (1, True)


def test_another_model_of_the_same_structure(polycmp, tmp_path):
    small(tmp_path / "new.toy", seed=1)
    small(tmp_path / "old.toy")
    done = polycmp("run", "new.toy", "-b", "toy", "-b", "plain:model=old.toy")
    assert done.status == 1
    assert polycmp(*next_of(done)).status == 1

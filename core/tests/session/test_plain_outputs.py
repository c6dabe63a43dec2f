"""Outputs that looking inside a model changes: they are judged as where nobody looks inside."""

from __future__ import annotations

import pytest
from toymodels import chain

#: A backend that is off in the output, as kernels of single operators may be, only where a tensor inside is an output.
APART = "toy:name=apart,fault=add,at=y,amount=0.5,shown=[{}]"
SCHEDULES = [(), ("--sequential-runners",), ("--max-memory", "1")]


def failed(found):
    """Return the outputs that failed, in their order."""
    outputs = found["comparison_results"][0]["outputs"]
    return [name for name, item in outputs.items() if not item["passed"]]


@pytest.mark.parametrize("words", [*SCHEDULES, ("--atol", "1e-5")], ids=lambda words: " ".join(words) or "default")
def test_outputs_are_those_of_the_model_as_it_is(run, tmp_path, words):
    chain(tmp_path / "m.toy")
    done, found = run("-b", APART.format("h12"), "-b", "plain", "--toy-mark-all", "--iterations", "2", *words)
    assert done.status == 0, done.out
    assert len(found["comparison_results"][0]["outputs"]) == 24


def test_tensors_inside_stay_what_they_are(run, tmp_path):
    chain(tmp_path / "m.toy")
    wrong = "toy:name=wrong,fault=add,at=r3,amount=0.5"
    done, found = run("-b", wrong, "-b", "plain", "--toy-mark-all")
    assert done.status == 1
    assert failed(found)[0] == "r3"


def test_a_backend_that_cannot_run_the_model_as_it_is_keeps_its_outputs(run, tmp_path):
    chain(tmp_path / "m.toy")
    off, picky = "toy:name=off,fault=add,at=y,amount=0.5", "toy:name=picky,fault=raise,at=y,fused=[h12]"
    done, found = run("-b", off, "-b", picky, "--toy-mark-all")
    assert done.status == 1, done.out
    assert failed(found) == ["y"]
    assert not any(item["error"] for item in found["inference_results"].values())

"""`polycmp run` on models with many outputs: window after window, in bounded memory."""

from __future__ import annotations

import tracemalloc

import pytest
from toymodels import residual, straight

TWO = ("-b", "toy", "-b", "plain")


@pytest.mark.parametrize("memory", [(), ("--max-memory", "1")])
def test_every_tensor_in_windows(run, tmp_path, memory):
    residual(tmp_path / "m.toy")
    bad = "toy:name=bad,fault=add,at=b"
    done, found = run("-b", bad, "-b", "plain", "--toy-mark-all", "--iterations", "2", *memory)
    assert done.status == 1
    [pair] = found["comparison_results"]
    assert len(pair["outputs"]) == 10
    assert {name for name, item in pair["outputs"].items() if not item["passed"]} == {"b", "c", "y"}
    assert found["inference_results"]["bad"]["iterations"] == 2


def test_windows_keep_no_more_than_the_memory_asked_for(run, tmp_path):
    """40 tensors of 4 MB in each of two backends."""
    straight(tmp_path / "m.toy", 40, 1 << 20)
    tracemalloc.start()
    done, found = run(*TWO, "--toy-mark-all", "--max-memory", "24M")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (done.status, len(found["comparison_results"][0]["outputs"])) == (0, 40)
    assert peak < 80 << 20, f"{peak >> 20} MB, of 320 MB that all tensors take"


@pytest.mark.parametrize(("length", "in_windows"), [(7, False), (8, True)])
def test_windows_begin_with_eight_outputs(run, tmp_path, length, in_windows):
    """A backend that shows nothing inside is compared by the outputs of the model; without windows it shows all."""
    straight(tmp_path / "m.toy", length, 4)
    _, found = run("-b", "shut", *TWO, "--toy-mark-all")
    note = "shows no tensors inside the model, so only the model's outputs are compared"
    assert (note in found["inference_results"]["shut"]["notes"]) is in_windows


def test_a_backend_that_refuses_some_tensors_shows_the_others(run, tmp_path):
    residual(tmp_path / "m.toy")
    done, found = run("-b", "toy:name=shy,hides=[b,sf]", "-b", "plain", "--toy-mark-all")
    assert done.status == 0
    compared = {"ww", "a", "left", "right", "rows", "c", "y"}  # not s either: whole numbers are given up first
    assert set(found["comparison_results"][0]["outputs"]) == compared
    [note] = found["inference_results"]["shy"]["notes"]
    assert "does not show 3 tensors inside the model, not compared: 'b', 's', 'sf'" in note

"""A backend runs segments of a model one after the other, each fed with its own tensors."""

from __future__ import annotations

import tracemalloc

import pytest
from toymodels import residual, straight


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
    """40 tensors of 1 MB in each of two backends."""
    straight(tmp_path / "m.toy", 40, 1 << 18)
    tracemalloc.start()
    done, found = run("-b", "toy", "-b", "plain", "--toy-mark-all", "--max-memory", "6M")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (done.status, len(found["comparison_results"][0]["outputs"])) == (0, 40)
    assert peak < 20 << 20, f"{peak >> 20} MB, of 80 MB that all tensors take"

"""A side whose own runs differ."""

from __future__ import annotations

import pytest
from located import REPORT, located
from small_models import three_operators

from truth.judge import backends_found


@pytest.mark.parametrize("swapped", [False, True], ids=["the candidate", "the reference"])
def test_a_side_whose_own_runs_differ_is_told_first(polycmp, tmp_path, swapped):
    backends = ["race:at=m,share=0.1", "onnx"]
    one, two = reversed(backends) if swapped else backends
    with backends_found():
        done = polycmp("locate", three_operators(tmp_path / "m.onnx"), "-b", one, "-b", two, *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"], found["first_bad"]) == (1, "other numbers in each run", "m")
    who = "race:at=m,share=0.1, the reference," if swapped else "race:at=m,share=0.1"
    assert f"{who} computes the same inputs twice and differs from itself, first in 'm'" in found["sentence"]


def test_a_side_that_differs_from_itself_only_where_nobody_looks_computes_operators_together(polycmp, tmp_path):
    marked = tmp_path / "marked.onnx"
    words = ("-b", "race:at=y,inside=m,share=0.5", "-b", "onnx", "--save-marked", marked, *REPORT)
    with backends_found():
        done = polycmp("locate", three_operators(tmp_path / "m.onnx"), *words)
    found = located(tmp_path)
    assert (done.status, found["words"]) == (1, "probing removes the fault")
    assert [node["name"] for node in found["fused"]["operators"]] == ["middle", "twice"]
    assert "race:at=y,inside=m,share=0.5 is right once 'm' is an output" in found["sentence"]
    assert "(two runs of race:at=y,inside=m,share=0.5 differ by" in found["sentence"]
    assert marked.exists()

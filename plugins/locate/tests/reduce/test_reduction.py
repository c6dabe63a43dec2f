"""What a reduction wrote, and did not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from polycmp.errors import FileError, ModelError
from polycmp.graph import GraphNode
from polycmp_locate.reduce.parts import ModelPart
from polycmp_locate.reduce.reduction import Reduction, recording_problem

GRAPH = SimpleNamespace(
    nodes=[GraphNode("Conv", f"n{index}", inputs=(f"t{index}", "w"), outputs=(f"t{index + 1}",)) for index in range(30)]
)
FAILING, PASSING = ModelPart(("t2",), ("t3",), (2,)), ModelPart(("t1",), ("t2",), (1,))


@pytest.mark.parametrize(
    ("passing", "path", "files", "notes"),
    [
        (PASSING, "ok.onnx", ["fails", "passes"], ["bad.onnx: (2,)", "ok.onnx: (1,)"]),
        (PASSING, "", ["fails"], ["bad.onnx: (2,)"]),
        (None, "ok.onnx", ["fails"], ["bad.onnx: (2,)", "no part passes, so ok.onnx was not written"]),
        (None, "", ["fails"], ["bad.onnx: (2,)"]),
    ],
)
def test_the_part_that_passes_is_written_where_it_was_asked_for_and_is_there(passing, path, files, notes):
    reduction = Reduction(GRAPH, FAILING, passing)
    reduction.write_parts("bad.onnx", path, lambda part, path: f"{path}: {part.nodes}")
    assert [what for what, _ in reduction.files] == files
    assert reduction.notes == notes


@pytest.mark.parametrize(
    ("shown", "notes"), [(True, []), (False, ["the script in case was run and did not show the fault"])]
)
def test_a_script_that_does_not_show_the_fault_is_told(shown, notes):
    reduction = Reduction(GRAPH, FAILING)
    reduction.wrote_case("case", shown=shown)
    assert (reduction.files, reduction.notes) == ([("repeats it", "case: sh case/run.sh")], notes)


def test_a_model_that_cannot_be_written_is_a_problem_of_the_result_and_a_full_disk_an_error():
    reduction = Reduction(GRAPH, FAILING)
    with recording_problem(reduction):
        raise ModelError("is wrong", why="a type", hint="polycmp check")
    assert (reduction.problem.what, reduction.problem.why) == ("is wrong", "a type")
    with pytest.raises(FileError), recording_problem(reduction):
        raise FileError("no space")

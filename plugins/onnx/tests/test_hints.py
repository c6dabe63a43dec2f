"""What a model's operators ask of dimensions that its inputs leave open."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper
from open_models import CASES, FLOAT, WAVE, make, node, weight
from small_models import graph_model

from polycmp.spec import SizeHint
from polycmp.tensors import TensorMetadata
from polycmp_onnx.hints import GraphHints, open_hints


@pytest.mark.parametrize("case", [name for name, parts in CASES.items() if parts[3] is not None])
def test_what_operators_ask_of_open_dimensions(case):
    axis, least, likely = CASES[case][3]
    declared = CASES[case][0]
    hint = GraphHints(make(case)).sizes(TensorMetadata().add("x", "float32", declared))["x", axis]
    assert (hint.least, hint.likely) == (least, likely)
    assert isinstance(hint, SizeHint)
    assert hint.why


def test_a_model_that_asks_nothing_gives_no_hints():
    model = graph_model([node("Relu", ["x"], ["y"])], [("x", FLOAT, WAVE)], [("y", FLOAT, None)], [])
    assert GraphHints(model).sizes(TensorMetadata().add("x", "float32", WAVE)) == {}


def test_operators_in_a_body_ask_too(tmp_path):
    inner = helper.make_graph(
        [node("MatMul", ["x", "m"], ["z"])], "then", [], [helper.make_tensor_value_info("z", FLOAT, None)]
    )
    other = helper.make_graph(
        [node("MatMul", ["x", "m"], ["z"])], "else", [], [helper.make_tensor_value_info("z", FLOAT, None)]
    )
    choice = node("If", ["which"], ["y"], then_branch=inner, else_branch=other)
    inputs = [("x", FLOAT, ["n", "k"]), ("which", TensorProto.BOOL, [])]
    onnx.save(graph_model([choice], inputs, [("y", FLOAT, None)], [("m", weight(7, 2))]), tmp_path / "m.onnx")
    found = open_hints(str(tmp_path / "m.onnx")).sizes(TensorMetadata().add("x", "float32", ("n", "k")))
    assert found["x", 1].likely == (7,)

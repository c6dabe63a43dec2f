"""Choosing a model's outputs."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import UsageError
from polycmp_onnx import MARK_ALL, modify_outputs

ort = pytest.importorskip("onnxruntime")


def outputs_of(model):
    return [value.name for value in model.graph.output]


def test_outputs_by_name_pattern_type_and_exclusion(mlp):
    assert outputs_of(modify_outputs(mlp, ["t", "h"])) == ["h", "t"]
    assert outputs_of(modify_outputs(mlp, ["s*"])) == ["s", "sf"]
    assert outputs_of(modify_outputs(mlp, mark_types=["RELU", "matmul"])) == ["h", "r"]
    assert outputs_of(modify_outputs(mlp, ["y"], mark_types=["Relu"])) == ["r", "y"]
    assert outputs_of(modify_outputs(mlp, "*", exclude_outputs=["s*", "t"])) == ["h", "r", "m", "y"]
    assert outputs_of(modify_outputs(mlp, exclude_outputs=None)) == ["y"]


@pytest.mark.parametrize("spelling", [MARK_ALL, "*", ["*"], ["mark", "all"], ["mark all"], ["MARK", "ALL"]])
def test_every_spelling_of_all(mlp, feed, spelling):
    marked = modify_outputs(mlp, spelling)
    assert outputs_of(marked) == ["h", "r", "s", "sf", "t", "m", "y"]
    session = ort.InferenceSession(marked.SerializeToString(), providers=["CPUExecutionProvider"])
    plain = ort.InferenceSession(mlp.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["y"], feed)[0], plain.run(["y"], feed)[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"outputs": ["hh"]}, "'h'"),
        ({"outputs": ["q*"]}, "known: h, m"),
        ({"outputs": ["x"]}, "an input"),
        ({"outputs": ["w"]}, "a weight"),
        ({"mark_types": ["Rellu"]}, "'Relu'"),
        ({"exclude_outputs": ["z"]}, "known"),
        ({"exclude_outputs": ["y"]}, "no output is left"),
    ],
)
def test_outputs_that_fit_nothing_are_wrong_usage(mlp, arguments, word):
    with pytest.raises(UsageError) as caught:
        modify_outputs(mlp, **arguments)
    assert word in str(caught.value)


def test_all_leaves_out_sequences():
    nodes = [
        helper.make_node("SequenceConstruct", ["x"], ["q"]),
        helper.make_node("ConcatFromSequence", ["q"], ["y"], axis=0),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [2])], [helper.make_tensor_value_info("y", 1, [2])]
    )
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    assert outputs_of(modify_outputs(model, "*")) == ["y"]


def test_all_of_a_model_without_operators_are_its_outputs():
    """Optimisers fold a model of constants into its outputs: nothing is left that could be marked beside them."""
    value = numpy_helper.from_array(np.arange(4, dtype=np.float32), "y")
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])]
    model = helper.make_model(helper.make_graph([], "constants", [], outputs, [value]))
    assert [item.name for item in modify_outputs(model, MARK_ALL).graph.output] == ["y"]

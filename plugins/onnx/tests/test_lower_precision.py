"""Models in a narrower type: what stays in float32, and that they compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_results import FLOAT, INT, agree, function_model, old_model, ran, run_in_ort, yolo_grid
from small_models import graph_model

from polycmp_onnx import (
    convert_to_fp16,
)


def test_fp16_of_an_output_that_the_model_itself_reads(make_model):
    nodes = [helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Softmax", ["y"], ["z"])]
    model = make_model(nodes, [("x", 1, [2, 3])], [("y", 1, [2, 3]), ("z", 1, [2, 3])])
    half = convert_to_fp16(model)
    onnx.checker.check_model(half, full_check=True)
    feed = {"x": np.array([[1, -2, 3], [0, 0.5, -1]], np.float32)}
    made, expected = run_in_ort(half, feed), run_in_ort(model, feed)
    assert list(made) == list(expected) == ["y", "z"]
    for name, array in made.items():
        assert array.dtype == np.float32
        np.testing.assert_allclose(array, expected[name], atol=1e-3)


def test_fp16_keeps_input_and_output_types(mlp, feed):
    half = convert_to_fp16(mlp)
    assert half.graph.initializer[0].data_type == TensorProto.FLOAT16
    result = run_in_ort(half, feed)["y"]
    assert result.dtype == np.float32
    expected = run_in_ort(mlp, feed)["y"]
    assert 0 < np.abs(result - expected).max() < 0.05 * np.abs(expected).max()


def test_fp16_keeps_weights_that_it_can_hold(make_model):
    large = np.array([20000.0, 1e30, 3e-7, -65504.0], np.float32)
    node = helper.make_node("Add", ["x", "w"], ["y"])
    model = make_model([node], [("x", 1, [4])], [("y", 1, [4])], {"w": large})
    kept = numpy_helper.to_array(convert_to_fp16(model).graph.initializer[0])
    np.testing.assert_array_equal(kept, np.array([20000, 65504, 3e-7, -65504], np.float16))


def converted(polycmp, model, *words):
    """Return what `convert` makes of a model, which ONNX and ONNX Runtime take."""
    onnx.save(model, "model.onnx")
    done = polycmp("convert", "model.onnx", *words, "-o", "made.onnx")
    assert done.status == 0, done.err
    made = onnx.load("made.onnx")
    onnx.checker.check_model(made, full_check=True)
    onnxruntime.InferenceSession("made.onnx", providers=["CPUExecutionProvider"])
    return made


@pytest.mark.parametrize("words", [(), ("--keep-float", "Range"), ("--keep-float", "mul")], ids=str)
def test_sizes_that_take_no_float16_stay_in_float32(polycmp, words):
    made = converted(polycmp, yolo_grid(), "--fp-to-fp16", *words)
    x = np.linspace(0, 0.01, 2999, dtype=np.float32)  # float16 holds 2999 as 3000: the grid would not fit
    agree(yolo_grid(), made, {"x": x}, atol=0.05)


def branching():
    branches = {}
    for name, op in (("then_branch", "Relu"), ("else_branch", "Neg")):
        output = helper.make_tensor_value_info("o", FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(op, ["x"], ["o"])], name, [], [output])
    nodes = [helper.make_node("If", ["c"], ["b"], **branches), helper.make_node("Add", ["b", "w"], ["y"])]
    inputs = [("x", FLOAT, [2]), ("c", TensorProto.BOOL, [])]
    return graph_model(nodes, inputs, [("y", FLOAT, [2])], [("w", np.ones(2, np.float32))])


def with_function():
    body = [
        helper.make_node("Constant", [], ["k"], value_float=0.5),
        helper.make_node("Constant", [], ["m"], value=numpy_helper.from_array(np.ones(2, np.float32))),
        helper.make_node("Mul", ["p", "k"], ["h"]),
        helper.make_node("Add", ["h", "m"], ["q"]),
    ]
    made = function_model("Scale", body, [helper.make_node("Scale", ["x"], ["y"], domain="my")])
    for value in (*made.graph.input, *made.graph.output):
        value.CopyFrom(helper.make_tensor_value_info(value.name, FLOAT, [2]))
    return made


def with_sequence():
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("SequenceConstruct", ["x", "r"], ["s"]),
        helper.make_node("ConcatFromSequence", ["s"], ["c"], axis=0),
        helper.make_node("Mul", ["c", "w"], ["y"]),
    ]
    return graph_model(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [4])], [("w", np.array([2], np.float32))])


def with_loop():
    """Return a Loop whose body reads a weight and an input from around it."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "w"], ["h"]),
            helper.make_node("Mul", ["h", "x"], ["next"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [helper.make_tensor_value_info(*item) for item in (("i", INT, []), ("go", 9, []), ("state", FLOAT, [2]))],
        [helper.make_tensor_value_info(*item) for item in (("on", 9, []), ("next", FLOAT, [2]))],
    )
    nodes = [helper.make_node("Loop", ["times", "", "x"], ["y"], body=body)]
    weights = [("times", np.array(3)), ("w", np.array([0.5, 0.25], np.float32))]
    return graph_model(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])], weights)


def overridable():
    model = old_model()
    model.ir_version = 8
    return model


SMALL = np.array([0.5, -0.25], np.float32)


@pytest.mark.parametrize(
    ("model", "feed"),
    [
        (branching, {"x": SMALL, "c": np.array(True)}),
        (branching, {"x": SMALL, "c": np.array(False)}),
        (with_function, {"x": SMALL}),
        (with_sequence, {"x": SMALL}),
        (with_loop, {"x": SMALL}),
        (old_model, {"x": SMALL[None]}),
        (overridable, {"x": SMALL[None]}),
    ],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_float16_of_graphs_in_graphs_functions_sequences_and_weights_that_are_inputs(polycmp, model, feed):
    agree(model(), converted(polycmp, model(), "--fp-to-fp16"), feed)


def test_operators_kept_in_float32_compute_as_before_in_a_branch(polycmp):
    made = converted(polycmp, branching(), "--fp-to-fp16", "--keep-float", "If", "Add")
    assert not [item for item in made.graph.initializer if item.data_type == TensorProto.FLOAT16]
    feed = {"x": np.array([1 / 3, -2 / 3], np.float32), "c": np.array(True)}
    np.testing.assert_array_equal(ran(made, feed)[0], ran(branching(), feed)[0])


#: Has ONNX Runtime die of models with an operator of type OPERATOR that reads float16.
DIES = """
import os, onnxruntime
Session = onnxruntime.InferenceSession

def session(source, *args, **kwargs):
    import onnx
    model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    types = {{item.name: item.data_type for item in model.graph.initializer}}
    if any(node.op_type in {operators} and types.get(node.input[1]) == 10 for node in model.graph.node):
        os.abort()
    return Session(source, *args, **kwargs)

onnxruntime.InferenceSession = session
"""


@pytest.mark.parametrize(
    ("operators", "status"),
    [({"Mul"}, 0), pytest.param({"Add", "Mul"}, 3, marks=pytest.mark.corpus)],
    ids=["one", "two"],
)
def test_an_operator_of_which_a_backend_dies_stays_in_float32(polycmp, tmp_path, monkeypatch, operators, status):
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Mul", ["a", "v"], ["y"])]
    weights = [(name, np.float32([1, 2])) for name in "wv"]
    onnx.save(graph_model(nodes, [("x", FLOAT, [2])], [("y", FLOAT, [2])], weights), "model.onnx")
    Path("sitecustomize.py").write_text(DIES.format(operators=operators))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx")
    assert done.status == status, done.err
    if status:
        assert "died with signal 6 (SIGABRT) while loading it" in done.err
        assert "--keep-float TYPE" in done.err and not Path("half.onnx").exists()
        return
    assert "Mul stays in float32, as by --keep-float Mul: otherwise onnxrt died" in done.err
    types = {item.name: item.data_type for item in onnx.load("half.onnx").graph.initializer}
    assert (types["w"], types["v"]) == (TensorProto.FLOAT16, FLOAT)
    assert "onnxrt loads it" in done.out


def test_operators_that_a_later_opset_lets_be_bfloat16_are_named(polycmp):
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["r"])]
    nodes.append(helper.make_node("GlobalAveragePool", ["r"], ["y"]))
    weights = [("w", np.ones((2, 3, 1, 1), np.float32))]
    model = graph_model(nodes, [("x", FLOAT, [1, 3, 4, 4])], [("y", FLOAT, [1, 2, 1, 1])], weights)
    onnx.save(model, "model.onnx")
    done = polycmp("convert", "model.onnx", "--fp-to-bf16", "-o", "brain.onnx")
    said = " ".join(done.err.split())
    assert "Conv, GlobalAveragePool stay in float32: ONNX lets them be bfloat16 from opset 22 on" in said
    assert "opset_version=22" in said
    assert [node.op_type for node in onnx.load("brain.onnx").graph.node if node.output[0] == "r"] == ["Relu"]
    assert "float32" not in polycmp("convert", "model.onnx", "--fp-to-fp16", "-o", "half.onnx").err
    model.opset_import[0].version = 22
    onnx.save(model, "newer.onnx")
    assert "from opset" not in polycmp("convert", "newer.onnx", "--fp-to-bf16", "-o", "brain.onnx").err

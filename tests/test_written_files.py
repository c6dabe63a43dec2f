"""Files that commands write over ONNX models: complete, and of the same meaning where that is promised."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from toys import graph_model

from polycmp_onnx import save_onnx

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def ran(model, feed):
    """Return a model's outputs, as ONNX's reference evaluator computes them."""
    model = onnx.load(model) if not isinstance(model, onnx.ModelProto) else model
    return ReferenceEvaluator(model).run(None, feed)


def old_model():
    """Return a model as exporters wrote it up to 2019: its weights are inputs, too."""
    made = graph_model(
        [helper.make_node("MatMul", ["x", "w"], ["h"], "mm"), helper.make_node("Relu", ["h"], ["y"], "relu")],
        [("x", FLOAT, ["n", 2]), ("w", FLOAT, [2, 2])],
        [("y", FLOAT, ["n", 2])],
        [("w", np.array([[1, -2], [3, 4]], np.float32))],
        opset=9,
    )
    made.ir_version = 3
    return made


@pytest.mark.parametrize("version", [3, 8])
def test_extract_keeps_weights_that_are_inputs_too(polycmp, version):
    model = old_model()
    model.ir_version = version
    onnx.save(model, "old.onnx")
    done = polycmp("surgeon", "extract", "old.onnx", "--outputs", "h:float32", "-o", "part.onnx")
    assert done.status == 0, done.err
    part, x = onnx.load("part.onnx"), np.ones((1, 2), np.float32)
    assert [item.name for item in part.graph.initializer] == ["w"]
    onnx.checker.check_model(part)
    np.testing.assert_array_equal(ran(part, {"x": x})[0], [[4, 2]])


def test_extract_leaves_the_open_dimensions_of_other_inputs(polycmp):
    unknown = helper.make_node("Mystery", ["x1"], ["m"], domain="my")
    body = [helper.make_node("Relu", ["a"], ["b"])]
    function = helper.make_function("my", "Mystery", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    nodes = [unknown, helper.make_node("Add", ["m", "x2"], ["y"])]
    model = graph_model(nodes, [("x1", FLOAT, ["n", 4]), ("x2", FLOAT, ["n", 4])], [("y", FLOAT, ["n", 4])])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("my", 1))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "model.onnx")
    words = ("--inputs", "m:auto:auto", "x2:auto:auto", "--outputs", "y:auto", "-o", "part.onnx")
    done = polycmp("surgeon", "extract", "model.onnx", *words)
    assert done.status == 0, done.err
    (x2,) = [item for item in onnx.load("part.onnx").graph.input if item.name == "x2"]
    assert [dim.dim_param for dim in x2.type.tensor_type.shape.dim] == ["n", ""]


def weight_as_output():
    made = graph_model(
        [helper.make_node("Mul", ["x", "w"], ["y"])],
        [("x", FLOAT, [2])],
        [("y", FLOAT, [2]), ("w", FLOAT, [2])],
        [("w", np.array([1, 2], np.float32))],
    )
    onnx.save(made, "model.onnx")


@pytest.mark.parametrize(
    "words",
    [
        ("surgeon", "sanitize", "--cleanup"),
        ("surgeon", "sanitize", "--toposort"),
        ("surgeon", "sanitize", "--fold-constants"),
        ("convert", "--shape-inference"),
    ],
    ids=" ".join,
)
def test_an_output_that_is_a_weight_stays(polycmp, tmp_path, words):
    weight_as_output()
    split = 2 if words[0] == "surgeon" else 1
    done = polycmp(*words[:split], "model.onnx", *words[split:], "-o", "out.onnx")
    assert done.status == 0, done.err
    assert [item.name for item in onnx.load("out.onnx").graph.output] == ["y", "w"]


def test_an_output_that_is_a_weight_is_compared_after_shape_inference(polycmp):
    for name, values in (("model", [1, 2]), ("other", [1, 3])):
        made = graph_model(
            [helper.make_node("Relu", ["x"], ["y"])],
            [("x", FLOAT, [2])],
            [("y", FLOAT, [2]), ("w", FLOAT, [2])],
            [("w", np.array(values, np.float32))],
        )
        onnx.save(made, f"{name}.onnx")
    done = polycmp("run", "model.onnx", "-b", "onnx", "-b", "onnx:model=other.onnx", "--shape-inference")
    assert done.status == 1 and "w" in done.out


def function_model(name, body, nodes, weights=()):
    made = graph_model(nodes, [("x", FLOAT, [2, 3])], [("y", FLOAT, None)], weights)
    made.functions.append(helper.make_function("my", name, ["p"], ["q"], body, [helper.make_opsetid("", 17)]))
    made.opset_import.append(helper.make_opsetid("my", 1))
    return made


def test_a_function_with_the_name_of_an_operator_is_not_folded_as_that(polycmp):
    body = [helper.make_node("Shape", ["p"], ["s"]), helper.make_node("Add", ["s", "s"], ["q"])]
    nodes = [
        helper.make_node("Shape", ["x"], ["size"], domain="my"),
        helper.make_node("Cast", ["size"], ["f"], to=FLOAT),
        helper.make_node("ReduceSum", ["f"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["x", "sum"], ["y"]),
    ]
    onnx.save(function_model("Shape", body, nodes), "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    np.testing.assert_array_equal(ran("out.onnx", {"x": np.ones((2, 3), np.float32)})[0], np.full((2, 3), 10))


def test_random_numbers_drawn_in_a_function_stay_random(polycmp):
    body = [helper.make_node("RandomNormalLike", ["p"], ["q"])]
    nodes = [helper.make_node("Noise", ["w"], ["n"], domain="my"), helper.make_node("Add", ["x", "n"], ["y"])]
    model = function_model("Noise", body, nodes, [("w", np.ones((2, 3), np.float32))])
    onnx.save(model, "model.onnx")
    done = polycmp("surgeon", "sanitize", "model.onnx", "--fold-constants", "-o", "out.onnx")
    assert done.status == 0, done.err
    assert [node.op_type for node in onnx.load("out.onnx").graph.node] == ["Noise", "Add"]


def test_no_weight_takes_the_name_of_the_model_or_of_another_file(tmp_path):
    names = ["out.onnx", "notes.txt", "W", "w"]
    weights = [(name, np.full(4, index, np.float32)) for index, name in enumerate(names)]
    nodes = [helper.make_node("Sum", ["x", *names], ["y"])]
    model = graph_model(nodes, [("x", FLOAT, [4])], [("y", FLOAT, [4])], weights)
    (tmp_path / "notes.txt").write_text("mine")
    for _ in range(2):  # the second time its own files are there already
        save_onnx(model, tmp_path / "out.onnx", "", size_threshold=0, all_tensors_to_one_file=False)
        assert (tmp_path / "notes.txt").read_text() == "mine"
        assert ran(tmp_path / "out.onnx", {"x": np.zeros(4, np.float32)})[0].tolist() == [6] * 4
        files = sorted(item.name.casefold() for item in tmp_path.iterdir())
        assert files == ["notes.txt", "notes.txt_", "out.onnx", "out.onnx_", "w", "w_"]


def converted(polycmp, model, *words):
    """Return what `convert` makes of a model, which ONNX and ONNX Runtime take."""
    onnx.save(model, "model.onnx")
    done = polycmp("convert", "model.onnx", *words, "-o", "made.onnx")
    assert done.status == 0, done.err
    made = onnx.load("made.onnx")
    onnx.checker.check_model(made, full_check=True)
    onnxruntime.InferenceSession("made.onnx", providers=["CPUExecutionProvider"])
    return made


def agree(model, made, feed, atol=2e-2):
    for one, other in zip(ran(model, feed), ran(made, feed), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, atol=atol)


def yolo_grid():
    """Return an anchor grid as YOLOs of dynamic size compute it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["g"]),
        helper.make_node("Cast", ["g"], ["f"], "to_float", to=FLOAT),
        helper.make_node("Range", ["start", "f", "one"], ["r"], "range"),
        helper.make_node("Mul", ["x", "r"], ["y"], "mul"),
    ]
    weights = [("zero", np.array(0)), ("start", np.float32(0)), ("one", np.float32(1))]
    weights = [(name, np.asarray(array)) for name, array in weights]
    return graph_model(nodes, [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])], weights)


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
        (overridable, {"x": SMALL[None], "w": np.eye(2, dtype=np.float32)}),
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

"""The precisions of the backend `onnx`: what each shows, and what each leaves alone."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from polycmp_onnx import ReferenceRunner
from polycmp_onnx.precision import widened_call

F32, F16, I64 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def infer(model, feed, dtype=""):
    with ReferenceRunner(model, dtype) as runner:
        return runner.infer(feed)


def decomposed_layer_norm(make_model):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[-1]),
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Mul", ["centred", "centred"], ["squares"]),
        helper.make_node("ReduceMean", ["squares"], ["variance"], axes=[-1]),
        helper.make_node("Sqrt", ["variance"], ["deviation"]),
        helper.make_node("Div", ["centred", "deviation"], ["normal"]),
        helper.make_node("Add", ["normal", "beta"], ["y"]),
    ]
    return make_model(nodes, [("x", F32, [1, 64])], [("y", F32, [1, 64])], {"beta": np.array([0.25], np.float32)})


def outlier():
    x = np.random.default_rng(0).standard_normal((1, 64)).astype(np.float32)
    x[0, 7] = 800
    return x


def test_float16_shows_the_failure_that_leaves_no_nan(make_model):
    """A square beyond 65504 becomes infinite, and what is divided by it a constant: finite, plausible and wrong."""
    model, x = decomposed_layer_norm(make_model), outlier()
    right = infer(model, {"x": x}, "float64")["y"]
    wrong = infer(model, {"x": x}, "float16")["y"]
    assert right.max() > 7
    np.testing.assert_allclose(infer(model, {"x": x})["y"], right, rtol=1e-5, atol=1e-5)
    assert wrong.dtype == np.float32
    np.testing.assert_array_equal(wrong, np.full_like(wrong, 0.25))
    np.testing.assert_allclose(infer(model, {"x": x}, "bfloat16")["y"], right, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", ["", "float16"])
def test_layer_normalization_keeps_its_stash_type(make_model, dtype):
    node = helper.make_node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1)
    kind, element = (F16, np.float16) if dtype == "" else (F32, np.float32)
    weights = {"g": np.ones(64, element), "b": np.full(64, 0.25, element)}
    model = make_model([node], [("x", kind, [1, 64])], [("y", kind, [1, 64])], weights)
    y = infer(model, {"x": outlier().astype(element)}, dtype)["y"]
    assert y.dtype == element
    wide = outlier().astype(np.float16).astype(np.float64)
    expected = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5) + 0.25
    np.testing.assert_allclose(y.astype(np.float64), expected, rtol=2e-3, atol=2e-3)


def test_float64_tells_where_two_backends_agree_and_are_both_wrong(make_model):
    ort = pytest.importorskip("onnxruntime")
    nodes = [
        helper.make_node("Div", ["x", "three"], ["third"]),
        helper.make_node("Add", ["third", "large"], ["sum"]),
        helper.make_node("Sub", ["sum", "large"], ["y"]),
    ]
    weights = {"three": np.array(3, np.float32), "large": np.array(1e7, np.float32)}
    model = make_model(nodes, [("x", F32, [4])], [("y", F32, [4])], weights)
    x = np.array([0.1, 0.3, 0.6, 0.9], np.float32)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], 0)
    np.testing.assert_array_equal(infer(model, {"x": x})["y"], 0)
    y = infer(model, {"x": x}, "float64")["y"]
    assert y.dtype == np.float64
    np.testing.assert_allclose(y, x.astype(np.float64) / 3, rtol=1e-6)


def test_the_reference_pads_with_zeros_where_a_fused_maxpool_does_not(make_model):
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["p"]),
        helper.make_node("MaxPool", ["p"], ["y"], kernel_shape=[2, 2], strides=[1, 1]),
    ]
    weights = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)}
    model = make_model(nodes, [("x", F32, [1, 1, 3, 3])], [("y", F32, [1, 1, 4, 4])], weights, opset=13)
    y = infer(model, {"x": np.full((1, 1, 3, 3), -1, np.float32)})["y"][0, 0]
    assert (y[0] == 0).all()
    assert (y[1:3, 1:3] == -1).all()


def test_float64_widens_casts_and_constants_of_16_bits(make_model):
    half = onnx.numpy_helper.from_array(np.array([0.5], np.float16))
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=F16),
        helper.make_node("Constant", [], ["k"], value=half),
        helper.make_node("Mul", ["half", "k"], ["product"]),
        helper.make_node("CastLike", ["product", "x"], ["y"]),
    ]
    model = make_model(nodes, [("x", F32, [2])], [("y", F32, [2]), ("half", F16, [2])])
    x = np.array([1.0001, 70000], np.float32)
    wide = infer(model, {"x": x}, "float64")
    assert wide["half"].dtype == wide["y"].dtype == np.float64
    np.testing.assert_array_equal(wide["y"], x.astype(np.float64) / 2)
    assert np.isinf(infer(model, {"x": x})["y"][1])
    assert infer(model, {"x": x})["half"].dtype == np.float16


@pytest.mark.parametrize("dtype", ["", "float64", "float16", "bfloat16"])
def test_integers_and_booleans_keep_their_meaning(make_model, dtype):
    nodes = [
        helper.make_node("Add", ["i", "i"], ["overflown"]),
        helper.make_node("Div", ["i", "two"], ["halved"]),
        helper.make_node("Cast", ["x"], ["cut"], to=TensorProto.INT32),
        helper.make_node("Greater", ["x", "zero"], ["positive"]),
        helper.make_node("ArgMax", ["x"], ["best"], axis=0),
        helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["quantised"]),
    ]
    int32, boolean, int8 = TensorProto.INT32, TensorProto.BOOL, TensorProto.INT8
    outputs = [("overflown", int32, [3]), ("halved", int32, [3]), ("cut", int32, [3]), ("positive", boolean, [3])]
    outputs += [("best", I64, [1]), ("quantised", int8, [3])]
    weights = {
        "two": np.array(2, np.int32), "zero": np.array(0, np.float32),
        "scale": np.array(0.5, np.float32), "point": np.array(1, np.int8),
    }  # fmt: skip
    model = make_model(nodes, [("x", F32, [3]), ("i", int32, [3])], outputs, weights)
    feed = {"x": np.array([-1.75, 0, 2.5], np.float32), "i": np.array([2**31 - 1, -7, 3], np.int32)}
    got = infer(model, feed, dtype)
    expected = {
        "overflown": np.array([-2, -14, 6], np.int32),
        "halved": np.array([2**30 - 1, -3, 1], np.int32),
        "cut": np.array([-1, 0, 2], np.int32),
        "positive": np.array([False, False, True]),
        "best": np.array([2]),
        "quantised": np.array([-3, 1, 6], np.int8),
    }
    for name, array in expected.items():
        np.testing.assert_array_equal(got[name], array, err_msg=name)
        assert got[name].dtype == array.dtype, name


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8)])
def test_every_result_is_rounded(make_model, dtype, bits):
    """1 + 2**-bits is no number of the small type, so adding it in two steps leaves 1."""
    step = np.array([2.0**-bits], np.float32)
    nodes = [helper.make_node("Add", ["x", "step"], ["a"]), helper.make_node("Add", ["a", "step"], ["y"])]
    model = make_model(nodes, [("x", F32, [1])], [("y", F32, [1])], {"step": step})
    one = np.ones(1, np.float32)
    assert infer(model, {"x": one}, dtype)["y"] == 1
    assert infer(model, {"x": one})["y"] > 1


def test_precision_reaches_subgraphs_and_functions(make_model):
    third = helper.make_node("Div", ["v", "three"], ["out"])
    constant = helper.make_node("Constant", [], ["three"], value_float=3.0)
    function = helper.make_function("mine", "Third", ["v"], ["out"], [constant, third], [helper.make_opsetid("", 17)])
    branch = helper.make_graph(
        [helper.make_node("Third", ["x"], ["inner"], domain="mine")],
        "b",
        [],
        [helper.make_tensor_value_info("inner", F32, None)],
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    model = make_model([node], [("x", F32, [1]), ("c", TensorProto.BOOL, [])], [("y", F32, [1])], mine=1)
    model.functions.append(function)
    feed = {"x": np.ones(1, np.float32), "c": np.array(True)}
    assert infer(model, feed, "float64")["y"] == 1 / 3
    assert infer(model, feed, "float16")["y"] == np.float16(1 / 3)
    assert infer(model, feed)["y"] == np.float32(1 / 3)


class _Product:
    """An operator that remembers what it is given."""

    op_type = "MatMul"
    output = ("y",)
    onnx_node = helper.make_node("MatMul", ["x", "w"], ["y"])
    run_params = {"opsets": {"": 17}}

    def run(self, *inputs):
        self.kinds = [item.dtype.name for item in inputs]
        return [np.matmul(*inputs)]


def test_products_of_half_precision_are_added_up_in_float32_and_rounded_once():
    """NumPy has no fast ones for float16: ResNet-50 took ten minutes."""
    node, rng = _Product(), np.random.default_rng(0)
    x, w = (rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2))
    (made,) = widened_call(node, [x, w], {})
    assert node.kinds == ["float32", "float32"]
    assert made.dtype == np.float16
    assert np.array_equal(made, (x.astype(np.float32) @ w.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
@pytest.mark.parametrize(
    ("operator", "right"),
    [
        (helper.make_node("ReduceSum", ["x"], ["y"], axes=[0], keepdims=1), 4000.0),
        (helper.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=1), 1.0),
        (
            helper.make_node("Softmax", ["x"], ["y"], axis=0),
            1 / 8000,
        ),  # of all dimensions from the axis on, as before opset 13
    ],
    ids=["ReduceSum", "ReduceMean", "Softmax"],
)
def test_many_numbers_of_16_bits_are_added_up_in_float32(make_model, operator, right, kind):
    """NumPy adds them up in their own type: 256 ones are as many as bfloat16 counts, 2048 as float16 does."""
    model = make_model([operator], [("x", kind, [4000, 2])], [("y", kind, None)], opset=12)
    x = np.ones((4000, 2), helper.tensor_dtype_to_np_dtype(kind))
    (made,) = infer(model, {"x": x}).values()
    assert made.dtype == x.dtype
    np.testing.assert_allclose(made.astype(np.float64), right, rtol=2.0**-8)

"""What operators are told, and constants that they hold, in whatever form a file writes them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp_onnx import ReferenceRunner
from polycmp_onnx.model_graph import open_graph

RNG = np.random.default_rng(0)
FLOAT = TensorProto.FLOAT
WEIGHT = RNG.standard_normal((8, 4)).astype(np.float32)
CODES = RNG.integers(-128, 128, (8, 4)).astype(np.int8)
POSITIVE = RNG.uniform(0.5, 1.5, (8, 4)).astype(np.float32)
PACKED = {"K": 40, "N": 6, "block_size": 32}


def node(op, inputs, **attributes):
    domain = "com.microsoft" if op in {"MatMulNBits", "FusedMatMul"} else ""
    return helper.make_node(op, inputs, ["y"], name="product", domain=domain, **attributes)


def moved(op, inputs, **attributes):
    return helper.make_node(op, inputs, ["w"], **attributes)


def nbits(bits, *zero, names="x c s"):
    """A packed weight of 40 rows and 6 columns, in blocks of 32 rows."""
    weights = [("c", RNG.integers(0, 256, (6, 2, 32 * bits // 8)).astype(np.uint8)), ("s", POSITIVE.reshape(-1)[:12])]
    weights += [("z", item) for item in zero]
    return [node("MatMulNBits", [*names.split(), *("z" for _ in zero)], bits=bits, **PACKED)], weights


#: Operators whose input `x` is multiplied by a constant, and the constants of the file.
FORMS = {
    "a matrix": ([node("MatMul", ["x", "w"])], [("w", WEIGHT)]),
    "turned by its product": ([node("Gemm", ["x", "w"], transB=1)], [("w", WEIGHT.T.copy())]),
    "with a factor": ([node("Gemm", ["x", "w"], alpha=0.25)], [("w", WEIGHT)]),
    "with a factor of 0": ([node("Gemm", ["x", "w"], alpha=0.0)], [("w", WEIGHT)]),
    "joined with a factor": ([node("FusedMatMul", ["x", "w"], alpha=0.25, transB=1)], [("w", WEIGHT.T.copy())]),
    "turned": ([moved("Transpose", ["t"]), node("MatMul", ["x", "w"])], [("t", WEIGHT.T.copy())]),
    "turned by an order": (
        [moved("Transpose", ["t"], perm=[1, 0]), node("MatMul", ["x", "w"])],
        [("t", WEIGHT.T.copy())],
    ),
    "reshaped": (
        [moved("Reshape", ["t", "shape"]), node("MatMul", ["x", "w"])],
        [("t", WEIGHT.reshape(-1)), ("shape", np.array([8, 4]))],
    ),
    "cast": ([moved("Cast", ["h"], to=FLOAT), node("MatMul", ["x", "w"])], [("h", WEIGHT.astype(np.float16))]),
    "codes": (
        [moved("DequantizeLinear", ["c", "s", "z"]), node("MatMul", ["x", "w"])],
        [("c", CODES), ("s", np.float32(0.1)), ("z", np.int8(3))],
    ),
    "codes by column": (
        [moved("DequantizeLinear", ["c", "s", "z"], axis=1), node("MatMul", ["x", "w"])],
        [("c", CODES), ("s", POSITIVE[0]), ("z", CODES[0])],
    ),
    "codes by row": (
        [moved("DequantizeLinear", ["c", "s"], axis=-2), node("MatMul", ["x", "w"])],
        [("c", CODES), ("s", POSITIVE[:, 0].copy())],
    ),
    "codes by block": (
        [moved("DequantizeLinear", ["c", "s", "z"], axis=0, block_size=4), node("MatMul", ["x", "w"])],
        [("c", CODES), ("s", POSITIVE[:2]), ("z", CODES[:2])],
    ),
    "codes of 4 bits": (
        [moved("DequantizeLinear", ["c", "s"], axis=1), node("MatMul", ["x", "w"])],
        [("c", (CODES >> 4).astype(ml_dtypes.int4)), ("s", POSITIVE[0])],
    ),
    "packed 4 bits": nbits(4),
    "packed 8 bits": nbits(8),
    "packed 4 bits, codes of 0": nbits(4, RNG.integers(0, 256, 6).astype(np.uint8)),
    "packed 8 bits, codes of 0": nbits(8, RNG.integers(0, 256, 12).astype(np.uint8)),
    "packed 4 bits, real zeros": nbits(4, RNG.uniform(7, 9, 12).astype(np.float32)),
}


def graph_of(nodes, weights, rows, columns):
    model = graph_model(nodes, [("x", FLOAT, [rows, rows])], [("y", FLOAT, [rows, columns])], weights, opset=21)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


@pytest.mark.parametrize("form", FORMS)
def test_a_weight_is_what_the_evaluator_multiplies_by(form):
    nodes, weights = FORMS[form]
    rows, columns = (40, 6) if form.startswith("packed") else (8, 4)
    model = graph_of(nodes, weights, rows, columns)
    with ReferenceRunner(lambda: model, "float64") as runner:
        expected = np.asarray(runner.infer({"x": np.eye(rows, dtype=np.float32)})["y"])
    graph = open_graph(lambda: model)
    product = next(item for item in graph.nodes if item.name == "product")
    found = graph.constants(product)["weight"]
    np.testing.assert_allclose(np.broadcast_to(found.values, expected.shape), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("beta", [None, 0.5, 0.0])
def test_a_bias_is_what_the_evaluator_adds(beta):
    attributes = {} if beta is None else {"beta": beta}
    model = graph_of([node("Gemm", ["x", "w", "b"], **attributes)], [("w", WEIGHT), ("b", WEIGHT[0])], 8, 4)
    with ReferenceRunner(lambda: model, "float64") as runner:
        expected = np.asarray(runner.infer({"x": np.zeros((8, 8), np.float32)})["y"])
    graph = open_graph(lambda: model)
    found = graph.constants(graph.nodes[0])["bias"]
    np.testing.assert_allclose(np.broadcast_to(found.values, expected.shape), expected, rtol=1e-6)


def settings_of(op, shape, *inputs, opset=17, weights=(), **attributes):
    """Return the settings of an operator that reads `x` of a shape, and constants."""
    made = helper.make_node(op, ["x", *inputs], ["y"], **attributes)
    model = graph_model([made], [("x", FLOAT, shape)], [("y", FLOAT, None)], weights, opset=opset)
    graph = open_graph(lambda: model)
    return graph.settings(graph.nodes[0])


FROM, TO = [("from", np.array([0])), ("to", np.array([2**62])), ("axes", np.array([0]))], ("from", "to", "axes")
SQUARE = [("k", np.ones((4, 3, 3, 3), np.float32))]
#: An operator, the shape of what it reads, and two ways of telling it the same.
ALIKE = {
    "axes in their opposite order": ("Transpose", [2, 3, 4], {}, {"perm": [2, 1, 0]}),
    "an axis from the end": ("Gather", [2, 3], {"axis": -1, "inputs": ["i"]}, {"axis": 1, "inputs": ["i"]}),
    "all axes": ("ReduceMax", [2, 3], {}, {"axes": [1, 0]}),
    "an attribute that became an input": (
        "ReduceSum", [2, 3], {"axes": [-1], "opset": 11}, {"inputs": ["axes"], "weights": [("axes", np.array([1]))]},
    ),
    "all of a size that is open": (
        "Slice", ["n", 3], {"inputs": TO, "weights": FROM},
        {"inputs": TO, "weights": [("from", np.array([0])), ("to", np.array([3])), ("axes", np.array([-1]))]},
    ),
    "attributes of a slice that became inputs": (
        "Slice", [4, 3], {"starts": [1], "ends": [3], "axes": [0], "opset": 9},
        {"inputs": TO, "weights": [("from", np.array([-3])), ("to", np.array([-1])), ("axes", np.array([0]))]},
    ),
    "defaults of windows": (
        "Conv", [1, 3, 8, 8], {"inputs": ["k"], "weights": SQUARE, "kernel_shape": [3, 3]},
        {"inputs": ["k"], "weights": SQUARE, "strides": [1, 1], "dilations": [1, 1], "pads": [0] * 4,
         "kernel_shape": [3, 3], "auto_pad": "VALID"},
    ),
    "defaults of windows whose size the weight tells": (
        "Conv", [1, 3, 8, 8], {"inputs": ["k"], "weights": SQUARE},
        {"inputs": ["k"], "weights": SQUARE, "strides": [1, 1], "dilations": [1, 1], "pads": [0] * 4,
         "kernel_shape": [3, 3]},
    ),
    "an axis of size 1 beside": ("Softmax", [2, 3, 1], {"axis": 1, "opset": 11}, {"axis": 1}),
}  # fmt: skip
#: The same for what differs.
OTHER = {
    "an order": ("Transpose", [2, 3, 4], {}, {"perm": [2, 0, 1]}),
    "all axes from one on": ("Softmax", [2, 3, 4], {"axis": 1, "opset": 11}, {"axis": 1}),
    "a window": (
        "MaxPool", [1, 3, 8, 8], {"kernel_shape": [3, 3], "strides": [2, 2]}, {"kernel_shape": [3, 3]},
    ),
    "a range": (
        "Slice", [4, 3], {"inputs": TO, "weights": FROM},
        {"inputs": TO, "weights": [("from", np.array([1])), *FROM[1:]]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [*ALIKE, *OTHER])
def test_what_an_operator_is_told_does_not_hang_on_how_a_file_says_it(name):
    op, shape, *ways = {**ALIKE, **OTHER}[name]
    one, two = (
        settings_of(op, shape, *way.get("inputs", ()), **{key: item for key, item in way.items() if key != "inputs"})
        for way in ways
    )
    assert (one == two) is (name in ALIKE), (one, two)

"""Models of one operator, and who tells what it gives: the standard, in numbers worked out by hand, or ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from packaging.version import Version

from polycmp_onnx.reference import make_evaluator

F, INF, NAN = np.float32, np.inf, np.nan
#: Operators that older releases of ONNX Runtime lack, or calculate wrongly: the first release that is right.
RIGHT_SINCE = {"RMSNormalization": "1.23", "AveragePool": "1.21"}
IMAGE = np.random.default_rng(0).standard_normal((2, 3, 8, 7)).astype(np.float32)


def f(*values):
    return np.array(values[0] if len(values) == 1 else values, F)


def i(*values):
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def u(*values):
    return np.array(values[0] if len(values) == 1 else values, np.uint8)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, float)))


def computed(op, opset, inputs, attributes, outputs=1, domain="", dtype=""):
    """Outputs of a model of one operator; an input of None is left out."""
    names = ["" if item is None else f"i{at}" for at, item in enumerate(inputs)]
    feed = {name: item for name, item in zip(names, inputs, strict=True) if name}
    kinds = {
        name: TensorProto.STRING if item.dtype == object else helper.np_dtype_to_tensor_dtype(item.dtype)
        for name, item in feed.items()
    }
    node = helper.make_node(op, names, [f"o{at}" for at in range(outputs)], domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info(name, kinds[name], item.shape) for name, item in feed.items()],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
    )
    if not domain and opset > onnx.defs.onnx_opset_version():
        pytest.skip(f"onnx {onnx.__version__} does not know opset {opset}")
    sets = [helper.make_opsetid(domain, opset)] + ([helper.make_opsetid("", 17)] if domain else [])
    return make_evaluator(helper.make_model(graph, opset_imports=sets), dtype=dtype).run(None, feed)


def by_hand(cases, domain=""):
    """Return the test of cases of (operator, opset, inputs, attributes, what is right), each in both precisions."""

    @pytest.mark.parametrize("dtype", ["", "float64"])
    @pytest.mark.parametrize("case", cases, ids=lambda case: f"{case[0]}-{case[1]} {case[3]}"[:60])
    def test(case, dtype):
        check(*case, domain, dtype)

    return test


def check(op, opset, inputs, attributes, expected, domain, dtype):
    found = computed(op, opset, inputs, attributes, len(expected), domain, dtype)
    for value, wanted in zip(found, expected, strict=True):
        right = np.asarray(wanted)
        assert value.shape == right.shape
        assert (value.dtype == bool) == (right.dtype == bool)
        if right.dtype == object:
            assert value.tolist() == right.tolist()
        else:
            np.testing.assert_allclose(value.astype(float), right, rtol=1e-5, atol=1e-6)


class Draw:
    """Draws arrays, the same ones in each process."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def floats(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def positive(self, *shape):
        return np.abs(self.floats(*shape)) + np.float32(0.01)

    def codes(self, kind, *shape):
        return self.rng.integers(0, 100, shape).astype(kind)

    def octets(self, *shape):
        return self.rng.integers(0, 256, shape).astype(np.uint8)


def judged(cases):
    """Return the test of cases of (operator, opset, inputs, attributes), of which ONNX Runtime tells what is right."""

    @pytest.mark.parametrize(("op", "opset", "arrays", "attributes"), cases, ids=lambda value: str(value)[:40])
    def test(one_node, op, opset, arrays, attributes):
        agree(one_node, op, opset, arrays, attributes)

    return test


def agree(one_node, op, opset, arrays, attributes):
    """Have ONNX Runtime and the evaluator compute the same, the latter in float64, too."""
    ort = pytest.importorskip("onnxruntime")
    since = RIGHT_SINCE.get(op)
    if since and Version(ort.__version__) < Version(since):
        pytest.skip(f"ONNX Runtime {ort.__version__} cannot be the judge of {op}: {since} is the first that can")
    model = one_node(op, arrays, opset=opset, **attributes)
    feed = {f"i{index}": array for index, array in enumerate(arrays)}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = session.run(None, feed)[0]
    got = make_evaluator(model).run(None, feed)[0]
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    wide = make_evaluator(model, dtype="float64").run(None, feed)[0]
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, expected, rtol=1e-4, atol=1e-5)

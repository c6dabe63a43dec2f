"""Models of one operator of ONNX Runtime's own, and ONNX Runtime as their judge."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from packaging.version import Version

from polycmp_onnx.graph import element_type
from polycmp_onnx.reference import make_evaluator
from polycmp_onnx.shapes import value_types

ort = pytest.importorskip("onnxruntime")


def words(*values):
    return np.array(values, np.int32)


def step(value):
    return np.float32(value)


def model_of(op, arrays, attributes, outputs=1, domain="com.microsoft"):
    names = ["" if array is None else f"i{index}" for index, array in enumerate(arrays)]
    feed = {name: np.asarray(array) for name, array in zip(names, arrays, strict=True) if name}
    made = [f"y{index}" for index in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, made, domain=domain, **attributes)],
        "g",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in feed.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in made],
    )
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feed


def expected_of(model, feed):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # with more, ONNX Runtime quantises the rows of an LSTM's batch apart
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if Version(ort.__version__) < Version("1.23"):
            pytest.skip(f"ONNX Runtime {ort.__version__} cannot be the judge: {error}")
        raise
    return session.run(None, feed)


def judged(cases):
    """Return the test of cases of (operator, inputs, attributes and, if it is not 1, the number of outputs)."""

    @pytest.mark.parametrize("case", cases, ids=lambda case: case[0])
    def test(case):
        agree(case)

    return test


def agree(case):
    """Have ONNX Runtime and the evaluator compute the same, the latter in float64, too, in types that are inferred."""
    op, arrays, attributes, *outputs = case
    if op in {"GroupQueryAttention", "MultiHeadAttention", "MatMulNBits"} and Version(ort.__version__) < Version(
        "1.24"
    ):
        pytest.skip("releases before 1.24 calculate some of these otherwise")
    if op in {"MoE", "QMoE"} and Version(ort.__version__) < Version("1.31"):
        pytest.skip(f"ONNX Runtime {ort.__version__} lacks {op} for processors, or weights experts otherwise")
    model, feed = model_of(op, arrays, attributes, *outputs)
    expected, got = expected_of(model, feed), make_evaluator(model).run(None, feed)
    wide = make_evaluator(model, dtype="float64").run(None, feed)
    types = value_types(model)
    for value, one, two, third in zip(model.graph.output, expected, got, wide, strict=True):
        if np.issubdtype(one.dtype, np.floating) or value.name in types:
            assert element_type(types[value.name]) == one.dtype
        assert two.dtype == one.dtype
        scale = max(float(np.abs(one).max()), 1e-3)
        np.testing.assert_allclose(two, one, rtol=1e-4, atol=1e-5 * scale)
        assert third.dtype == (np.float64 if one.dtype == np.float32 else one.dtype)
        np.testing.assert_allclose(third, one, rtol=1e-3, atol=1e-2 * scale)

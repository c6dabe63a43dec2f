"""Operators that ONNX Runtime's optimiser and quantisers write agree with ONNX Runtime, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from microsoft_cases import expected_of, judged, model_of
from onnx import TensorProto, helper
from operator_cases import IMAGE, Draw

from polycmp.errors import BackendError
from polycmp_onnx.reference import make_evaluator

DRAW = Draw()
floats, codes, positive, octets = DRAW.floats, DRAW.codes, DRAW.positive, DRAW.octets
FEW = {"K": 40, "N": 6, "bits": 4, "block_size": 32}
KERNEL = floats(4, 3, 3, 3)
LITTLE = floats(2, 3, 8) * np.float32(1e-3)
CASES = [
    *(("FusedMatMul", [floats(2, 5, 4), floats(2, 4, 5)], {"transA": flip, "transB": flip, "alpha": 0.3})
      for flip in (0, 1)),
    ("TransposeMatMul", [floats(5, 4), floats(5, 3)], {"transA": 1}),
    ("FastGelu", [floats(3, 7)], {}),
    ("FastGelu", [floats(3, 7), floats(7)], {}),
    ("Gelu", [floats(3, 7)], {}),
    ("BiasGelu", [floats(3, 7), floats(7)], {}),
    ("QuickGelu", [floats(3, 7) * 100], {"alpha": 1.5}),
    ("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8)], {"epsilon": 1e-3}),
    ("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)], {}),
    ("SkipLayerNormalization", [LITTLE, LITTLE, floats(8), floats(8)], {}),
    ("SkipSimplifiedLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], {"epsilon": 1e-4}),
    ("SkipSimplifiedLayerNormalization", [LITTLE, LITTLE, floats(8)], {}),
    *(("FusedConv", [IMAGE, KERNEL, floats(4)], {"activation": kind, "pads": [1, 0, 1, 1], **more})
      for kind, more in (("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_params": [0.2]}),
                         ("Clip", {"activation_params": [-0.1, 0.3]}),
                         ("HardSigmoid", {"activation_params": [0.3, 0.4]}))),
    ("FusedConv", [IMAGE, KERNEL, floats(4), floats(2, 4, 6, 5)], {"activation": "Relu"}),
    *(("FusedGemm", [floats(3, 5), floats(4, 5), floats(4)], {"activation": kind, "transB": 1, "alpha": 0.5, **more})
      for kind, more in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.3}), ("Tanh", {}))),
    ("MatMulNBits", [floats(3, 40), octets(6, 2, 16), positive(12)], FEW),
    ("MatMulNBits", [floats(3, 40), octets(6, 2, 16), positive(12),
                     octets(6)], FEW),
    ("MatMulNBits", [floats(3, 40), octets(6, 2, 32), positive(12)],
     {**FEW, "bits": 8}),
    ("MatMulIntegerToFloat", [codes(np.uint8, 3, 8), codes(np.int8, 8, 4), np.float32(0.1), positive(4),
                              np.uint8(7), codes(np.int8, 4), floats(4)], {}),
    ("DynamicQuantizeMatMul", [floats(3, 8), codes(np.uint8, 8, 4), np.float32(0.02), np.uint8(50), floats(4)], {}),
]  # fmt: skip

test_an_operator_of_onnx_runtime_agrees_with_it = judged(CASES)


@pytest.mark.parametrize("op", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_a_normalisation_that_onnx_runtime_writes_into_older_opsets_agrees_with_it(op):
    model, feed = model_of(op, [floats(2, 3, 8), floats(8)], {"epsilon": 1e-3}, domain="")
    np.testing.assert_allclose(make_evaluator(model).run(None, feed)[0], expected_of(model, feed)[0], 1e-4, 1e-5)


def test_what_is_not_computed_is_refused_with_a_reason():
    node = helper.make_node("FusedMatMul", ["x", "x"], ["y"], domain="com.microsoft", transBatchA=1)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(BackendError, match="FusedMatMul") as caught:
        make_evaluator(helper.make_model(graph, opset_imports=opsets)).run(None, {"x": floats(2, 2, 2)})
    assert "transBatchA" in caught.value.why

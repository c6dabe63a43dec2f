"""Operators on codes that ONNX Runtime's quantisers write agree with ONNX Runtime, but for ties."""

from __future__ import annotations

import numpy as np
import pytest
from microsoft_cases import expected_of, model_of, step, words
from operator_cases import Draw

from polycmp_onnx.reference import make_evaluator

DRAW = Draw()
floats, codes, positive, octets = DRAW.floats, DRAW.codes, DRAW.positive, DRAW.octets
A, B = codes(np.uint8, 2, 3, 8), codes(np.uint8, 2, 3, 8)
ON_A, ON_B, ON_Y = [step(0.02), np.uint8(50)], [step(0.03), np.uint8(40)], [step(0.05), np.uint8(60)]
PIXELS = codes(np.uint8, 2, 4, 7, 6)
LAST = np.ascontiguousarray(np.moveaxis(PIXELS, 1, -1))
POOL = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
CASES = [
    ("QLinearAdd", [A, *ON_A, B, *ON_B, *ON_Y], {}),
    ("QLinearAdd", [A.view(np.int8), step(0.02), np.int8(3), B.view(np.int8)[:, :1], step(0.03), np.int8(4), step(0.05),
                    np.int8(-7)], {}),
    ("QLinearMul", [A, *ON_A, B, *ON_B, *ON_Y], {}),
    ("QLinearLeakyRelu", [A, *ON_A, *ON_Y], {"alpha": 0.2}),
    ("QLinearSigmoid", [A, *ON_A, step(1 / 256), np.uint8(0)], {}),
    *(("QLinearSoftmax", [A, *ON_A, step(1 / 256), np.uint8(0)], {"axis": axis, "opset": opset})
      for axis, opset in ((-1, 13), (1, 13), (1, 12))),
    ("QLinearConcat", [*ON_Y, A, *ON_A, B, *ON_B], {"axis": 1}),
    ("QLinearWhere", [A > 50, A, *ON_A, B, *ON_B, *ON_Y], {}),
    *(("QLinearAveragePool", [PIXELS, *ON_A, *ON_Y], {**POOL, "count_include_pad": pad}) for pad in (0, 1)),
    ("QLinearAveragePool", [LAST, *ON_A, *ON_Y], {**POOL, "channels_last": 1}),
    ("QLinearGlobalAveragePool", [PIXELS, *ON_A, step(0.005), np.uint8(60)], {}),
    ("QLinearGlobalAveragePool", [LAST, *ON_A, step(0.005), np.uint8(60)], {"channels_last": 1}),
    *(("QGemm", [codes(np.uint8, 3, 8), *ON_A, codes(np.uint8, *((5, 8) if flip else (8, 5))), positive(5),
                 np.uint8([1, 2, 3, 4, 5]), words(1, 20, 300, -40, 5), *more], {"transB": flip, "alpha": 0.5})
      for flip in (0, 1) for more in ([], [step(1), np.uint8(100)])),
    ("QLinearConv", [LAST, *ON_A, codes(np.uint8, 5, 4, 3, 3), positive(5) / 50, np.full(5, 50, np.uint8), step(0.3),
                     np.uint8(100), words(1, 20, 300, -40, 5)], {"channels_last": 1, "pads": [1, 1, 0, 0]}),
    ("NhwcMaxPool", [LAST], POOL),
    ("QuantizeLinear", [floats(2, 3, 4), step(0.02), np.int16(50)], {}),
    ("QuantizeLinear", [floats(2, 3, 4), positive(3) / 50, np.uint16([400, 500, 600])], {"axis": 1}),
    ("DequantizeLinear", [codes(np.uint16, 2, 3, 4), step(0.02), np.uint16(50)], {}),
    ("DequantizeLinear", [codes(np.int32, 2, 3, 4), positive(3), np.zeros(3, np.int32)], {"axis": 1}),
    *(("GatherBlockQuantized", [octets(9, 64 * bits // 8), np.array([[1, 8], [0, 3]]),
                                positive(9, 4), *zeros], {"bits": bits, "block_size": 16})
      for bits, zeros in ((4, []), (8, []), (4, [octets(9, 2)]))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_quantised_operator_of_onnx_runtime_agrees_with_it_but_for_ties(case):
    model, feed = model_of(*case)
    (one,), (two,) = expected_of(model, feed), make_evaluator(model).run(None, feed)
    assert two.dtype == one.dtype
    assert two.shape == one.shape
    if one.dtype.kind == "f":
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
        return
    assert np.ptp(one) > 10, "the case says something"
    gap = np.abs(one.astype(int) - two.astype(int))
    assert gap.max() <= 1
    assert (gap > 0).mean() < 0.05

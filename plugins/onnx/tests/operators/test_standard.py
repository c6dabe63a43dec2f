"""Operators of older opsets that ONNX's own class of a later one computes."""

from __future__ import annotations

import numpy as np
from operator_cases import Draw, judged

floats = Draw().floats
JUDGED = [
    ("DequantizeLinear", 13, [np.array([[1, 2], [3, 4]], np.uint8), np.array([0.1, 0.2], np.float32),
                              np.array([1, 2], np.uint8)], {"axis": 1}),
]  # fmt: skip

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

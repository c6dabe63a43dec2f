"""Softmax and its like, corrected."""

from __future__ import annotations

import numpy as np
from operator_cases import Draw, judged

floats = Draw().floats
JUDGED = [
    *((op, opset, [floats(2, 3, 4)], {"axis": axis}) for op in ("Softmax", "LogSoftmax", "Hardmax")
      for opset in (11, 13) for axis in (0, 1, 2)),
    ("LogSoftmax", 13, [np.array([[0, 1000]], np.float32)], {}),
]  # fmt: skip

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

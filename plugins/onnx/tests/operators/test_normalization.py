"""Normalisations, corrected."""

from __future__ import annotations

import numpy as np
from operator_cases import IMAGE, Draw, judged

floats = Draw().floats
CHANNELS = [floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.1]
JUDGED = [
    ("BatchNormalization", 7, [IMAGE, *CHANNELS], {"epsilon": 1e-3}),
    ("BatchNormalization", 9, [IMAGE, *CHANNELS], {}),
    ("LRN", 13, [floats(2, 7, 3, 3)], {"size": 5}),
    *(("MeanVarianceNormalization", opset, [IMAGE / 10 + 5], attributes)
      for opset, attributes in ((9, {}), (13, {"axes": [0, -1]}))),
    ("LpNormalization", 7, [floats(2, 5)], {"p": 1}),
    ("LpNormalization", 7, [np.zeros((2, 5), np.float32)], {"p": 2}),
    ("LayerNormalization", 17, [floats(2, 3, 5), floats(3, 5), floats(3, 5)], {"axis": 1}),
    ("RMSNormalization", 23, [floats(2, 5), floats(5)], {}),
]  # fmt: skip

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

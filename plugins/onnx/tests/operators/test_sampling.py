"""Grids and regions, corrected."""

from __future__ import annotations

import numpy as np
from operator_cases import Draw, F, by_hand, f, i, judged

floats = Draw().floats
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    (
        "GridSample",
        20,
        [f([[[[0, 1, 2, 4]]]]), f([[[[1.2, 0]]]])],
        {"mode": "cubic", "padding_mode": "border", "align_corners": 1},
        [[[[[4.2205]]]]],
    ),
    (
        "GridSample",
        20,
        [f([[[[7]]]]), f([[[[0.5, 0]]]])],
        {"padding_mode": "reflection", "align_corners": 1},
        [[[[[7]]]]],
    ),
    ("AffineGrid", 20, [f([[[1, 0, 0], [0, 1, 0]]]), i(1, 1, 1, 2)], {"align_corners": 1}, [[[[[-1, 0], [1, 0]]]]]),
    (
        "MaxRoiPool",
        1,
        [np.arange(16, dtype=F).reshape(1, 1, 4, 4), f([[0, 1, 1, 2, 2]])],
        {"pooled_shape": [1, 2]},
        [[[[[9, 10]]]]],
    ),
]
JUDGED = [
    *(("GridSample", 16, [floats(1, 2, 4, 4), floats(1, 3, 3, 2)], {"mode": mode}) for mode in ("bilinear", "bicubic")),
]  # fmt: skip

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

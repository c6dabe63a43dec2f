"""Pooling, corrected."""

from __future__ import annotations

from operator_cases import IMAGE, Draw, by_hand, f, judged

floats = Draw().floats
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    ("GlobalLpPool", 2, [f([[[3, -4]]])], {}, [[[[5]]]]),
    ("LpPool", 18, [f([[[3, -4, 1]]])], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}, [[[[5, 1]]]]),
    (
        "LpPool",
        11,
        [f([[[3, -4, 1, 0, 2, 5, 6, 7]]])],
        {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"},
        [[[[3, 0, 6]]]],
    ),
    (
        "MaxPool",
        12,
        [f([[[[1, 2], [3, 4]]]])],
        {"kernel_shape": [1, 1], "storage_order": 1},
        [[[[[1, 2], [3, 4]]]], [[[[0, 2], [1, 3]]]]],
    ),
    (
        "MaxPool",
        12,
        [f([[[1, 2, 3, 4]]])],
        {"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_LOWER"},
        [[[[2, 4]]], [[[1, 3]]]],
    ),
]
JUDGED = [
    *(("GlobalMaxPool", 13, [floats(2, 3, *spatial)], {}) for spatial in ([5], [4, 5], [2, 3, 4])),
    *(("MaxPool", opset, [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": pad})
      for opset in (8, 12) for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    *(("MaxPool", 12, [IMAGE], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 0, 1, 1], "ceil_mode": ceil})
      for ceil in (0, 1)),
    ("MaxPool", 12, [IMAGE], {"kernel_shape": [3, 3], "dilations": [2, 1]}),
    ("MaxPool", 12, [floats(1, 2, 9)], {"kernel_shape": [3]}),
    *(("AveragePool", 19, [IMAGE], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": ceil,
       "count_include_pad": pad}) for ceil in (0, 1) for pad in (0, 1)),
    *(("AveragePool", 11, [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": pad})
      for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")),
    *(("GlobalMaxPool", 13, [floats(2, 3, *size)], {}) for size in ((5,), (5, 4), (2, 3, 4))),
]  # fmt: skip

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

"""Convolutions and products that are transposed or of codes, corrected."""

from __future__ import annotations

from operator_cases import Draw, by_hand, f, judged, u

floats = Draw().floats
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    ("QLinearMatMul", 10, [u([[5]]), f(0.5), u(0), u([[1]]), f(1), u(0), f(1), u(1)], {}, [[[3]]]),  # 2.5 is 2, and 1
    ("MatMulInteger", 10, [u([[5], [7]]), u([[2, 3]]), u([1, 2]), u([1, 1])], {}, [[[4, 8], [5, 10]]]),
    ("QLinearConv", 10, [u([[[5]]]), f(0.5), u(0), u([[[1]]]), f(1), u(0), f(1), u(1)], {}, [[[[3]]]]),
    ("ConvTranspose", 11, [f([[[1, 2]]]), f([[[1, 1]]])], {"strides": [2], "output_shape": [3]}, [[[[1, 2, 2]]]]),
    ("ConvTranspose", 11, [f([[[1, 2]]]), f([[[1, 1]]])], {"strides": [2], "output_shape": [5]}, [[[[1, 1, 2, 2, 0]]]]),
    (
        "ConvTranspose",
        11,
        [f([[[1, 2]]]), f([[[1, 1, 1]]])],
        {"strides": [1], "output_shape": [3], "auto_pad": "SAME_UPPER"},
        [[[[1, 3, 3]]]],
    ),
    ("ConvTranspose", 11, [f([[[1, 2]]]), f([[[1]]])], {"strides": [2], "auto_pad": "SAME_LOWER"}, [[[[1, 0, 2, 0]]]]),
]
JUDGED = [
    ("ConvTranspose", 11, [floats(1, 4, 5, 5), floats(4, 3, 3, 3), floats(6)], {"group": 2, "strides": [2, 1]}),
    ("ConvTranspose", 11, [floats(1, 4, 5), floats(4, 2, 3), floats(2)], {"pads": [1, 0], "output_padding": [1],
                                                                        "strides": [2]}),
]  # fmt: skip

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

"""Recurrent operators, corrected."""

from __future__ import annotations

import numpy as np
from operator_cases import Draw, F, by_hand, f, judged, sigmoid

floats = Draw().floats
ONES = {count: np.ones((1, count, 1), F) for count in (1, 3, 4)}
X2 = np.ones((2, 1, 1), F)
CELL = sigmoid(0.1) * np.tanh(0.1)
#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    (
        "LSTM",
        14,
        [X2, ONES[4], ONES[4], None, np.array([1], np.int32)],
        {"hidden_size": 1},
        [
            [[[[sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1))]]], [[[0]]]],
            [[[sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1))]]],
        ],
    ),
    ("LSTM", 14, [X2[:1], ONES[4], ONES[4]], {"hidden_size": 1, "clip": 0.1}, [[[[[sigmoid(0.1) * np.tanh(CELL)]]]]]),
    (
        "LSTM",
        14,
        [X2[:1], ONES[4], ONES[4]],
        {"hidden_size": 1, "clip": 0.1, "activations": ["Sigmoid"] * 3},
        [[[[[sigmoid(0.1) * sigmoid(sigmoid(0.1) ** 2)]]]]],
    ),  # the state is larger than 0.1, and not clipped
    (
        "LSTM",
        14,
        [X2[:1], ONES[4], ONES[4], None, None, None, np.ones((1, 1, 1), F)],
        {"hidden_size": 1, "input_forget": 1},
        [[[[[sigmoid(1) * np.tanh(sigmoid(1) * np.tanh(1) + 1 - sigmoid(1))]]]]],
    ),
    ("RNN", 14, [X2, ONES[1], ONES[1]], {"hidden_size": 1, "activations": ["Relu"]}, [[[[[1]]], [[[2]]]]]),
    (
        "RNN",
        14,
        [X2 * f([[[1]], [[2]]]), ONES[1], ONES[1], None, np.array([1], np.int32)],
        {"hidden_size": 1, "direction": "reverse", "activations": ["Relu"]},
        [[[[[1]]], [[[0]]]], [[[1]]]],
    ),
    (
        "RNN",
        14,
        [X2[:1], -ONES[1], ONES[1]],
        {"hidden_size": 1, "activations": ["LeakyRelu"], "activation_alpha": [0.5]},
        [[[[[-0.5]]]]],
    ),
    ("GRU", 14, [X2[:1], ONES[3], ONES[3]], {"hidden_size": 1, "activations": ["Relu", "Tanh"]}, [[[[[0]]]]]),
]
JUDGED = [
    ("LSTM", 14, [floats(4, 2, 3), floats(1, 20, 3), floats(1, 20, 5), floats(1, 40)], {"hidden_size": 5}),
    ("GRU", 14, [floats(4, 2, 3), floats(1, 15, 3), floats(1, 15, 5), floats(1, 30)], {"hidden_size": 5}),
    ("RNN", 14, [floats(4, 2, 3), floats(1, 5, 3), floats(1, 5, 5), floats(1, 10)], {"hidden_size": 5}),
]  # fmt: skip

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

test_a_corrected_operator_agrees_with_onnx_runtime = judged(JUDGED)

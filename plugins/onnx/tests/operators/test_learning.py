"""Operators of learnt models, as the standard says."""

from __future__ import annotations

import numpy as np
from operator_cases import NAN, by_hand, f, i, sigmoid

#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    (
        "CategoryMapper",
        1,
        [np.array(["b", "z"], object)],
        {"cats_strings": ["a", "b"], "cats_int64s": [3, 4]},
        [[4, -1]],
    ),
    ("LabelEncoder", 4, [f(NAN, 1)], {"keys_floats": [NAN], "values_int64s": [3], "default_int64": 7}, [[3, 7]]),
    ("LabelEncoder", 1, [np.array(["b", "z"], object)], {"classes_strings": ["a", "b"]}, [[1, -1]]),
    ("Normalizer", 1, [f([[-4, 2]])], {"norm": "MAX"}, [[[-2, 1]]]),
    ("Normalizer", 1, [i([[3, 4]])], {"norm": "L2"}, [[[0.6, 0.8]]]),
    ("Scaler", 1, [i([[3]])], {"offset": [1.0], "scale": [0.25]}, [[[0.5]]]),
    ("OneHotEncoder", 1, [f([1.7])], {"cats_int64s": [0, 1]}, [[[0, 1]]]),
    ("LinearRegressor", 1, [f([[2]])], {"coefficients": [0.5], "post_transform": "LOGISTIC"}, [[[sigmoid(1)]]]),
    (
        "LinearRegressor",
        1,
        [f([[2]])],
        {"coefficients": [0.5, 0.5], "targets": 2, "post_transform": "SOFTMAX"},
        [[[0.5, 0.5]]],
    ),
]

test_an_operator_of_learnt_models_gives_what_the_standard_says = by_hand(CASES, "ai.onnx.ml")

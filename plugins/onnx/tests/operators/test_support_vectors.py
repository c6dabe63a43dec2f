"""Support vectors, as the standard says."""

from __future__ import annotations

from operator_cases import by_hand, f, sigmoid

#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    (
        "SVMRegressor",
        1,
        [f([[2]])],
        {"coefficients": [0.5], "rho": [0.0], "post_transform": "LOGISTIC"},
        [[[sigmoid(1)]]],
    ),
]

test_an_operator_of_learnt_models_gives_what_the_standard_says = by_hand(CASES, "ai.onnx.ml")

"""Reductions and losses, corrected."""

from __future__ import annotations

from operator_cases import INF, by_hand, f, i

#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    ("NegativeLogLikelihoodLoss", 13, [f([[-1, 0], [-3, 0]]), i(0, -1)], {"ignore_index": -1}, [1]),
    ("Mean", 13, [f([[1], [3]]), f(1, 5)], {}, [[[1, 3], [2, 4]]]),
    ("ReduceLogSumExp", 13, [f([[INF, 1], [-INF, -INF]])], {"axes": [1], "keepdims": 0}, [[INF, -INF]]),
    ("ReduceLogSumExp", 13, [f(2.0)], {}, [2]),
    ("ReduceLogSum", 13, [i([[1, 0]])], {"keepdims": 0}, [0]),
]

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

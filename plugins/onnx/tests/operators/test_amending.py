"""Quantising, corrected: what lies beyond the codes, and blocks."""

from __future__ import annotations

from operator_cases import INF, by_hand, f, u

#: operator, opset, inputs, attributes, what is right: one array, or several
CASES = [
    ("QuantizeLinear", 13, [f(1e10, -1e10, INF, 2.5), f(1), u(1)], {}, [[255, 0, 255, 3]]),
    ("QuantizeLinear", 21, [f([[1e10, 2.5]]), f([[1, 0.5]]), u([[0, 1]])], {"axis": 1, "block_size": 1}, [[[255, 6]]]),
]

test_an_operator_gives_what_the_standard_says = by_hand(CASES)

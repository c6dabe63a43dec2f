"""Which operator of a chain is to blame, and in which words."""

from __future__ import annotations

import math

import pytest
from located_rows import FLOAT32, INFINITE, NANS, alone, row

from polycmp.compare import ErrorStats
from polycmp_locate.causes.operator import Evidence, blame
from polycmp_locate.trials.flow import Flow


def verdict(a, b, y, failing=1.0, leads=lambda row, outputs: True):
    rows = [
        row(tensor="a", reads=("x",), **a), row(tensor="b", reads=("a",), **b), row(tensor="y", reads=("b",), **y),
    ]  # fmt: skip
    found = blame(
        Evidence(
            rows,
            Flow([item.node for item in rows]),
            {"y": failing} if failing else {},
            {"y"} if failing > 16 * y.get("unit", FLOAT32) else set(),
            frozenset({"y"}),
            leads,
        )
    )
    names = [item.tensor if item is not None else None for item in (found.first_bad, found.origin, found.turning)]
    return found.verdict, *names


INF = {"relative": math.inf, "candidate": INFINITE, "inputs_finite": True}


RIGHT = {"standalone": alone()}


@pytest.mark.parametrize(
    ("a", "b", "y", "failing", "expected"),
    [
        ({}, {}, {}, 0.0, ("within rounding", None, None, None)),
        (INF, {"relative": 0.0}, {"relative": 0.0}, 0.0, ("within rounding", None, None, None)),
        (INF, {"relative": 0.5}, {"relative": 0.0}, 0.0, ("NaN/Inf born here", "a", "a", None)),
        (INF, {"candidate": NANS, "relative": math.inf}, {}, 0.0, ("NaN/Inf born here", "a", "a", None)),
        (INF, {}, {"relative": 0.5, "standalone": alone(0.5)}, 0.5, ("wrong", "y", "y", None)),
        ({"relative": 0.1, "standalone": alone(0.1)}, {"relative": 0.1}, {"relative": 0.1}, 0.1,
         ("wrong", "a", "a", None)),
        ({"relative": 2.0**-8, "standalone": alone(2.0**-8)}, {"relative": 0.1}, {"relative": 0.1}, 2.0**-8,
         ("worse than this precision explains", "a", "a", None)),
        ({"relative": 1e-4, "passed": True, "standalone": alone(1e-4)}, {"relative": 0.1, **RIGHT},
         {"relative": 0.1, **RIGHT}, 1e-4, ("wrong", "b", "a", None)),
        ({"relative": 1.0, "unit": 0.0, "in_steps": True, **RIGHT}, {"relative": 0.1, **RIGHT},
         {"relative": 0.1, **RIGHT}, 0.1, ("within rounding", None, None, "a")),
        ({"relative": 0.1, **RIGHT}, {"relative": 0.1, **RIGHT}, {"relative": 0.1, **RIGHT}, 0.1,
         ("undecided", None, None, None)),
        ({"relative": 0.1, "was_tried": True}, {"relative": 0.1}, {"relative": 0.1}, 0.1, ("wrong", "a", "a", None)),
        ({"relative": 0.1, "was_postponed": True}, {"relative": 0.1}, {"relative": 0.1}, 0.1,
         ("undecided", None, None, "a")),
        ({"relative": 0.1, "standalone": alone(0.1)}, {"relative": 0.0}, {"relative": 0.0}, 0.0,
         ("wrong", "a", "a", None)),
    ],
)  # fmt: skip
def test_the_verdict_on_a_chain(a, b, y, failing, expected):
    assert verdict(a, b, y, failing) == expected


@pytest.mark.parametrize(
    ("steps", "failed", "expected"),
    [(1.0, 1, "within rounding"), (1.0, 400, "wrong"), (2.0, 1, "wrong")],
)
def test_ties_of_an_operator_that_could_not_be_run_alone_accuse_it_of_nothing(steps, failed, expected):
    """The codes of a fused operator of a LiteRT model, one step off in few places: what rounds is inside."""
    stats = ErrorStats(count=2048, failed=failed)
    codes = {"unit": 0.0, "in_steps": True, "input_unit": FLOAT32, "max_abs": steps, "stats": stats, "was_tried": True}
    behind = {"relative": 0.02, **RIGHT}
    found = verdict({"relative": 0.01, **codes}, behind, {**behind, "unit": 0.1}, 0.02)
    assert found[0] == expected


def test_a_small_error_that_does_not_lead_to_the_outputs_is_never_the_answer():
    small, large = {"relative": 2e-5, "standalone": alone(2e-5)}, {"relative": 0.5, "standalone": alone(0.5)}
    assert verdict(small, large, {"relative": 0.5, **RIGHT}, 0.5, lambda row, outputs: False)[1] == "b"
    assert verdict(small, large, {"relative": 0.5, **RIGHT}, 0.5, lambda row, outputs: True)[1] == "a"

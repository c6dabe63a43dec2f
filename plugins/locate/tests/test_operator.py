"""Which operator of a chain is to blame, and in which words."""

from __future__ import annotations

import math

import pytest
from located_rows import FLOAT32, INFINITE, NANS, alone, row

from polycmp.compare import ErrorStats
from polycmp_locate.causes.operator import Evidence, blame
from polycmp_locate.rounding.quantised import StepError
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


def clipped_verdict(cures, is_beyond):
    """Judge a chain of which two operators clip, the second one more, and whose output is off."""
    clips = [alone(loss, steps=StepError(1.0, 0.01, 0.01, loss, -1.0, 1.0, at_ends=1.0)) for loss in (0.1, 0.2)]
    chain = zip("aby", "xab", [*clips, alone()], strict=True)
    rows = [row(0.2, tensor=name, reads=(read,), standalone=own) for name, read, own in chain]
    beyond = {"y"} if is_beyond else set()
    flow = Flow([item.node for item in rows])
    found = blame(Evidence(rows, flow, {"y": 0.2}, beyond, frozenset({"y"}), cures=lambda row, _: cures[row.tensor]))
    return found.first_bad.tensor if found.first_bad is not None else None, [item.tensor for item in found.harmless]


@pytest.mark.parametrize(
    ("cures", "is_beyond", "expected"),
    [
        ({"a": False, "b": False}, True, (None, ["a", "b"])),
        ({"a": True, "b": False}, True, ("a", ["b"])),
        ({"a": True, "b": True}, False, ("b", ["a"])),
        ({"a": True, "b": None}, True, ("b", ["a"])),
        ({"a": True, "b": None}, False, (None, ["a", "b"])),
        ({"a": None, "b": False}, True, (None, ["a", "b"])),
    ],
)
def test_the_clip_that_loses_most_is_tried_first_and_blamed_if_outputs_are_better_without_it(
    cures, is_beyond, expected
):
    assert clipped_verdict(cures, is_beyond) == expected

"""What changed between two runs: errors, cases and times."""

from __future__ import annotations

import math

import pytest

from polycmp_suite.changes import PastResult, compare, slower


def test_noise_is_no_slowdown():
    assert slower(1.3, [1.0, 1.0, 1.0], 1.2) is not None
    assert slower(1.1, [1.0, 1.0, 1.0], 1.2) is None
    assert slower(1.3, [0.8, 1.0, 1.2], 1.2) is None, "such times come by themselves"
    assert slower(3.0, [0.8, 1.0, 1.2], 1.2) is not None


@pytest.mark.parametrize(
    ("before", "now", "kinds"),
    [
        (1e-6, 1e-3, ["error grew"]),
        (1e-6, 1.5e-6, []),
        (0.0, 1e-9, ["error grew"]),
        (1e-6, math.inf, ["error grew"]),
        (1e-6, math.nan, ["error grew"]),
        (math.inf, 1.0, []),
        (None, 1.0, []),
    ],
)
def test_errors_that_grew(before, now, kinds):
    then = {"a": PastResult("a", "passed", max_error=before)}
    changes = compare("before", then, {}, [PastResult("a", "passed", max_error=now)])
    assert [change.kind for change in changes.changes] == kinds


def test_cases_that_came_and_went():
    changes = compare("before", {"old": PastResult("old", "passed")}, {}, [PastResult("new", "failed")])
    assert [(change.kind, change.case, change.worse) for change in changes.changes] == [
        ("new case", "new", True),
        ("gone", "old", False),
    ]

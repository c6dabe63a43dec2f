"""What is evidence of probes and trials, each border from both sides."""

from __future__ import annotations

import math

import pytest
from located_rows import above, below

from polycmp_locate.trials import probing


@pytest.mark.parametrize(
    ("error", "probed", "fusion"),
    [(1.0, 0.25, True), (1.0, above(0.25), False), (math.inf, 0.1, True), (math.inf, math.inf, False)],
)
def test_an_error_that_probing_takes_away_is_one_of_fusion(error, probed, fusion):
    assert probing.is_fusion(error, probed) is fusion


@pytest.mark.parametrize(
    ("patched", "control", "leads"),
    [(0.0, 1.0, True), (0.5, 1.0, True), (above(0.5), 1.0, False), (0.0, 0.25, False), (0.1, above(0.25), True)],
)
def test_a_trial_tells_whether_an_error_leads_to_the_outputs(patched, control, leads):
    assert probing.explains(patched, control, 1.0) is leads


@pytest.mark.parametrize(
    ("patched", "control", "leads"),
    [(0.0, math.inf, True), (1.0, math.inf, True), (math.inf, math.inf, False), (0.0, 1.0, False)],
)
def test_a_trial_tells_whether_an_error_leads_to_another_shape_or_to_nan(patched, control, leads):
    assert probing.explains(patched, control, math.inf) is leads


@pytest.mark.parametrize(("own", "obvious"), [(0.25, True), (below(0.25), False)])
def test_a_quarter_of_the_outputs_error_needs_no_trial(own, obvious):
    assert probing.is_obvious(own, 1.0) is obvious


@pytest.mark.parametrize(
    ("remaining", "error", "removed"),
    [
        (0.25, 0.5, True),
        (above(0.25), 0.5, False),
        (0.5, 2.8, True),
        (1.0, 2.8, False),
        (0.5, math.inf, True),
        (1.0, math.inf, False),
        (0.0, 0.0, False),
    ],
)
def test_half_of_an_error_is_gone_and_nothing_as_large_as_the_numbers_is_left(remaining, error, removed):
    assert probing.is_removed(remaining, error) is removed

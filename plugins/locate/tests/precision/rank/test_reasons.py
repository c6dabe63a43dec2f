"""Why a layer loses precision, in words, each border from both sides."""

from __future__ import annotations

import pytest
from located_rows import above

from polycmp_locate.precision.rank.reasons import reason_of, why_in_float
from polycmp_locate.precision.rank.result import Codes, LayerFigures, MixedTrial, Ranking


def codes(**figures):
    return Codes("int8", "t", **figures)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({}, ""),
        ({"layer_ratio": float("-inf")}, "numbers become infinite or NaN"),
        ({"codes": [codes(), codes(saturated=0.25)]}, "25 % of 't' is beyond int8"),
        ({"codes": [codes(underflow=0.3)]}, ""),
        ({"codes": [codes(), codes(underflow=above(0.3))]}, "30 % of 't' becomes zero in int8"),
        ({"codes": [codes(used=0.1)]}, ""),
        ({"codes": [codes(used=0.9), codes(), codes(used=0.02)]}, "'t' uses 2 % of the range of int8"),
        ({"codes": [codes(used=0.0)]}, "'t' uses 0 % of the range of int8"),
        ({"peak": (3, 20.0, 1.0)}, ""),
        ({"peak": (3, 1.0, 0.0)}, ""),
        ({"peak": (3, above(20.0), 1.0)}, "channel 3 of its input reaches 20, the median channel 1"),
        (
            {"codes": [codes(saturated=0.5, used=0.01)]},
            "50 % of 't' is beyond int8; 't' uses 1 % of the range of int8",
        ),
    ],
)
def test_what_stands_out_is_said_and_nothing_else(figures, words):
    assert reason_of(LayerFigures(None, **{"layer_ratio": 30.0, **figures})) == words


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({}, "run alone, a signal-to-noise ratio of 30 dB"),
        ({"layer_ratio": float("inf")}, "run alone, no error"),
        (
            {"alone": 40.0},
            "run alone, a signal-to-noise ratio of 30 dB; in float by itself, it takes the outputs from a "
            "signal-to-noise ratio of 20 dB to a signal-to-noise ratio of 40 dB",
        ),
        (
            {"codes": [codes(saturated=0.5)], "alone": 40.0, "without": float("-inf")},
            "50 % of 't' is beyond int8; in the smaller type again, it leaves the outputs with infinity or NaN",
        ),
    ],
)
def test_a_layer_stays_in_float_for_what_it_does_to_the_outputs(figures, words):
    ranking = Ranking("new", "old", "guided", trials=[MixedTrial(frozenset(), False, 20.0)])
    assert why_in_float(LayerFigures(None, **{"layer_ratio": 30.0, **figures}), ranking) == words


def test_without_a_trial_of_the_reduced_model_nothing_is_said_of_the_outputs():
    words = why_in_float(LayerFigures(None, 30.0, alone=40.0), Ranking("new", "old", "guided"))
    assert words == "run alone, a signal-to-noise ratio of 30 dB"

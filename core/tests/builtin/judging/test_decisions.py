"""Whole numbers and shapes that rounding turns, and how far that explains a difference."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.builtin.judging.decisions import Decisions, are_decisions, sampled_decisions
from polycmp.builtin.judging.limits import MARGIN

EXACT = np.array([3, 1, 4, 1, 5])


def other(**changed):
    made = EXACT.copy()
    for place, value in changed.items():
        made[int(place[1:])] = value
    return made


@pytest.mark.parametrize(
    ("array", "decided"),
    [(EXACT, True), (EXACT > 2, True), (EXACT.astype(np.float32), False), (np.array(["a"]), False)],
)
def test_whole_numbers_and_truth_values_are_decisions(array, decided):
    assert are_decisions(array) is decided


def test_samples_tell_how_many_are_turned_at_most_and_by_how_much():
    assert sampled_decisions(EXACT, [EXACT, other(_0=4), other(_1=3, _2=5)]) == Decisions(2, 2.0, False)
    assert sampled_decisions(EXACT, [EXACT]) == Decisions()
    assert sampled_decisions(EXACT, [EXACT[:4], other(_0=4)]) == Decisions(1, 1.0, True)
    assert Decisions(1, 2.0) + Decisions(2, 1.0, True) == Decisions(3, 3.0, True)


@pytest.mark.parametrize(
    ("turned", "candidate", "explained"),
    [
        (Decisions(1, 1.0), other(_0=4), True),
        (Decisions(), other(_0=4), False),
        (Decisions(1, 1.0), EXACT, False),  # nothing is turned, so that is not what differs
        (Decisions(1, 1.0), other(_0=4 + int(MARGIN)), False),
        (Decisions(1, 1.0), other(**{f"_{place}": EXACT[place] + 1 for place in range(5)}), MARGIN >= 5),
        (Decisions(1, 1.0), EXACT[:4], False),
        (Decisions(1, 1.0, True), EXACT[:4], True),
    ],
)
def test_what_is_turned_by_about_as_much_in_about_as_many_places_is_explained(turned, candidate, explained):
    assert turned.explain(candidate, EXACT) is explained


def test_it_is_said_in_words():
    assert Decisions(3, 2.0).text("float16").startswith("rounding to float16 turns up to 3 of them, by up to 2")
    assert "turns the shape" in Decisions(reshaped=True).text("int8", of_shape=True)

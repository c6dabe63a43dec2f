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


def at(*places):
    return np.isin(np.arange(EXACT.size), places)


def test_samples_tell_which_are_turned_and_by_how_much_at_most():
    told = sampled_decisions(EXACT, [EXACT, other(_0=4), other(_1=3, _2=5)])
    assert (told.turned.tolist(), told.largest, told.reshaped) == (at(0, 1, 2).tolist(), 2.0, False)
    told = sampled_decisions(EXACT, [EXACT[:4], other(_0=4)])
    assert (told.turned.tolist(), told.reshaped) == (at(0).tolist(), True)
    both = Decisions() + Decisions(at(1), 2.0) + Decisions(at(2), 1.0, True)
    assert (both.turned.tolist(), both.largest, both.reshaped) == (at(1, 2).tolist(), 2.0, True)


@pytest.mark.parametrize(
    ("turned", "candidate", "explained"),
    [
        (Decisions(at(0), 1.0), other(_0=4), True),
        (Decisions(at(0, 1), 1.0), other(_0=4), True),
        (Decisions(at(1), 1.0), other(_0=4), False),
        (Decisions(at(0), 1.0), other(_0=4, _1=2), False),
        (Decisions(), other(_0=4), False),
        (Decisions(at(0), 1.0), EXACT, False),  # nothing is turned, so that is not what differs
        (Decisions(at(0), 1.0), other(_0=4 + int(MARGIN)), False),
        (Decisions(at(0), 1.0), EXACT[:4], False),
        (Decisions(at(0), 1.0, True), EXACT[:4], True),
    ],
)
def test_what_is_turned_by_about_as_much_in_the_same_places_is_explained(turned, candidate, explained):
    assert turned.explain(candidate, EXACT) is explained


def test_of_many_that_are_turned_samples_may_leave_few_as_they_are():
    exact, turned = np.zeros(64), np.arange(64) < 60
    assert Decisions(turned, 1.0).explain(np.ones(64), exact)
    assert not Decisions(turned & (np.arange(64) < 50), 1.0).explain(np.ones(64), exact)


def test_it_is_said_in_words():
    said = Decisions(at(0, 1, 2), 2.0).text("float16")
    assert said.startswith("rounding to float16 may turn up to 3 of them, by up to 2")
    assert "may turn the shape" in Decisions(reshaped=True).text("int8", of_shape=True)

"""Sentences of a report that hang on numbers: scales that cover too little, harmless operators that are counted."""

from __future__ import annotations

import math

import pytest
from located_rows import part

from polycmp_locate.report.words import _covers_less, notes_of
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.values.judged import Judged
from polycmp_locate.values.located import Located


@pytest.mark.parametrize(
    ("high", "at_ends", "told"),
    [
        (math.nextafter(0.95, 0.0), 0.6, True),
        (0.95, 0.6, False),
        (0.5, 0.5, False),
        (0.5, math.nextafter(0.5, 1.0), True),
    ],
)
def test_a_scale_covers_less_than_the_values_where_they_lie_at_its_ends(high, at_ends, told):
    row = part(reference=Figures(-1.0, 1.0, count=4))
    steps = StepError(gain=1.0, beyond=0.1, unexplained=0.1, largest=0.1, low=-1.0, high=high, at_ends=at_ends)
    assert _covers_less(row, steps) is told


@pytest.mark.parametrize(("count", "said"), [(2, ""), (3, "so is 1 more operator"), (4, "so are 2 more operators")])
def test_two_harmless_operators_are_told_and_the_others_counted(count, said):
    notes = notes_of(Located("mine", "other", Judged(harmless=tuple(part() for _ in range(count)))))
    assert len(notes) == (3 if said else 2)
    assert said in notes[-1]

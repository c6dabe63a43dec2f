"""Sentences of a report: what hangs on numbers, what is counted, and what is said where nothing can be decided."""

from __future__ import annotations

import math

import pytest
from located_rows import alone, part, row

from polycmp_locate.report.words import notes_of, sentence
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.values.judged import UNDECIDED, WRONG, Judged, Probe
from polycmp_locate.values.located import Located


@pytest.mark.parametrize(("at_ends", "told"), [(0.5, False), (math.nextafter(0.5, 1.0), True)])
def test_a_scale_is_said_to_clip_where_most_of_what_is_off_lies_at_its_ends(at_ends, told):
    steps = StepError(gain=1.0, beyond=0.1, unexplained=0.1, largest=0.1, low=-1.0, high=0.5, at_ends=at_ends)
    bad = part(reference=Figures(-1.0, 1.0, count=4), standalone=alone(1.0, steps=steps))
    text = sentence(Located("mine", "other", Judged(verdict=WRONG, first_bad=bad)))
    assert ("its scale covers -1 to 0.5" in text) is told, text


@pytest.mark.parametrize(("count", "said"), [(2, ""), (3, "so is 1 more operator"), (4, "so are 2 more operators")])
def test_two_harmless_operators_are_told_and_the_others_counted(count, said):
    notes = notes_of(Located("mine", "other", Judged(harmless=tuple(part() for _ in range(count)))))
    assert len(notes) == (3 if said else 2)
    assert said in notes[-1]


@pytest.mark.parametrize(
    ("turning", "probe", "said"),
    [
        (None, Probe(error=0.25, probed_error=0.5, trusted=False), "or by 0.5 when looking inside the model"),
        (None, Probe(error=0.25), "no tensor inside the model is off by more than rounding explains"),
        (None, None, "the outputs are off by more than rounding explains, which is too much to tell"),
        (part(was_postponed=True), Probe(error=0.25), "'t' is the first tensor off by more than rounding explains"),
        (part(was_postponed=True), Probe(error=0.25), "Mul 't', which computes it, was not run alone, to save time"),
        (part(), Probe(error=0.25), "Mul 't', which computes it, could not be judged alone"),
    ],
)
def test_where_nothing_can_be_decided_it_is_said_how_far_the_search_came(turning, probe, said):
    text = sentence(Located("mine", "other", Judged(verdict=UNDECIDED, turning=turning, probe=probe, is_probed=True)))
    assert text.startswith(f"{UNDECIDED}: the outputs are off by {'0.25 relative' if probe else 'more than rounding'}")
    assert said in text


def test_an_operator_that_is_right_alone_and_wrong_in_its_place_is_said_to_be():
    bad = row(0.5, standalone=alone(in_place=0.5))
    text = sentence(Located("mine", "other", Judged(verdict=WRONG, first_bad=bad)))
    assert text.endswith(
        "run alone on the reference's tensors, it is right, but inside the model mine computes something else from "
        "the same inputs"
    )


def test_saturated_values_that_are_absorbed_are_told_and_the_others_counted():
    absorbed = tuple((row(tensor=name), ()) for name in "abc")
    first, _, more = notes_of(Located("mine", "other", Judged(absorbed=absorbed)))
    assert first.startswith("a saturated value (1 instead of 1) in 'a', the output of Op")
    assert "absorbed by no operator, since it is not read" in first
    assert more == "infinities or saturated values in 1 more tensor are absorbed as well"

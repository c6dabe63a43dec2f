"""The scenarios of `truth`: every sentence of `locate` is one that an expert would sign."""

from __future__ import annotations

import pytest

from truth.judge import ACCUSED, ELSEWHERE, MISSED, RIGHT, SENTENCE, Said, grade, judge
from truth.models import ARCHITECTURES
from truth.pending import PENDING
from truth.scenario import NO_FAULT, NOTHING, SAME, WRONG, Scenario, at
from truth.scenarios import SCENARIOS


def cases():
    for name, scenario in SCENARIOS.items():
        if scenario.fast and scenario.here:
            pending = scenario.pending
            marks = [pytest.mark.xfail(strict=True, reason=pending)] if pending else []
            yield pytest.param(scenario, id=name, marks=marks)


@pytest.mark.parametrize("scenario", cases())
def test_the_sentence_is_one_that_an_expert_would_sign(scenario, tmp_path):
    judged = judge(scenario, tmp_path)
    assert judged.grade == RIGHT, f"{judged.command}\n{judged.said.sentence or judged.said.text}"


def test_enough_is_tried():
    faulty = [item for item in SCENARIOS.values() if item.fault != NO_FAULT]
    assert len(SCENARIOS) >= 80
    assert len({item.architecture for item in SCENARIOS.values()} & set(ARCHITECTURES)) >= 12
    assert len(SCENARIOS) - len(faulty) >= len(faulty), "as many scenarios without a fault as with one"
    assert set(PENDING) <= set(SCENARIOS), "what is pending is the name of a scenario"


@pytest.mark.parametrize(
    ("expect", "said", "what"),
    [
        (at("a"), Said(1, WRONG, "wrong: Op 'a'", ("a",)), RIGHT),
        (at("a"), Said(1, WRONG, "wrong: Op 'b'", ("b",)), ELSEWHERE),
        (at("a"), Said(1, "ill-conditioned model", "", ("a",)), SENTENCE),
        (at("a", says=("because",)), Said(1, WRONG, "wrong: Op 'a'", ("a",)), SENTENCE),
        (at("a"), Said(0, "equal"), MISSED),
        (NOTHING, Said(1, WRONG, "wrong: Op 'a'", ("a",)), ACCUSED),
        (NOTHING, Said(0, "within rounding"), RIGHT),
        (SAME, Said(0, "within rounding"), SENTENCE),
        (NOTHING, Said(3, text="could not compare"), "no answer"),
    ],
)
def test_what_is_said_is_graded(expect, said, what):
    assert grade(Scenario("s", "residual", NO_FAULT, expect), said) == what

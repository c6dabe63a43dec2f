"""The search over passes alone, with passes of which one, two or none are guilty."""

from __future__ import annotations

import math
import random

import pytest

from polycmp.spec import Switch
from polycmp_bisect.passes.search import PassSearch
from polycmp_bisect.search import EndError, FlakyError, Judgement

SEVERAL, LEVEL = Switch("disable"), Switch("level", ("high", "low", "off"))


class Backend:
    """A backend that is wrong unless one of some sets of its passes is left out, or its level is one of those given."""

    def __init__(self, *needed, levels=(), baseline=("bad", "bad"), by_chance=()):
        self.needed, self.levels, self.baseline = [set(item) for item in needed], levels, baseline
        self.by_chance = by_chance
        self.looks = 0

    def look(self, switch, value, number):
        self.looks += 1
        if switch is None:
            return Judgement(self.baseline[number])
        if value in self.by_chance:
            return Judgement("bad" if number else "good")
        right = value in self.levels if switch is LEVEL else any(item <= set(value) for item in self.needed)
        return Judgement("good" if right else "bad", f"{value}")


def search(backend, *switches):
    return PassSearch(backend.look, lambda switch: switch is SEVERAL).find(switches)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 37, 128])
def test_one_guilty_pass_is_found_in_few_runs(count):
    for guilty in range(count):
        backend = Backend({guilty})
        found = search(backend, (SEVERAL, range(count)))
        assert (found.value, found.others, found.judgement.state) == ((guilty,), (), "good")
        assert backend.looks <= 5 + 2 * math.ceil(math.log2(count)) + 1


def test_the_smallest_set_is_found_where_several_are_needed():
    rng = random.Random(5)
    for _ in range(30):
        needed = set(rng.sample(range(40), rng.randint(2, 4)))
        assert set(search(Backend(needed), (SEVERAL, range(40))).value) == needed


def test_of_sets_that_each_help_another_one_is_found_too():
    rng = random.Random(6)
    for _ in range(30):
        passes = rng.sample(range(40), 5)
        sets = {*passes[:2]}, {*passes[2:]}
        found = search(Backend(*sets), (SEVERAL, range(40)))
        assert {frozenset(found.value), frozenset(found.others)} == set(map(frozenset, sets))


def test_a_level_is_lowered_no_further_than_it_takes():
    assert search(Backend(levels=("low", "off")), (SEVERAL, range(9)), (LEVEL, LEVEL.values)).value == "low"
    assert search(Backend(levels=("off",)), (LEVEL, LEVEL.values)).value == "off"


def test_a_setting_that_is_right_by_chance_is_not_named():
    assert search(Backend(levels=("low", "off"), by_chance=("low",)), (LEVEL, LEVEL.values)).value == "off"
    assert search(Backend({1}, by_chance=((1,),)), (SEVERAL, range(3))) is None


def test_nothing_is_named_where_no_pass_helps_or_nothing_is_wrong():
    assert search(Backend(), (SEVERAL, range(9)), (LEVEL, LEVEL.values), (SEVERAL, ())) is None
    right = Backend({1}, baseline=("good", "good"))
    assert search(right, (SEVERAL, range(9))) is None
    assert right.looks == 2


def test_a_backend_that_cannot_be_judged_is_not_searched():
    with pytest.raises(FlakyError):
        search(Backend({1}, baseline=("bad", "good")), (SEVERAL, range(9)))
    with pytest.raises(EndError):
        search(Backend({1}, baseline=("skip", "skip")), (SEVERAL, range(9)))

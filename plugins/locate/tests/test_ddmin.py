"""Minimising by tests: the fewest items that still do it, another such part, and the smallest number."""

from __future__ import annotations

from itertools import combinations

import pytest

from polycmp_locate.ddmin import ddmin, fewest_passing, least_passing, other_part


class Needing:
    """Passes where all of some things are there; counts its tests, of which none is to be of an empty list."""

    def __init__(self, *needed):
        self.needed, self.tests = set(needed), 0

    def __call__(self, things):
        assert things
        self.tests += 1
        return self.needed <= set(things)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_needed_stays_in_its_order_and_nothing_else(count):
    for needed in combinations(range(9), count):
        assert ddmin(range(9), Needing(*needed)) == list(needed)


def test_one_thing_of_many_takes_few_tests():
    does = Needing(700)
    assert ddmin(range(1000), does) == [700]
    assert does.tests <= 40


def test_a_thing_that_another_one_needed_goes_after_it():
    """While 3 is there, 1 has to be; 3 itself is tried later than 1."""
    assert ddmin([1, 2, 3, 4], lambda things: 4 in things and (3 not in things or 1 in things)) == [4]


def test_no_test_is_made_that_is_not_allowed():
    does, left = Needing(0, 9), iter([True] * 3)
    found = ddmin(range(10), does, lambda: next(left, False))
    assert {0, 9} <= set(found)
    assert does.tests <= 3


@pytest.mark.parametrize(
    ("does", "goes_on", "found"),
    [
        (lambda things: not {1, 4}.isdisjoint(things), True, [4]),
        (lambda things: 1 in things, True, []),
        (lambda things: not {1, 4}.isdisjoint(things), False, []),
    ],
)
def test_another_part_has_nothing_of_the_first(does, goes_on, found):
    assert other_part(range(6), [1], does, lambda: goes_on) == found


def test_of_nothing_that_is_left_no_part_is_tried():
    assert other_part([1], [1], Needing()) == []


@pytest.mark.parametrize("least", range(1, 9))
def test_the_least_number_is_found_by_halving(least):
    tried = []
    assert least_passing(lambda number: tried.append(number) or number >= least, 0, 8) == least
    assert len(tried) <= 3
    assert 0 not in tried and 8 not in tried


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("least", "found"), [(0, 0), (1, 1), (5, 5), (8, 8), (9, None)])
def test_the_fewest_are_found_either_way_and_none_where_all_are_too_few(linear, least, found):
    assert fewest_passing(lambda number: number >= least, 8, linear=linear) == found


@pytest.mark.parametrize(("linear", "found"), [(False, 6), (True, 2)])
def test_one_number_after_the_other_supposes_nothing_of_larger_ones(linear, found):
    """2 passes, and so do 6 and more: halving sees 4, which does not."""
    assert fewest_passing(lambda number: number == 2 or number >= 6, 8, linear=linear) == found

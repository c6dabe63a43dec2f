"""The search for the fewest layers to keep in float, on made-up layers."""

from __future__ import annotations

from itertools import combinations

import pytest

from polycmp_locate.precision.rank.search import OutOfRuns, among, guided, in_order


class Model:
    """A model that passes if all of some layers are in float; counts its runs."""

    def __init__(self, *needed, limit=None):
        self.needed, self.runs, self.limit = frozenset(needed), 0, limit
        self.known = {}

    def passes(self, kept):
        if kept not in self.known:
            if self.limit is not None and self.runs >= self.limit:
                raise OutOfRuns
            self.runs += 1
            self.known[kept] = self.needed <= kept
        return self.known[kept]


@pytest.mark.parametrize("needed", [(), (0,), (0, 1), (2,), (0, 1, 2, 3, 4), (0, 7), (99,), (3, 50, 98)])
def test_guided_keeps_what_is_needed_and_nothing_else(needed):
    model = Model(*needed)
    found = guided(range(100), model.passes)
    assert (found.layers, found.fewest) == (frozenset(needed), True)


@pytest.mark.parametrize("needed", list(combinations(range(7), 3)))
def test_guided_finds_every_three_of_seven(needed):
    assert guided(range(7), Model(*needed).passes).layers == frozenset(needed)


@pytest.mark.parametrize(("needed", "runs"), [(1, 3), (2, 5), (4, 10), (8, 19)])
def test_guided_needs_few_runs_where_the_order_is_right(needed, runs):
    model = Model(*range(needed))
    assert guided(range(200), model.passes).layers == frozenset(range(needed))
    assert model.runs <= runs


def test_guided_begins_with_as_many_as_are_known_to_break():
    model = Model(*range(8))
    guided(range(200), model.passes, first=8)
    assert model.runs <= 8 + 3 + 2


@pytest.mark.parametrize("needed", [(), (4,), (4, 9), (4, 7, 9)])
def test_of_layers_known_to_break_a_model_those_are_kept_that_are_needed(needed):
    model = Model(*needed)
    found = among([4, 9, 7], model.passes)
    assert found is not None
    assert (found.layers, found.fewest) == (frozenset(needed), True)
    assert model.runs <= 5


def test_without_a_needed_layer_among_those_that_are_known_nothing_is_found():
    model = Model(3)
    assert among([4, 9], model.passes) is None
    assert model.runs == 1


def test_guided_says_that_not_even_all_are_enough():
    assert guided(range(10), lambda kept: False).layers is None


def test_guided_ends_with_the_best_so_far_where_no_more_runs_are_allowed():
    found = guided(range(100), Model(*range(0, 40, 2), limit=12).passes)
    assert not found.fewest
    assert found.layers is not None
    assert set(range(0, 40, 2)) <= found.layers
    assert guided(range(100), Model(99, limit=3).passes).layers is None


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("needed", "count"), [((), 0), ((0,), 1), ((4,), 5), ((2, 9), 10)])
def test_in_order_keeps_the_first(needed, count, linear):
    assert in_order(range(10), Model(*needed).passes, linear=linear).layers == frozenset(range(count))


@pytest.mark.parametrize("linear", [False, True])
def test_in_order_says_that_not_even_all_are_enough(linear):
    assert in_order(range(5), lambda kept: False, linear=linear).layers is None

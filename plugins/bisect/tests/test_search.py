"""The search alone, over every line of candidates of some lengths, with some that cannot be judged."""

from __future__ import annotations

import random

import pytest

from polycmp_bisect.search import EndError, FlakyError, Judgement, Search


class Line:
    """Candidates of which those from `turn` on are bad, and those of `broken` cannot be judged."""

    def __init__(self, count, turn, broken=(), flaky=()):
        self.count, self.turn, self.broken, self.flaky = count, turn, set(broken), set(flaky)
        self.seen = set()

    def judge(self, place, look):
        self.seen.add(place)
        if place in self.broken:
            return Judgement("skip", "it cannot be installed")
        bad = place >= self.turn
        return Judgement("bad" if bad != (place in self.flaky and look == 1) else "good", error=float(place))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 20, 36])
def test_the_first_bad_one_is_found_wherever_it_is(count):
    for turn in range(1, count):
        line = Line(count, turn)
        found = Search(line.judge).find(count - 1, None)
        assert (found.first_bad, found.last_good, found.between) == (turn, turn - 1, ())
        assert len(line.seen) <= 8


def test_with_both_ends_given_half_of_the_line_is_left_each_time():
    for turn in range(1, 33):
        line = Line(33, turn)
        found = Search(line.judge).find(32, 0)
        assert found.first_bad == turn
        assert len(line.seen) <= 2 + 5


def lines_with_gaps(share):
    rng = random.Random(3)
    for _ in range(300):
        count = rng.randint(2, 30)
        broken = {place for place in range(count - 1) if rng.random() < share}
        yield Line(count, rng.randint(1, count - 1), broken)


def test_what_cannot_be_judged_is_passed_over():
    for line in lines_with_gaps(0.2):
        if any({place, place + 1} <= line.broken for place in range(line.count)):
            continue
        whole = [place for place in range(line.count) if place not in line.broken]
        found = Search(line.judge).find(line.count - 1, None)
        assert found.first_bad == min(place for place in whole if place >= line.turn)
        good = [place for place in whole if place < line.turn]
        assert found.last_good == (max(good) if good else None)
        assert not good or set(found.between) <= line.broken


def test_what_is_said_is_so_however_many_cannot_be_judged():
    for line in lines_with_gaps(0.7):
        found = Search(line.judge).find(line.count - 1, None)
        assert found.judged[found.first_bad].state == "bad"
        if found.last_good is not None:
            assert found.judged[found.last_good].state == "good"
            assert set(found.between) <= line.broken
            assert set(range(found.last_good + 1, found.first_bad)) == set(found.between)


@pytest.mark.parametrize("oldest", [1, 5, 20, 27])
def test_old_ones_that_cannot_load_the_model_are_not_all_tried(oldest):
    for turn in range(oldest + 1, 30):
        line = Line(30, turn, range(oldest))
        found = Search(line.judge).find(29, None)
        assert (found.first_bad, found.last_good) == (turn, turn - 1)
        assert len(line.seen & line.broken) <= 6


def test_nothing_is_judged_where_the_newest_ones_cannot_be():
    line = Line(30, 0, range(30))
    with pytest.raises(EndError) as error:
        Search(line.judge).find(29, None, is_bad_named=False)
    assert (error.value.judgement.state, error.value.tried, len(line.seen)) == ("skip", 2, 2)


def test_a_last_one_that_cannot_be_judged_gives_way_to_the_one_before_unless_it_was_named():
    line = Line(5, 2, broken=[4])
    assert Search(line.judge).find(4, None, is_bad_named=False).first_bad == 2
    with pytest.raises(EndError) as error:
        Search(line.judge).find(4, None)
    assert error.value.judgement.state == "skip"


def test_a_named_end_that_is_not_what_it_was_said_to_be_is_refused():
    with pytest.raises(EndError) as error:
        Search(Line(5, 5).judge).find(4, None)
    assert (error.value.index, error.value.expected) == (4, "bad")
    with pytest.raises(EndError) as error:
        Search(Line(5, 1).judge).find(4, 2)
    assert (error.value.index, error.value.expected) == (2, "good")


def test_nothing_is_found_where_the_last_one_is_good():
    found = Search(Line(5, 5).judge).find(4, None, is_bad_named=False)
    assert (found.first_bad, found.last_good) == (None, None)


def test_the_oldest_is_named_where_all_are_bad():
    found = Search(Line(9, 0).judge).find(8, None)
    assert (found.first_bad, found.last_good) == (0, None)


@pytest.mark.parametrize("flaky", [8, 0])
def test_an_end_that_is_good_once_and_bad_another_time_is_refused(flaky):
    with pytest.raises(FlakyError) as error:
        Search(Line(9, 5, flaky=[flaky]).judge).find(8, 0)
    assert error.value.index == flaky
    assert {error.value.once.state, error.value.again.state} == {"good", "bad"}

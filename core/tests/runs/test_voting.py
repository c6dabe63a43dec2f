"""A vote: who disagrees with all others, which agree with each other."""

from __future__ import annotations

from itertools import combinations

import pytest

from polycmp.runs.voting import odd_one_out


@pytest.mark.parametrize(
    ("labels", "groups", "alone", "remark"),
    [
        ("abc", ["abc"], "", ""),
        ("abc", ["ab", "c"], "c", "the odd one out is c: a and b agree with each other"),
        ("abcd", ["acd", "b"], "b", "the odd one out is b: a and c and d agree with each other"),
        ("abc", ["a", "b", "c"], "", "no single backend is the odd one out: several pairs disagree"),
        ("abcd", ["ab", "cd"], "", "no single backend is the odd one out: several pairs disagree"),
        ("ab", ["a", "b"], "", "no single backend is the odd one out: several pairs disagree"),
        ("a", ["a"], "", ""),
    ],
)
def test_votes(labels, groups, alone, remark):
    asked = []

    def agree(one, two):
        asked.append((one, two))
        return any(one in group and two in group for group in groups)

    assert odd_one_out(labels, agree) == (alone, remark)
    assert asked == list(combinations(labels, 2))


def test_what_agrees_only_with_some_of_the_others_is_not_alone():
    assert odd_one_out("abcd", lambda one, two: {one, two} not in ({"a", "b"}, {"a", "c"}))[0] == ""

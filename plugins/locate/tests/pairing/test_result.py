"""Which tensors of two models are matched, and how many."""

from __future__ import annotations

import pytest

from polycmp_locate.pairing.result import CONVERTED_NAME, SAME_NAME, STRUCTURE, Match, Pairing


def pairing(matches, candidate, reference):
    return Pairing(tuple(matches), dict.fromkeys(candidate), dict.fromkeys(reference))


def test_what_has_no_counterpart_is_told_on_both_sides():
    """`b` and `b_codes` are one tensor of the reference."""
    matches = [Match("a", "r", SAME_NAME), Match("b", "s", STRUCTURE), Match("b_codes", "s", STRUCTURE)]
    found = pairing(matches, ["a", "b", "c"], ["q", "r", "s"])
    assert (found.unmatched_candidate, found.unmatched_reference) == (("c",), ("q",))
    assert found.to_reference == {"a": "r", "b": "s", "b_codes": "s"}
    assert (list(found.counts.items()), found.methods["a"]) == ([(STRUCTURE, 2), (SAME_NAME, 1)], SAME_NAME)


@pytest.mark.parametrize(
    ("candidate", "reference", "share"),
    [(["a", "b"], ["a", "b", "c", "d"], 1.0), (["a", "e", "f"], ["a", "b"], 0.5), (["e"], ["b"], 0.0), ([], [], 1.0)],
)
def test_the_share_is_that_of_the_side_of_which_more_is_matched(candidate, reference, share):
    matches = [Match(name, name, CONVERTED_NAME) for name in candidate if name in reference]
    assert pairing(matches, candidate, reference).share == share

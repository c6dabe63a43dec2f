"""Pairs of tensors that cross, so that parts between them would wait for each other."""

from __future__ import annotations

from polycmp_locate.pairing.parts import PartNode, _circle, _weakest
from polycmp_locate.pairing.result import GIVEN, Match


def test_a_circle_is_found_from_an_operator_that_only_reads_it():
    nodes = [PartNode("Add", made, inputs=(read,), outputs=(made,)) for made, read in ("ca", "ab", "ba")]
    assert _circle(nodes) == {"a", "b"}


def test_of_pairs_in_a_circle_the_last_that_nobody_gave_goes():
    pairs = [Match("a", "b", "by value"), Match("c", "c", "by name"), Match("d", "e", "by value")]
    assert _weakest([*pairs, Match("f", "g", GIVEN)]) == pairs[2]
    assert _weakest(pairs[1:2]) == pairs[1]

"""Outputs that one of two models has, and the other has not."""

from __future__ import annotations

import pytest

from polycmp.runs import Alone, Ends, outputs_alone


def ends(wanted, offered=None):
    return Ends(tuple(wanted), tuple(wanted if offered is None else offered))


@pytest.mark.parametrize(
    ("candidate", "reference", "to_reference", "alone"),
    [
        (ends("ab"), ends("ab"), {}, Alone((), ())),
        (ends("ab"), ends("bc"), {}, Alone(("a",), ("c",))),
        (ends("ab"), ends("xb"), {"a": "x"}, Alone((), ())),
        (ends("a"), ends("ab", "abh"), {}, Alone((), ("b",))),
        (ends("a", "ah"), ends("ah"), {}, Alone((), ())),  # a tensor inside that the user marked
        (ends("a"), ends("a", "ah"), {}, Alone((), ())),
        (ends(""), ends("a"), {}, Alone((), ("a",))),
    ],
)
def test_each_is_alone_whose_name_the_other_neither_has_nor_offers(candidate, reference, to_reference, alone):
    assert outputs_alone(candidate, reference, to_reference) == alone

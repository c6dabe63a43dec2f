"""Sentences that users read: counts with their nouns, and what follows from a number or from none."""

from __future__ import annotations

import math

import pytest

from polycmp import sentences


@pytest.mark.parametrize(
    ("number", "most", "needed"), [(1234.5, 10**6, 1300), (7, 10, 7), (99.5, 1000, 100), (11, 10, 0), (math.nan, 10, 0)]
)
def test_how_many_are_needed_has_two_digits_and_is_never_too_few(number, most, needed):
    assert sentences.rounded_up(number, most) == needed


def test_of_many_names_the_first_are_told_and_the_others_counted():
    assert sentences.listed(["a", "b", "c"], 2) == "'a', 'b' and 1 more"
    assert sentences.listed(["a", "b"], 2) == "'a', 'b'"


@pytest.mark.parametrize(
    ("iterations", "wanted", "text"),
    [
        (1, 1, "1 iteration was compared"),
        (1, 5, "1 of 5 iterations were compared"),
        (3, 0, "3 iterations were compared"),
        (3, 3, "3 iterations were compared"),
    ],
)
def test_an_interruption_says_how_far_it_came(iterations, wanted, text):
    assert sentences.finished(iterations, wanted) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (sentences.outputs_differ(1, 1), "1 of 1 output differs"),
        (sentences.outputs_differ(2, 3), "2 of 3 outputs differ"),
        (sentences.outputs_passed(1, ()), "1 output within tolerance"),
        (
            sentences.outputs_passed(2, ["ids"]),
            "2 outputs within tolerance; whole numbers that differ count as equal in 'ids'",
        ),
        (
            sentences.elements_differ(1, 3, "the worst is [0]", "atol 1"),
            "1 of 3 elements differs by more than both tolerances, the worst is [0]; atol 1 would pass",
        ),
        (
            sentences.elements_differ(2, 3, "", ""),
            "2 of 3 elements differ by more than both tolerances; no tolerance would do",
        ),
        (sentences.backends_failed(["a", "b"]), "a, b failed"),
        (sentences.backends_failed(["a"], "1 of 1 output differs"), "a failed: 1 of 1 output differs"),
    ],
)
def test_a_count_has_its_noun_and_its_verb(text, expected):
    assert text == expected


def test_nan_is_told_by_the_side_that_has_it():
    assert sentences.nan_differs(2, 0) == "NaN born: 2 in the candidate, none in the reference"
    assert sentences.nan_differs(0, 3) == "NaN lost: 3 in the reference, none in the candidate"
    assert sentences.nan_differs(2, 3) == "NaN: 2 in the candidate, 3 in the reference"


def test_numbers_that_were_made_up_come_with_the_option_that_gives_them():
    one = sentences.made_up({"k": 0.5})
    assert "k = 0.5, and this value was made up" in one
    assert one.endswith("--val-range k:[LOW,HIGH]")
    many = sentences.made_up(dict.fromkeys("abcd", 1.0))
    assert "these values were made up" in many
    assert many.endswith("--val-range a:[LOW,HIGH] b:[LOW,HIGH] c:[LOW,HIGH]")


def test_each_verdict_has_a_word_with_a_meaning_and_an_exit_status():
    words = [sentences.heading_of(verdict) for verdict in ("passed", "failed", "blind", "undecided", "error")]
    assert [sentences.MEANINGS[word].statuses for word in words] == [(0,), (1,), (3,), (3,), (3,)]
    assert set(sentences.INCONCLUSIVE) == {"blind", "undecided"}
    assert all(verdict in sentences.MARKS for verdict in ("passed", "failed", "blind", "undecided", "error"))

"""The suite's own keys of a case: which values they take, and what is said of others."""

from __future__ import annotations

import datetime

import pytest

from polycmp.errors import UsageError
from polycmp_suite.suitefile.case import Expected
from polycmp_suite.suitefile.keys import SUITE_KEYS

DAY = datetime.date(2027, 1, 31)


@pytest.mark.parametrize(
    ("key", "value", "held"),
    [
        ("name", "a case", "a case"),
        ("model", "m.onnx", ("m.onnx",)),
        ("tags", ["a", "b"], ("a", "b")),
        ("timeout", 3, 3.0),
        ("retries", 0, 0),
        ("memory", "2G", 2 << 30),
        ("memory", 4000, 4000),
        ("resources", {"trt86": 1}, {"trt86": 1.0}),
        ("expected-failure", {"reason": "bug 7"}, Expected("bug 7", "", None)),
        (
            "expected-failure",
            {"reason": "bug 7", "verdict": "error", "until": DAY},
            Expected("bug 7", "error", DAY),
        ),
    ],
)
def test_a_value_is_held_in_one_form_however_it_is_spelt(key, value, held):
    assert SUITE_KEYS[key].read(value) == held


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("name", " ", "a text is wanted"),
        ("name", 3, "a text is wanted"),
        ("tags", ["a", ""], "a list of texts is wanted"),
        ("tags", {"a": 1}, "a list of texts is wanted"),
        ("timeout", 0, "a number of seconds above 0"),
        ("timeout", float("inf"), "a number of seconds above 0"),
        ("timeout", float("nan"), "a number of seconds above 0"),
        ("timeout", True, "a number of seconds above 0"),
        ("retries", -1, "a whole number from 0"),
        ("retries", 1.5, "a whole number from 0"),
        ("retries", True, "a whole number from 0"),
        ("memory", -1, "a whole number from 0"),
        ("resources", {"trt86": 0}, "a table of amounts is wanted"),
        ("resources", ["trt86"], "a table of amounts is wanted"),
        ("matrix", [1], "a table is wanted"),
        ("expected-failure", "bug 7", "a table is wanted"),
        ("expected-failure", {"reason": " "}, "a reason is missing"),
        ("expected-failure", {"reason": "x", "untill": DAY}, "there is no key 'untill'"),
        ("expected-failure", {"reason": "x", "verdict": "passed"}, "verdict is 'failed'"),
        ("expected-failure", {"reason": "x", "until": "2027-01-31"}, "until is a date without quotes"),
        ("expected-failure", {"reason": "x", "until": datetime.datetime(2027, 1, 31)}, "until is a date"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_in_words(key, value, said):
    with pytest.raises(UsageError, match=said):
        SUITE_KEYS[key].read(value)

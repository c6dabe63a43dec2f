"""The command line of `polycmp suite`: short options, words of its own, and values that cannot be meant."""

from __future__ import annotations

import pytest
from suite_texts import HEAD, case


@pytest.mark.parametrize("words", [("-k", "two"), ("-ktwo",), ("-k=two",), ("--select", "two")])
def test_an_option_with_a_value_has_a_short_name(suite, words):
    suite.write(HEAD + case("one") + case("two"))
    assert suite("suite.toml", *words, "--list", status=0).stdout.split() == ["two"]


def test_nothing_typed_is_asking_for_help(suite):
    shown = suite(status=0).stdout
    assert "SUITE.toml|FOLDER" in shown
    assert "--changed-since" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-j", "0"), "a number from 1, or auto"),
        (("--jobs", "many"), "many"),
        (("--keep", "0"), "a number from 1"),
        (("--max-slowdown", "0"), "above zero"),
        (("--memory", "lots"), "lots"),
        (("-j",), "--jobs"),
    ],
)
def test_a_value_that_cannot_be_meant_is_wrong_usage(suite, words, said):
    suite.write(HEAD + case("one"))
    done = suite("suite.toml", *words, status=2)
    assert said in " ".join(done.stderr.split())

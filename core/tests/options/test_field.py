"""One option: words, values, and plain values of JSON and TOML, each made of the others."""

from __future__ import annotations

import pytest
from option_kinds import FIELDS

from polycmp.errors import PluginError, UsageError


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("flag", [[]], True),
        ("flag", [["no"]], False),
        ("count", [["7"]], 7),
        ("count", [["7"], ["8"]], 8),  # the last one that was typed
        ("count", [], 3),
        ("share", [["1e-3"]], 0.001),
        ("word", [["'a,b'"]], "a,b"),
        ("kind", [["b"]], "b"),
        ("names", [["a", "b"], ["c"]], ("a", "b", "c")),
        ("bare", [[]], ("*",)),
        ("bounds", [["0.5", "y:0.25", "'a:b':1"]], {"": 0.5, "y": 0.25, "a:b": 1.0}),
        ("groups", [["a", "b"], ["c"]], (("a", "b"), ("c",))),
    ],
)
def test_words_make_a_value_that_comes_back_from_its_words_and_plain_values(name, words, value):
    field = FIELDS[name]
    assert field.convert(words) == value
    assert field.convert(field.texts(value)) == value
    assert field.from_plain(field.plain(value)) == value


@pytest.mark.parametrize(
    ("name", "words", "what", "rest"),
    [
        ("count", ["x"], "'x' is not a value of 'count'", "it takes a whole number"),
        ("count", ["1.5"], "'1.5' is not a value of 'count'", "whole number"),
        ("share", ["half"], "'half' is not a value of 'share'", "it takes a number"),
        ("kind", ["c"], "'c' is not a value of 'kind'", "a, b"),
        ("word", [""], "'word' needs a value: FILE", "perhaps a shell variable is not set"),
        ("names", [], "'names' needs a value", ""),
        ("names", ["a", " "], "'names' needs a value", ""),
        ("bounds", ["y:"], "'bounds' needs a value", ""),
    ],
)
def test_other_words_are_refused_with_what_is_taken(name, words, what, rest):
    with pytest.raises(UsageError) as caught:
        FIELDS[name].convert([words])
    assert caught.value.what.startswith(what)
    assert rest in f"{caught.value.why} {caught.value.hint}"


@pytest.mark.parametrize(
    ("name", "plain", "value"),
    [
        ("count", "1_000", 1000),
        ("share", 1, 1.0),
        ("names", "x", ("x",)),
        ("names", ["x", 3], ("x", "3")),
        ("bounds", 0.5, {"": 0.5}),
        ("bounds", {"y": "1e-3"}, {"y": 0.001}),
        ("groups", [["a"], ["b", "c"]], (("a",), ("b", "c"))),
    ],
)
def test_a_run_file_may_say_it_in_several_ways(name, plain, value):
    assert FIELDS[name].from_plain(plain) == value


@pytest.mark.parametrize(("name", "plain"), [("count", 1.5), ("count", True), ("flag", 3), ("bounds", {"y": "x"})])
def test_values_of_another_kind_are_refused(name, plain):
    with pytest.raises(UsageError):
        FIELDS[name].from_plain(plain)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("names", ("a,b", "c"), "['a,b',c]"),
        ("bounds", {"": 0.5, "y": 0.25}, "[0.5,y:0.25]"),
        ("groups", (("a",), ("b", "c")), "[[a],[b,c]]"),
        ("word", "it's", "'it''s'"),
    ],
)
def test_a_value_stands_between_the_commas_of_an_instance(name, value, text):
    assert FIELDS[name].inline(value) == text


def test_a_value_that_no_text_means_names_what_its_plugin_lacks():
    with pytest.raises(PluginError, match="cannot be written down") as caught:
        FIELDS["count"].plain(object())
    assert "parse=…, format=…" in caught.value.hint


def test_what_a_field_is_for_follows_from_its_declaration():
    assert (FIELDS["word"].is_path, FIELDS["names"].is_path) == (True, False)
    assert (FIELDS["names"].several, FIELDS["word"].several) == (True, False)
    assert FIELDS["bounds"].plain_texts({"": 0.5, "y": 0.25}) == ["0.5", "y:0.25"]
    assert FIELDS["word"].code_in("x.py") == []

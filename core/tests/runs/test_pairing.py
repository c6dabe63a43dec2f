"""Inputs of several runs under the names of one, in words."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.data.input_pairs import GIVEN, ORDER, InputPairs
from polycmp.errors import UsageError
from polycmp.runs import ambiguous_inputs, check_given, renamed_input_notes, unmatched_input_notes
from polycmp.tensors import TensorMetadata


def entries(**shapes):
    made = TensorMetadata()
    for name, shape in shapes.items():
        made.add(name, np.float32, shape)
    return made


def pairs(how, *names):
    return InputPairs(dict(names), dict.fromkeys((name for name, _ in names), how))


@pytest.mark.parametrize(
    ("found", "note"),
    [
        (pairs(GIVEN, ("a", "x")), "'a' of new is fed what 'x' of old gets"),
        (
            pairs(ORDER, ("a", "x"), ("b", "y")),
            "'a' of new is fed what 'x' of old gets, 'b' what 'y' gets (which can be exchanged for each other)",
        ),
        (pairs(GIVEN, *((f"a{n}", f"x{n}") for n in range(6))), "'a3' what 'x3' gets and 2 more likewise"),
    ],
)
def test_what_is_fed_as_another_is_said_with_how_that_is_known(found, note):
    [said] = renamed_input_notes(found, "new", "old")
    assert said.endswith(note)


def test_what_only_one_has_is_said_of_each_side():
    found = InputPairs(alone=("a",), missing=tuple("vwxyz"))
    assert list(unmatched_input_notes(found, "new", "old")) == [
        "only new has the input 'a': give it what it expects",
        "only old has the inputs 'v', 'w', 'x', 'y', … (5 in all): give them what it expects",
    ]
    assert list(unmatched_input_notes(InputPairs(), "new", "old")) == []


def test_inputs_that_may_be_the_same_are_asked_for_with_the_words_to_type():
    new, old = entries(a=[4], b=[4]), entries(x=[4], y=["n"])
    error = ambiguous_inputs(
        ("new", new), ("old", old), InputPairs(alone=("a", "b"), missing=("x", "y")), "polycmp run"
    )
    assert error.what == "it is not certain which inputs of new and old are the same"
    assert "new has 'a' float32[4], 'b' float32[4], old has 'x' float32[4], 'y' float32[n]" in error.why
    assert error.hint == "polycmp run --map-input a=x b=y"


def test_inputs_that_cannot_be_the_same_are_asked_for_by_name():
    error = ambiguous_inputs(("new", entries(a=[4])), ("old", entries(x=[5])), InputPairs(alone=("a",), missing=("x",)))
    assert "none of them can be the same one" in error.why
    assert "--load-inputs FILE" in error.hint


@pytest.mark.parametrize("given", [{"a": "z"}, {"z": "a"}])
def test_a_name_that_no_model_has_is_refused(given):
    check_given({"a": "b"}, ["a", "b"])
    check_given({}, [])
    with pytest.raises(UsageError, match="no model has an input 'z'"):
        check_given(given, ["a", "b"])

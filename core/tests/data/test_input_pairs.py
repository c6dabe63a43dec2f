"""Inputs of two models paired by their names, types, shapes and readers, and left alone where that is no proof."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.data.input_pairs import FITTING, GIVEN, ORDER, READERS, WHOLE, fits, pair_inputs, renamed
from polycmp.tensors import TensorMetadata


def entries(**shapes: list[object]) -> TensorMetadata:
    """Return inputs of real numbers by name; a shape whose first element is a type has that type."""
    made = TensorMetadata()
    for name, shape in shapes.items():
        typed = isinstance(shape[0], type)
        made.add(name, shape[0] if typed else np.float32, shape[1:] if typed else shape)
    return made


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("serving_default_input_2:0", "input_2"),
        ("x:0", "x"),
        ("x.1", "x"),
        ("Input", "input"),
        ("model/x", "model_x"),
        ("l_input_ids_", "input_ids"),
        ("kwargs_mask", "mask"),
    ],
)
def test_names_that_converters_spell_otherwise_are_one(one, two):
    others = {"scale": [1, 4], "shift": [1, 4]}
    found = pair_inputs(entries(**others, **{one: [1, 4]}), entries(**{two: [1, 4]}, **others))
    assert (found.names, found.how[one]) == ({one: two}, "by the spelling")


def test_a_spelling_that_fits_two_is_no_proof():
    found = pair_inputs(entries(x_1=[4], x_2=[4]), entries(x=[4], y=[4]))
    assert (found.names, found.alone, found.missing) == ({}, ("x_1", "x_2"), ("x", "y"))


def test_what_fits_by_type_and_shape_alone_is_paired():
    mine = entries(tokens=[np.int64, 1, -1], image=["batch", 3, 8, 8], size=[1, 2])
    other = entries(a=[1, 3, 8, 8], b=[np.int32, "n", "m"], c=[1, 2])
    assert pair_inputs(mine, other).names == {"tokens": "b", "image": "a", "size": "c"}


def test_models_with_the_same_names_are_not_looked_into():
    def never():
        raise AssertionError("nobody needs to know")

    found = pair_inputs(entries(x=[4], y=[4]), entries(y=[4], x=[4], z=[4]), structure=never)
    assert (found.names, found.alone, found.missing) == ({}, (), ("z",))


def test_names_that_two_models_exchange_are_mapped_as_told():
    found = pair_inputs(entries(a=[4], b=[4]), entries(a=[4], b=[4]), {"a": "b", "b": "a"})
    assert found.names == {"a": "b", "b": "a"}


def test_given_names_may_stand_either_way_round_and_those_of_other_models_are_left_out():
    pairs = pair_inputs(entries(a=[4], b=[4]), entries(c=[4], d=[4]), {"c": "b", "a": "d", "other": "model"})
    assert (pairs.names, set(pairs.how.values())) == ({"a": "d", "b": "c"}, {GIVEN})


@pytest.mark.parametrize(
    ("alike", "names", "how"),
    [
        (lambda one, two, depth: one == two.lower(), {"a": "A", "b": "B"}, READERS),
        (lambda one, two, depth: depth < WHOLE and one == two.lower(), {"a": "A", "b": "B"}, READERS),
        (lambda one, two, depth: True, {"a": "B", "b": "A"}, ORDER),  # as they stand in the two files
        (lambda one, two, depth: False, {}, None),
        (None, {}, None),
    ],
)
def test_inputs_that_look_alike_are_told_apart_by_what_reads_them(alike, names, how):
    spelled = entries(a=[4], b=[4])
    pairs = pair_inputs(spelled, renamed(entries(q=[4], r=[4]), {"q": "B1", "r": "A2"}), structure=lambda: None)
    assert pairs.names == {"a": "A2", "b": "B1"}  # the spelling is asked before what reads them
    others = renamed(entries(q=[4], r=[4]), {"q": "x", "r": "y"})
    by_readers = None if alike is None else lambda one, two, depth: alike(one, {"x": "B", "y": "A"}[two], depth)
    pairs = pair_inputs(spelled, others, structure=lambda: by_readers)
    assert {one: {"x": "B", "y": "A"}[two] for one, two in pairs.names.items()} == names
    assert set(pairs.how.values()) == ({how} if how else set())


def test_one_that_is_left_fits_the_one_that_is_left_once_the_others_are_told_apart():
    pairs = pair_inputs(
        entries(a=[4], b=[4], c=[4]),
        entries(x=[4], y=[4], z=[4]),
        structure=lambda: lambda one, two, depth: (one, two) in {("a", "x"), ("b", "y")},
    )
    assert (pairs.names, pairs.how["c"]) == ({"a": "x", "b": "y", "c": "z"}, FITTING)


@pytest.mark.parametrize(
    ("one", "two", "fit"),
    [
        ([4], [4], True),
        ([4], ["n"], True),
        ([-1], [4], True),
        ([4], [5], False),
        ([4], [4, 1], False),
        ([np.int32, 4], [np.int64, 4], True),
        ([np.int32, 4], [4], False),
    ],
)
def test_inputs_fit_where_kinds_of_numbers_and_sizes_may_be_equal(one, two, fit):
    assert fits(entries(x=one)["x"], entries(x=two)["x"]) is fit

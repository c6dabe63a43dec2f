"""Attributes that two files give one operator otherwise."""

from __future__ import annotations

import math

import pytest

from polycmp.graph import GraphNode
from polycmp_locate.pairing.attributes import attribute_differences


def node(op, **attributes):
    return GraphNode(op, "", attributes=attributes)


def said(mine, theirs):
    return [(item.op_type, item.candidate, item.reference) for item in attribute_differences(mine, theirs)]


def test_an_attribute_in_another_type_is_compared_by_its_values():
    mine = [node("LabelEncoder", keys_int64s=[1, 3], values_int64s=[0, 1], default_int64=-1), node("Cast", to=1)]
    theirs = [node("LabelEncoder", keys_int64s=[1, 3], values_floats=[0.0, 2.0], default_float=-1.0)]
    assert said(mine, theirs) == [("LabelEncoder", "values_int64s [0, 1]", "values_floats [0.0, 2.0]")]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (node("Softmax", axis=-1), node("Softmax", axis=1)),
        (node("LeakyRelu", alpha=0.1), node("LeakyRelu", alpha=0.10000000149011612)),
        (node("LabelEncoder", default_float=math.nan), node("LabelEncoder", default_float=math.nan)),
        (node("Gemm", transB=1), node("Gemm", transB=0)),
        (node("Cast", to=10), node("Cast", to=1)),
        (node("Transpose", perm=[0, 2, 1]), node("Transpose", perm=[0, 1, 2])),
        (node("Conv", pads=[1, 1]), node("Conv")),
        (node("Conv", auto_pad="VALID"), node("Conv", auto_pad="VALID")),
    ],
    ids=lambda item: str(dict(item.attributes)),
)
def test_what_means_the_same_or_may_is_not_told(mine, theirs):
    assert said([mine], [theirs]) == []


def test_an_operator_that_a_part_has_twice_is_not_compared():
    twice = [node("Conv", pads=[1, 1]), node("Conv", pads=[0, 0])]
    assert said(twice, [node("Conv", pads=[0, 0])]) == []
    assert said([node("Conv", pads=[1, 1])], [node("Conv", pads=[0, 1])]) == [("Conv", "pads [1, 1]", "pads [0, 1]")]


def test_a_text_and_a_list_of_another_length_are_other_values():
    assert said([node("Resize", mode="linear")], [node("Resize", mode="nearest")])
    assert said([node("Pool", ends=[1, 2])], [node("Pool", ends=[1])])

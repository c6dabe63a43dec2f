"""What a search is told of its backends and operators."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from polycmp.graph import GraphNode
from polycmp_locate.setting import all_tensors, allowed_type, name_operators


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (["Conv"], "Conv 'n0'"),
        (["Conv", "Add", "Conv"], "3 operators (Add, Conv)"),
        (["Conv", "Add", "Relu"], "3 operators (Add, Conv, Relu)"),
        (["Conv", "Add", "Relu", "Tanh", "Exp"], "5 operators (Add, Conv, Exp and 2 more types)"),
    ],
)
def test_one_operator_is_named_and_several_are_counted_by_their_types(kinds, words):
    assert name_operators([GraphNode(kind, f"n{index}") for index, kind in enumerate(kinds)]) == words


@pytest.mark.parametrize(
    ("types", "coarsest"),
    [(("", ""), ""), (("", "tf32"), "tf32"), (("bfloat16", "float16"), "bfloat16"), (("float16", "tf32"), "float16")],
)
def test_the_coarsest_type_that_a_backend_may_calculate_in(types, coarsest):
    assert allowed_type(*(SimpleNamespace(result=SimpleNamespace(precision=name)) for name in types)) == coarsest


def test_what_is_no_tensor_is_not_compared():
    nodes = [GraphNode("Split", "n", outputs=("a", "s")), GraphNode("Relu", "m", outputs=("y",))]
    assert all_tensors(SimpleNamespace(nodes=nodes, opaque=frozenset({"s"}))) == ["a", "y"]

"""The result of a reduction, in words and figures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from polycmp.graph import GraphNode
from polycmp.report import Problem, Table
from polycmp_locate.reduce.parts import ModelPart
from polycmp_locate.reduce.presentation import result_of
from polycmp_locate.reduce.reduction import Reduction

GRAPH = SimpleNamespace(
    nodes=[GraphNode("Conv", f"n{index}", inputs=(f"t{index}", "w"), outputs=(f"t{index + 1}",)) for index in range(30)]
)


def part(count):
    """Return the part of the first operators, which makes five tensors."""
    return ModelPart(("t0",), tuple(f"t{index}" for index in range(1, 6)), tuple(range(count)))


@pytest.mark.parametrize(
    ("changes", "heading", "sentence", "status"),
    [
        ({}, "NO FAULT", "the whole model passes, so there is nothing to reduce", 0),
        ({"failing": part(1)}, "FOUND", "Conv 'n0' alone still fails, 1 of 30 operators, after 5 steps", 0),
        ({"failing": part(4)}, "FOUND", "4 of 30 operators still fail, after 5 steps", 0),
        (
            {"failing": part(4), "stopped": True, "steps": 1},
            "ERROR", "stopped; so far 4 of 30 operators still fail, after 1 step", 3,
        ),
        ({"failing": part(4), "problem": Problem("is wrong", "a type", "")}, "ERROR", "is wrong", 3),
    ],
)  # fmt: skip
def test_what_was_found_is_said(changes, heading, sentence, status):
    shown = result_of(Reduction(GRAPH, **{"steps": 5, **changes}))
    assert (shown.heading, shown.sentence, shown.exit_code) == (heading, sentence, status)


@pytest.mark.parametrize(("count", "rows", "title"), [(20, 20, "fails:"), (21, 20, "fails (the first 20 of 21):")])
def test_twenty_operators_are_shown_and_four_tensors_at_either_end(count, rows, title):
    shown = result_of(Reduction(GRAPH, part(count)))
    (table,) = (block for block in shown.content if isinstance(block, Table))
    assert len(table.rows) == rows
    assert table.title == f"The smallest part that {title} t0 → t1, t2, t3, t4, … (5)"


def test_the_document_has_both_parts_with_their_operators():
    reduction = Reduction(GRAPH, part(2), ModelPart(("t5",), ("t6",), (5,)), steps=7, replayed=3)
    reduction.files.append(("fails", "bad.onnx"))
    document = result_of(reduction).document
    assert [item["name"] for item in document["failing"]["operators"]] == ["n0", "n1"]
    assert document["passing"] == {
        "inputs": ["t5"],
        "outputs": ["t6"],
        "operators": [{"type": "Conv", "name": "n5", "outputs": ["t6"]}],
    }
    assert document["files"] == {"fails": "bad.onnx"}
    assert (document["steps"], document["steps_of_an_earlier_search"]) == (7, 3)

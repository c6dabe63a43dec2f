"""`python -m truth.networks`: what answers are right, which contradict each other, and which faults are planted."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from truth.networks.asking import (
    ACCUSED,
    FREE,
    NEEDLESS,
    NO_ANSWER,
    PASSED,
    RIGHT,
    TOLD,
    Said,
    contradictions,
    grade,
    is_named,
)
from truth.networks.faults import faults_of
from truth.networks.making import ANY, CLEAN, HIDDEN, RUINED, SHOWS, Case
from truth.networks.tools import TOOLS


def case(truth: str, *tensors: str) -> Case:
    return Case("net", "tool", "fault", "made.onnx", "base.onnx", truth, 0.1, 0.01, tensors)


def said(status: int, *, is_told: bool = False, named: str = "") -> Said:
    return Said(status, {0: "PASSED: 1", 1: "FAILED: 1", 3: "UNDECIDED: 1"}.get(status, "polycmp: no"), is_told, named)


@pytest.mark.parametrize(
    ("truth", "passed", "failed", "undecided"),
    [
        (CLEAN, RIGHT, ACCUSED, NEEDLESS),
        (RUINED, PASSED, RIGHT, NEEDLESS),
        (SHOWS, PASSED, RIGHT, NEEDLESS),
        (HIDDEN, RIGHT, RIGHT, FREE),
        (ANY, FREE, FREE, FREE),
    ],
)
def test_what_is_true_of_a_pair_says_which_answer_is_right(truth, passed, failed, undecided):
    assert [grade(case(truth), said(status)) for status in (0, 1, 3)] == [passed, failed, undecided]


def test_a_pass_whose_note_names_the_cause_is_counted_by_itself():
    assert grade(case(SHOWS), said(0, is_told=True)) == TOLD


def test_an_error_is_no_answer():
    assert grade(case(CLEAN), said(2)) == NO_ANSWER
    assert grade(case(SHOWS), Said(3, "ERROR: new, old failed")) == NO_ANSWER


def test_looking_inside_may_add_a_name_and_never_acquit():
    def answers(run: int, inside: int, located: int, other: int) -> dict[str, Said]:
        kept = {"run": run, "run --mark-all": inside, "locate": located, "run, other order": other}
        return {name: said(status) for name, status in kept.items()}

    assert contradictions(case(SHOWS), answers(1, 1, 1, 1)) == []
    assert contradictions(case(HIDDEN), answers(0, 1, 1, 0)) == []
    assert len(contradictions(case(CLEAN), answers(0, 1, 1, 0))) == 1
    assert len(contradictions(case(SHOWS), answers(1, 0, 1, 1))) == 1
    assert len(contradictions(case(SHOWS), answers(1, 1, 0, 1))) == 2
    assert len(contradictions(case(ANY), answers(1, 1, 1, 0))) == 1


def test_a_fault_is_named_by_its_tensor_or_in_the_sentence():
    assert is_named(case(SHOWS, "h"), said(1, named="h"))
    assert is_named(case(SHOWS, "h"), Said(1, "wrong: MatMul 'm' computes 'h'"))
    assert not is_named(case(SHOWS, "h"), said(1, named="y"))


def test_each_planted_fault_changes_one_place():
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["a"]),
        helper.make_node("LayerNormalization", ["a", "g"], ["n"], epsilon=1e-5), helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Softmax", ["r"], ["y"]),
    ]  # fmt: skip
    weights = {"w": random.standard_normal((4, 4)), "b": np.ones(4), "g": np.ones(4)}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )  # fmt: skip
    model = helper.make_model(graph)
    before = model.SerializeToString()
    found = {fault.name: fault for fault in faults_of(model)}
    places = {name: fault.tensors for name, fault in found.items()}
    assert places == {
        "weight x 1.3": ["h"], "weight x 1.02": ["h"], "bias dropped": ["a"], "epsilon 0.1": ["n"],
        "softmax axis": ["y"], "activation missing": ["r"],
    }  # fmt: skip
    assert model.SerializeToString() == before
    assert all(fault.model.SerializeToString() != before for fault in found.values())
    assert {name for tool in TOOLS for name in tool.faults} <= set(found)

"""Public issues as small models: what is written down as right is right, and no two answers are mixed up."""

from __future__ import annotations

import re

import onnx
import onnxruntime
import pytest
from packaging.version import Version

from truth.history.checking import is_right
from truth.history.issues import ISSUES
from truth.history.releases import line_of
from truth.history.replaying import grade
from truth.judge import Said

#: The first release of ONNX Runtime without any of these faults, which alone can judge what is right.
JUDGE = max(
    Version(item.partition("==")[2]) for issue in ISSUES for item in issue.good.packages if "onnxruntime==" in item
)


@pytest.mark.skipif(Version(onnxruntime.__version__) < JUDGE, reason=f"ONNX Runtime {JUDGE} is the first to judge")
@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: re.sub(r"\W+", "-", issue.name))
def test_what_is_right_is_what_a_release_without_the_fault_computes(issue):
    case = issue.make()
    onnx.checker.check_model(case.net.model)
    session = onnxruntime.InferenceSession(case.net.model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert is_right(session.run(None, dict(case.net.feed)), case.expected(), issue.tolerance)


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: re.sub(r"\W+", "-", issue.name))
def test_an_answer_names_what_the_model_has(issue):
    made = {name for node in issue.make().net.model.graph.node for name in node.output}
    assert issue.answer.at or issue.answer.says  # what a tool made has names of its own
    assert issue.bad != issue.good
    assert {name for name in issue.answer.at if "_QuantizeLinear_" not in name} <= made


def test_an_answer_is_right_only_if_it_names_the_operator():
    issue = next(item for item in ISSUES if item.name == "BitShift by 64")
    assert grade(issue, Said(1, "wrong", "wrong: BitShift 's' computes 's', 2000 instead of 0")) == ""
    assert grade(issue, Said(1, "wrong", "wrong: Cast 'f' computes 'f', 2000 instead of 0"))
    assert grade(issue, Said(0, "within rounding", "within rounding: no operator is wrong"))


def test_names_are_told_apart():
    names = [re.sub(r"\W+", "-", issue.name) for issue in ISSUES]
    assert len(set(names)) == len(names)


def test_what_every_release_says_tells_the_first_wrong_one_and_the_one_that_mended_it():
    issue = next(item for item in ISSUES if item.name == "DequantizeLinear of int8 and Reshape")
    too_new = "Failed to load model: ONNX Runtime only guarantees support for models stamped with opset 20"
    known = {"1.17.0": too_new, "1.18.0": "right", "1.23.2": "[3, 1] 0 instead of [3, 1] 1", "1.27.0": "right"}
    line = line_of(issue, known)
    assert (line.first_wrong("1.23.2"), line.mended("1.23.2")) == (("1.18.0", "1.23.2"), ("1.23.2", "1.27.0"))
    assert line.words == ("no answer from 1.17.0 on, right from 1.18.0 on, wrong from 1.23.2 on, right from 1.27.0 on")

"""Models of one operator, made from their schemas: the reference beside ONNX Runtime, and itself in float64."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from truth.operators.agreeing import difference
from truth.operators.decisions import DECISIONS, decide
from truth.operators.everything import cases, first_cases, left_out
from truth.outside.survey_loop import run_case

ort = pytest.importorskip("onnxruntime")
#: What the decisions are exact for; with other releases no more is asked than that the reference does not fail alone.
EXACT = {"onnx": "1.23.2", "onnxruntime": "1.32.0"}
IS_EXACT = all(version(package) == release for package, release in EXACT.items())
#: Products over no element end the process in ONNX Runtime.
DEADLY = "Einsum"


def disagreements(chosen):
    """Yield case, runtime and difference, or why only the reference refuses."""
    for case in chosen:
        if case.operator == DEADLY and any(array.size == 0 for array in case.feed.values()):
            continue
        own, why = run_case("onnx", case)
        wide, why_wide = run_case("onnx in float64", case)
        given, _ = run_case("onnxruntime", case)
        if own is None or wide is None:
            if given is not None:
                yield case, "onnxruntime", f"the reference refuses it: {why or why_wide}"
            continue
        if said := difference(own, wide):
            yield case, "onnx", said
        if given is not None and (said := difference(given, wide)):
            yield case, "onnxruntime", said


def check(chosen):
    found = [(case, runtime, said, decide(case, runtime, said)) for case, runtime, said in disagreements(chosen)]
    if not IS_EXACT:
        refused = [case.name for case, _, said, _ in found if "the reference refuses it" in said]
        assert not refused
        pytest.skip(f"the decisions are exact for {EXACT}")
    open_cases = [(case.name, runtime, said) for case, runtime, said, decision in found if decision is None]
    assert not open_cases
    return {decision.why for _, _, _, decision in found}


def test_the_reference_agrees_with_onnx_runtime_or_it_is_decided_who_is_right():
    """Some of each family of operators; the corpus has every operator."""
    check(first_cases(12))


@pytest.mark.corpus
def test_the_reference_agrees_over_many_cases_and_every_decision_is_still_needed():
    """Every decision on ONNX Runtime and on the reference itself stands for a disagreement that is still there."""
    seen = check(cases(120))
    decided = {decision.why for decision in DECISIONS if {"onnx", "onnxruntime"} & set(decision.runtimes)}
    assert not decided - seen, f"not seen any more, so that it can go: {decided - seen}"


@pytest.mark.corpus
def test_every_operator_is_asked_or_it_is_said_why_not():
    assert left_out() == []

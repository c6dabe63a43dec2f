"""What one run is judged to be: good, bad, or nothing that tells, and when a backend that cannot run is bad."""

from __future__ import annotations

import pytest

from polycmp_bisect.judging import CannotJudgeError, Judge

OPSET = "could not load m.onnx (only official onnx opset versions are supported. Opset 22 is under development)"
FUSED = (
    "operator LayerNormalization (node 'm/LayerNormFusion/') failed (Size of scale and bias must match X.shape[axis:])"
)
FUSED_BEFORE = (
    "operator LayerNormalization (node 'n') failed "
    "(Size of X.shape()[axis:] == 4. Size of scale and bias must match this)"
)


class Runs:
    """Runs, one after another, each of which passes, fails, is blind, or ends with an error of the candidate."""

    def __init__(self, *verdicts, failing="candidate"):
        self.verdicts, self.failing, self.document = list(verdicts), failing, None

    def __call__(self, _plan):
        verdict = self.verdicts.pop(0)
        failed = verdict not in {"passed", "failed", "blind"}
        results = {name: {"error": None, "runtime": {"median": 0.25}} for name in ("candidate", "reference")}
        if failed:
            results[self.failing] = {"error": verdict, "runtime": None}
        output = {"passed": verdict != "failed", "reason": "off", "share_of_range": 0.5, "max_error": 2.0}
        self.document = {
            "verdict": "error" if failed else verdict,
            "inference_results": results,
            "comparison_results": [] if failed else [{"outputs": {"y": output}, "reason": ""}],
        }
        return self


def states(*verdicts, **how):
    judge = Judge(Runs(*verdicts), "candidate", **how)
    return [judge.judge(None).state for _ in verdicts]


def test_what_runs_is_good_or_bad_by_its_verdict():
    assert states("passed", "failed") == ["good", "bad"]


def test_who_cannot_run_the_model_is_skipped():
    assert states("failed", OPSET, "passed") == ["bad", "skip", "good"]


def test_where_the_bad_end_cannot_run_it_who_says_the_same_is_bad_and_who_says_something_else_is_skipped():
    assert states(FUSED, FUSED_BEFORE, OPSET, "passed", named_bad=True) == ["bad", "bad", "skip", "good"]


def test_only_the_end_that_was_named_decides_that():
    assert states("failed", FUSED, named_bad=True) == ["bad", "skip"]
    assert states(FUSED, "passed") == ["skip", "good"]


def test_blind_is_good_beside_what_is_wrong_and_nothing_by_itself():
    assert states("failed", "blind") == ["bad", "good"]
    assert states("blind", "failed") == ["skip", "bad"]


def test_a_failure_of_the_reference_ends_the_search():
    judge = Judge(Runs(OPSET, failing="reference"), "candidate")
    with pytest.raises(CannotJudgeError):
        judge.judge(None)

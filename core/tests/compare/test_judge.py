"""What all compare functions share: arrays or mappings, shapes, and text."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.comparator import IterationResult
from polycmp.compare.judge import OutputJudge, compare_strings, require_metric
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.errors import ComparisonError, InvalidValueError, PolycmpError

X = np.arange(6.0).reshape(2, 3)

FUNCTIONS = ["simple", "indices", "l2", "cosine_similarity", "psnr", "snr", "ulp"]


class Equal(OutputJudge):
    """Arrays are equal."""

    def judge(self, candidate, reference, output):
        same = candidate.shape == reference.shape and bool((candidate == reference).all())
        return DetailedVerdict(same, "" if same else f"{output or 'it'} differs")


@pytest.mark.parametrize(
    ("candidate", "reference", "passed", "reason"),
    [
        (X, X.copy(), True, ""),
        (3, 3.0, True, ""),
        (X, X + 1, False, "it differs"),
        ({"y": X, "z": X}, {"z": X, "y": X + 1}, {"y": False, "z": True}, "y differs"),
        ({"y": X}, {}, {"y": False}, "the reference has no output 'y'"),
        ({}, {"y": X}, {"y": False}, "the candidate has no output 'y'"),
        ({"y": X}, {"y": X.astype(int)}, {"y": False}, "holds float64 instead of int64"),
    ],
)
def test_two_arrays_have_a_verdict_and_two_mappings_one_for_each_name(candidate, reference, passed, reason):
    verdict = Equal()(candidate, reference)
    if isinstance(passed, dict):
        assert {name: item.passed for name, item in verdict.items()} == passed
        assert verdict["y"].reason.startswith(reason)
    else:
        assert (verdict.passed, verdict.reason) == (passed, reason)


@pytest.mark.parametrize(
    ("candidate", "reference", "what"),
    [
        ("text", X, "the candidate is neither"),
        (X, [1.0], "the reference is neither"),
        ({"y": X}, X, "the candidate is neither"),
        ({"y": None}, {"y": X}, "candidate's 'y' is neither"),
        ({}, {}, "nothing would be compared"),
    ],
)
def test_anything_else_is_wrong(candidate, reference, what):
    with pytest.raises(InvalidValueError, match=what):
        Equal()(candidate, reference)


def test_rules_make_another_function_and_leave_this_one():
    plain = Equal()
    loose = plain.with_rules(check_shapes=False, fail_fast=True)
    assert loose(X.reshape(3, 2), X).passed
    assert not plain(X.reshape(3, 2), X).passed
    assert not loose(X[:1], X).passed
    both = ({"y": X + 1, "z": X}, {"y": X, "z": X})
    assert (list(loose(*both)), list(plain(*both))) == (["y"], ["y", "z"])
    assert plain.with_rules(None, None).check_shapes


def test_what_is_compared_can_be_shown():
    shown = []
    Equal().showing(lambda candidate, reference: shown.append((list(candidate), list(reference))))({"y": X}, {"y": X})
    assert shown == [(["y"], ["y"])]


def test_texts_are_compared_one_by_one_and_bytes_are_text():
    same = compare_strings(np.array(["a", "é"], object), np.array([b"a", "é".encode()], object))
    assert (same.passed, dict(same.metrics)) == (True, {"differing": 0.0})
    other = compare_strings(np.array([["a", "b"], ["c", "d"]]), np.array([["a", "B"], ["C", "d"]]))
    assert other.reason == "2 of 4 texts differ, the first at [0, 1]: 'b' instead of 'B'"
    with pytest.raises(ComparisonError, match="objects of type int, which are neither numbers nor text"):
        compare_strings(np.array([1], object), np.array([1], object))


def test_a_metric_that_is_missing_is_named_beside_those_that_are_there():
    assert require_metric({"l2": 0.5}, "l2", "y") == 0.5
    with pytest.raises(ComparisonError, match="there is no psnr of output 'y'") as caught:
        require_metric({"l2": 0.5}, "psnr", "y")
    assert "there are: l2" in caught.value.why


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_mappings_give_a_verdict_by_name(name):
    compare = getattr(CompareFunc, name)()
    a, b = IterationResult({"y": X, "z": X + 1}), IterationResult({"y": X.copy(), "z": X[::-1] + 5})
    found = compare(a, b)
    assert {output: verdict.passed for output, verdict in found.items()} == {"y": True, "z": False}


def test_an_output_of_one_side_and_another_kind_of_type_fail_by_name():
    found = CompareFunc.simple()({"y": X, "i": X}, {"i": X.astype(int), "z": X})
    assert [verdict.passed for verdict in found.values()] == [False] * 3
    assert "the reference has no output 'y'" in found["y"].reason
    assert "float is not integer" in found["i"].reason
    assert CompareFunc.simple(atol={"y": 2})({"y": X + 1}, {"y": X})["y"].passed


@pytest.mark.parametrize(
    ("candidate", "reference"),
    [("text", "text"), ([1.0], [1.0]), (None, None), ({"y": X}, X), (object(), object()), ({}, {})],
)
def test_what_is_neither_array_nor_mapping_is_refused(candidate, reference):
    with pytest.raises(ValueError, match=r"neither an array nor a mapping|neither side has an output") as caught:
        CompareFunc.simple()(candidate, reference)
    assert isinstance(caught.value, PolycmpError)

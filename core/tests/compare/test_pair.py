"""Two runs compared: which outputs belong together, and what counts as different."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from judges import simple

from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.compare.pair import PairComparer
from polycmp.errors import ComparisonError, UsageError
from polycmp.spec import Verdict

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def comparer(**more):
    return PairComparer("mine", "ref", {"simple": simple()}, **more)


def compare(candidate, reference, **more):
    pair = comparer(**more)
    pair.add(candidate, reference)
    return pair.result()


def test_equal_outputs_pass_in_any_order():
    result = compare({"a": X, "b": X + 1}, {"b": X + 1, "a": X})
    assert result.passed
    assert list(result.outputs) == ["a", "b"]
    assert result.outputs["a"].candidate_type == "float32[2,3]"


@pytest.mark.parametrize(
    ("candidate", "reference", "output", "reason"),
    [
        ({"a": X}, {"a": X, "b": X}, "b", "mine has no output 'b'"),
        ({"a": X, "b": X}, {"a": X}, "b", "ref has no output 'b'"),
        ({"a": X, "out1": X}, {"a": X, "out": X}, "out1", "ref has no output 'out1'; it has 'out', see --map-output"),
        ({"a": X, "b": X.T}, {"a": X, "b": X}, "b", "shape [3,2] instead of [2,3]"),
        ({"a": X, "b": X.astype(np.int64)}, {"a": X, "b": X}, "b", "holds int64 instead of float32"),
        ({"a": X, "b": X.astype(bool)}, {"a": X, "b": X.astype(bool).astype(np.uint8)}, "b", "bool is not integer"),
        ({"a": X, "b": X.astype(str)}, {"a": X, "b": X}, "b", "string is not float"),
    ],
)
def test_what_differs_in_kind_fails_with_its_reason(candidate, reference, output, reason):
    result = compare(candidate, reference)
    assert not result.passed
    assert result.outputs["a"].passed
    assert not result.outputs[output].passed
    assert reason in result.outputs[output].reason


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_another_width_is_mentioned_and_passes(dtype):
    item = compare({"a": X.astype(dtype)}, {"a": X}).outputs["a"]
    assert item.passed
    assert f"{np.dtype(dtype).name} compared with float32" in item.reason


def test_outputs_are_mapped_only_where_asked():
    result = compare(
        {"logits": X, "out": X + 1}, {"out": X, "boxes": X + 1}, map_output={"logits": "out", "out": "boxes"}
    )
    assert result.passed
    assert {name: item.reference_output for name, item in result.outputs.items()} == {"logits": "out", "out": "boxes"}


def test_a_name_mapped_away_leaves_its_namesake_missing():
    result = compare({"a": X}, {"a": X, "b": X}, map_output={"a": "b"})
    assert not result.passed
    assert [item.passed for item in result.outputs.values()] == [True, False]


def test_a_mapping_is_for_the_candidates_that_have_the_name():
    assert compare({"y": X}, {"y": X}, map_output={"logits": "y"}).passed
    result = compare({"logit": X}, {"y": X}, map_output={"logits": "y"})
    assert [item.reason for item in result.outputs.values()] == [
        "ref has no output 'logit'; it has 'y', see --map-output",
        "mine has no output 'logits'; it has 'logit', see --map-output",
    ]


def test_mapping_an_output_nobody_has_is_wrong_usage():
    with pytest.raises(UsageError, match="no output 'logit'") as caught:
        comparer(map_output={"logit": "y"}).add({"logits": X}, {"logits": X})
    assert "'logits'" in str(caught.value)


def test_nothing_in_common_is_said():
    pair = comparer()
    pair.add({"a": X}, {"b": X})
    result = pair.result()
    assert not result.passed
    assert result.reason == "no output in common"


def test_the_worst_iteration_is_kept():
    pair = comparer()
    for error in (0, 1, 3, 2, 0):
        pair.add({"a": X + np.float32(error)}, {"a": X})
    item = pair.result().outputs["a"]
    assert (item.iterations, item.failed_iterations, item.worst_iteration) == (5, 3, 2)
    assert item.stats.max_abs == 3


def test_unequal_iterations_fail():
    pair = comparer()
    pair.add({"a": X}, {"a": X})
    assert pair.result(1, 1).passed
    result = pair.result(1, 3)
    assert not result.passed
    assert "mine ran 1 iterations, ref 3" in result.reason
    assert not comparer().result(0, 0).passed


def test_all_functions_must_pass_and_the_reason_names_the_one_that_does_not():
    def script(candidate, reference, *, output):
        return Verdict(False, "odd")

    pair = PairComparer("mine", "ref", {"simple": simple(), "own": script})
    item = pair.add({"a": X}, {"a": X})[0]
    assert not item.passed
    assert item.reason == "own: odd"
    assert set(item.verdicts) == {"simple", "own"}


def test_shapes_may_differ_when_asked():
    assert compare({"a": X.reshape(3, 2)}, {"a": X}, shape_check=False).passed
    assert not compare({"a": X[:1]}, {"a": X}, shape_check=False).passed


@pytest.mark.parametrize("result", [KeyError("gone"), np.array([True, False])])
def test_a_function_that_breaks_is_named(result):
    def odd(candidate, reference, *, output):
        if isinstance(result, Exception):
            raise result
        return result

    with pytest.raises(ComparisonError, match="fails on output 'a'") as caught:
        PairComparer("mine", "ref", {"odd": odd}).add({"a": X}, {"a": X})
    assert caught.value.whose == "odd"


def test_a_plain_truth_value_is_a_verdict_too():
    comparer = PairComparer("mine", "ref", {"odd": lambda candidate, reference, *, output: False})
    assert comparer.add({"a": X}, {"a": X})[0].reason == "differs"


def test_a_comparison_without_a_function_is_refused():
    with pytest.raises(ValueError, match="no compare function"):
        PairComparer("mine", "ref", {})


def test_the_same_type_in_another_byte_order_is_no_remark():
    pair = PairComparer("mine", "ref", {"simple": CompareFunc.simple()})
    assert pair.add({"y": X.astype(">f4")}, {"y": X})[0].reason == ""

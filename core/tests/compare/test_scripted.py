"""Compare and post-processing functions that polycmp did not write: whatever they do, nothing passes by it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polycmp.builtin.observers.postprocess import script_postprocess
from polycmp.comparator import CompareFunc, IterationResult
from polycmp.compare.pair import PairComparer
from polycmp.compare.scripted import as_pair_function, load_compare_script
from polycmp.errors import ComparisonError, DataError, is_users_failure
from polycmp.spec import Verdict

NAN = math.nan
X = np.arange(6, dtype=np.float32).reshape(2, 3)
FUNCTIONS = ["simple", "indices", "l2", "cosine_similarity", "psnr", "snr", "ulp"]


class PanicError(BaseException):
    """What an extension written in Rust raises."""


def judge_with(function, candidate=X, reference=X):
    return PairComparer("mine", "ref", {"odd": function}).add({"y": candidate}, {"y": reference})[0]


RAISED = [SystemExit(0), PanicError("rust"), GeneratorExit(), MemoryError(), KeyError("gone")]


class TestUsersFunctions:
    """Functions that polycmp did not write."""

    @pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
    def test_whatever_one_raises_is_its_failure(self, error, tmp_path):
        def one(candidate, reference, *, output):
            raise error

        def everything(candidate, reference):
            raise error

        with pytest.raises(ComparisonError, match="fails on output 'y'") as caught:
            judge_with(one)
        assert type(error).__name__ in caught.value.why
        with pytest.raises(ComparisonError, match="the compare function failed"):
            as_pair_function(everything)({"y": X}, {"y": X})

    def test_ctrl_c_goes_through(self):
        def interrupted(candidate, reference, *, output):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            judge_with(interrupted)
        assert not is_users_failure(KeyboardInterrupt())
        assert is_users_failure(SystemExit(0))
        assert is_users_failure(PanicError())

    def test_scripts_that_exit(self, tmp_path):
        script = tmp_path / "script.py"
        script.write_text(
            "import sys\ndef postprocess_outputs(outputs):\n    sys.exit(0)\n"
            "class Compare:\n    def __init__(self):\n        sys.exit(0)\n"
        )
        with pytest.raises(DataError, match="failed"):
            script_postprocess(str(script), "postprocess_outputs")({"y": X})
        with pytest.raises(ComparisonError, match="cannot be made"):
            load_compare_script(str(script), "Compare")

    @pytest.mark.parametrize(
        "value",
        [
            *(Verdict(passed, "") for passed in ("False", 1, None, NAN, np.array([True]))),
            *(Verdict(True, "", metrics) for metrics in ({"y": "1"}, {1: 1.0}, ["y"])),
            Verdict(True, 5),
            *(NAN, 1.0, 0, 1, None, "False", [], [True], np.array(True), np.array([True, True]), np.float32(1)),
        ],
        ids=repr,
    )
    def test_only_verdicts_and_truth_values_are_taken(self, value):
        with pytest.raises(ComparisonError, match="fails on output 'y'"):
            judge_with(lambda candidate, reference, *, output: value)
        with pytest.raises(ComparisonError, match="fails on output 'y'"):
            as_pair_function(lambda candidate, reference: {"y": value})({"y": X}, {"y": X})

    @pytest.mark.parametrize(
        "value", [True, np.bool_(True), Verdict(True), Verdict(np.bool_(True), "", {"a": np.float32(1)})]
    )
    def test_verdicts_and_truth_values(self, value):
        item = judge_with(lambda candidate, reference, *, output: value)
        assert item.passed is True
        assert item.verdicts["odd"].passed is True

    def test_a_result_with_a_truth_value_of_its_own(self):
        class Result:
            def __bool__(self):
                return False

        assert not judge_with(lambda candidate, reference, *, output: Result()).passed

    def test_no_function_writes_into_what_the_next_one_judges(self):
        def forge(candidate, reference, *, output):
            candidate[...] = reference
            return True

        a = X + 1
        comparer = PairComparer("mine", "ref", {"forge": forge, "simple": CompareFunc.simple()})
        with pytest.raises(ComparisonError, match="fails on output 'y'") as caught:
            comparer.add({"y": a}, {"y": X})
        assert caught.value.whose == "forge"
        assert "read-only" in caught.value.why

        def forge_all(candidate, reference):
            candidate["y"][...] = reference["y"]
            return {"y": True}

        with pytest.raises(ComparisonError, match="compare function failed"):
            as_pair_function(forge_all)(IterationResult({"y": a}), IterationResult({"y": X}))
        np.testing.assert_array_equal(a, X + 1)

    def test_postprocessing_cannot_write_into_outputs(self, tmp_path):
        script = tmp_path / "script.py"
        script.write_text("def postprocess_outputs(outputs):\n    outputs['y'][...] = 0\n    return outputs\n")
        a = X + 1
        with pytest.raises(DataError, match="failed"):
            script_postprocess(str(script), "postprocess_outputs")({"y": a})
        np.testing.assert_array_equal(a, X + 1)

    def test_an_array_that_says_it_is_equal(self):
        class Liar(np.ndarray):
            def __eq__(self, other):
                return np.ones(self.shape, bool)

            __hash__ = None

            def __array_ufunc__(self, ufunc, method, *inputs, **more):
                return np.zeros(self.shape)

        liar = (X + 1).view(Liar)
        for name in FUNCTIONS:
            compare = getattr(CompareFunc, name)()
            assert not compare(liar, X), name
            assert not compare({"y": liar}, {"y": X})["y"], name

        def one(candidate, reference, *, output=""):
            return bool((candidate == reference).all())

        assert not judge_with(one, liar, X).passed
        everything = as_pair_function(lambda a, b: {"y": one(a["y"], b["y"])})
        assert not everything({"y": liar}, {"y": X})[0].passed

    def test_texts_that_say_they_are_equal(self):
        class Liar(str):
            def __eq__(self, other):
                return True

            def __ne__(self, other):
                return False

            def __str__(self):
                return "b"

            __hash__ = str.__hash__

        assert not CompareFunc.simple()(np.array([Liar("a")], object), np.array(["b"], object))
        with pytest.raises(ComparisonError, match="neither numbers nor text"):
            CompareFunc.simple()(np.array([None], object), np.array([None], object))

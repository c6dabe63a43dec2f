"""The contract of compare functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from polycmp.errors import PolycmpError
from polycmp.spec import Verdict
from polycmp.tensors import as_dtype, same_bits
from polycmp.testing.contract import Contract, needs

Pair = tuple[NDArray[Any], NDArray[Any]]


class CompareFuncContract(Contract):
    """Requirements on every compare function. Write the factory and `different`."""

    KNOWN_CAPABILITIES: ClassVar[Mapping[str, str]] = {
        "integer": "judges integers",
        "bool": "judges truth values",
        "string": "judges strings",
        "low_bit": "judges bfloat16 and float8",
        "empty": "judges tensors without elements",
        "scalar": "judges tensors without dimensions",
    }
    ELEMENT_TYPES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "integer": ("int8", "uint8", "int64", "uint64"),
        "bool": ("bool",),
        "low_bit": ("bfloat16", "float8_e4m3fn"),
    }

    def make_compare_func(self) -> Callable[..., Verdict]:
        """Return a new compare function."""
        raise NotImplementedError

    def equal(self) -> Pair:
        """Return a candidate and a reference that agree."""
        array = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
        return array, array.copy()

    def different(self) -> Pair:
        """Return a candidate and a reference that do not agree."""
        raise NotImplementedError

    def judge(self, candidate: NDArray[Any], reference: NDArray[Any]) -> Verdict:
        """Return the verdict of a new compare function."""
        return self.make_compare_func()(candidate, reference, output="out")

    def test_equal_outputs_pass(self) -> None:
        """Require a pass where both sides hold the same numbers, here float32 of shape (2, 3, 4)."""
        assert self.judge(*self.equal()).passed

    def test_different_outputs_fail_with_a_reason(self) -> None:
        """Require that `different` fails with a `reason`, which is what users read beside the output."""
        verdict = self.judge(*self.different())
        assert not verdict.passed
        assert verdict.reason.strip()

    def test_it_returns_a_verdict_with_named_figures(self) -> None:
        """Require a `Verdict` with a real bool in `passed`, and `metrics` of numbers by text, as reports write them."""
        for pair in (self.equal(), self.different()):
            verdict = self.judge(*pair)
            assert isinstance(verdict, Verdict)
            assert isinstance(verdict.passed, bool)
            for name, figure in verdict.metrics.items():
                assert isinstance(name, str)
                assert isinstance(float(figure), float), name

    @pytest.mark.parametrize("writeable", [False, True])
    def test_it_does_not_write_to_its_arguments(self, writeable: bool) -> None:
        """Require that neither side is written to: other compare functions judge the same arrays."""
        for pair in (self.equal(), self.different()):
            given = [array.copy() for array in pair]
            for array in given:
                array.flags.writeable = writeable  # what cannot be written shows that it tries, what can, that it does
            self.judge(*given)
            for name, array, before in zip(("candidate", "reference"), given, pair, strict=True):
                assert same_bits(array, before), f"it wrote to the {name}"

    @pytest.mark.parametrize("where", ["candidate", "reference"])
    @pytest.mark.parametrize("how_many", ["one", "all"])
    def test_nan_beside_numbers_never_passes(self, where: str, how_many: str) -> None:
        """Require that NaN on one side alone fails, or is refused with a `PolycmpError`: `nan > tolerance` is false."""
        pair = dict(zip(("candidate", "reference"), (array.copy() for array in self.equal()), strict=True))
        if pair[where].dtype.kind not in "fc":
            pytest.skip("its outputs hold no NaN")
        pair[where][... if how_many == "all" else (0,) * pair[where].ndim] = np.nan
        try:
            verdict = self.judge(**pair)
        except PolycmpError:  # a refusal in words is no pass
            return
        assert not verdict.passed, f"{how_many} of the {where}'s numbers NaN, and it passed"

    def test_it_gives_the_same_verdict_again(self) -> None:
        """Require that a verdict does not depend on the outputs that were judged before it."""
        compare = self.make_compare_func()
        first = compare(*self.different(), output="out")
        assert compare(*self.equal(), output="other").passed
        again = compare(*self.different(), output="out")
        assert (again.passed, again.reason) == (first.passed, first.reason)

    @needs("integer")
    def test_integers(self) -> None:
        """Require a pass of equal integers, signed and unsigned, of 8 and 64 bits (capability `integer`)."""
        self._same_type_passes("integer")

    @needs("bool")
    def test_truth_values(self) -> None:
        """Require a pass of equal arrays of bool, which NumPy does not subtract (capability `bool`)."""
        self._same_type_passes("bool")

    @needs("low_bit")
    def test_low_bit_types(self) -> None:
        """Require a pass of equal arrays of bfloat16 and float8 of `ml_dtypes` (capability `low_bit`)."""
        self._same_type_passes("low_bit")

    @needs("string")
    def test_strings(self) -> None:
        """Require that strings, arrays of objects, are told apart (capability `string`)."""
        assert self.judge(np.array(["a", "b"], object), np.array(["a", "b"], object)).passed
        assert not self.judge(np.array(["a", "b"], object), np.array(["a", "c"], object)).passed

    @needs("empty")
    def test_no_elements(self) -> None:
        """Require a pass of shape (0, 3), of which there is no largest error (capability `empty`)."""
        assert self.judge(np.empty((0, 3), np.float32), np.empty((0, 3), np.float32)).passed

    @needs("scalar")
    def test_no_dimensions(self) -> None:
        """Require a pass of shape (), of which nothing can be indexed by axis (capability `scalar`)."""
        assert self.judge(np.array(1, np.float32), np.array(1, np.float32)).passed

    def _same_type_passes(self, capability: str) -> None:
        for name in self.ELEMENT_TYPES[capability]:
            array = (np.arange(12) % 2 if capability == "bool" else np.arange(12)).astype(as_dtype(name))
            verdict = self.judge(array, array.copy())
            if not verdict.passed:
                pytest.fail(f"{name}: {verdict.reason}")

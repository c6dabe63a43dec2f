"""Compare functions that judge an output by one number: `l2`, `cosine_similarity`, `psnr`, `snr`.

All sums are float64. Where squares would leave float64's range the numbers are divided by a power of two first, so
neither overflow nor underflow changes a verdict. Complex numbers count as pairs of real ones.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.verdict import lost_channels
from polycmp.compare import (
    BLOCK,
    DetailedVerdict,
    OutputJudge,
    Pair,
    compare_strings,
    difference_of,
    differences,
    for_each_block,
    is_extended,
    require_metric,
    shape_reason,
    worst_reason,
)
from polycmp.options import pick
from polycmp.sentences import NO_ELEMENTS
from polycmp.tensors import dtype_class

if TYPE_CHECKING:
    from polycmp.builtin.functions.options import CosineOptions, L2Options, PsnrOptions, SnrOptions

Array = NDArray[Any]
Floats = NDArray[np.float64]

#: Squares of numbers between these neither overflow nor lose digits, however many are added.
_SAFE = (1e-140, 1e140)
#: Advice where a number for a whole output hides what is lost of it.
_OF_TASK = "judge with real inputs and a metric of the task"


@dataclass(frozen=True)
class SquareSum:
    """A sum of squares, as `value * scale**2`, which float64 could not always hold.

    Attributes:
        value: Sum of the squares of the scaled numbers.
        scale: A power of two.
        largest: Largest magnitude among the numbers, not scaled.
        count: Number of summands.
    """

    value: float
    scale: float
    largest: float
    count: int

    @property
    def norm(self) -> float:
        """The Euclidean norm."""
        return math.sqrt(self.value) * self.scale

    @property
    def log10_mean(self) -> float:
        """The decimal logarithm of the mean square; the sum must not be 0."""
        return math.log10(self.value / self.count) + 2 * math.log10(self.scale)


def _power_of_two(number: float) -> float:
    if number == 0.0 or not math.isfinite(number):
        return 1.0
    return math.ldexp(1.0, min(max(math.frexp(number)[1], -1000), 1023))


def _scale(largest: float) -> float:
    return 1.0 if largest == 0.0 or _SAFE[0] < largest < _SAFE[1] else _power_of_two(largest)


def _real_pair(candidate: Array, reference: Array) -> Pair:
    if "complex" not in {dtype_class(candidate.dtype), dtype_class(reference.dtype)}:
        return Pair(candidate, reference)
    long = is_extended(candidate.dtype) or is_extended(reference.dtype)
    whole, part = ("G", "g") if long else ("D", "d")
    reals = (np.ascontiguousarray(array, np.dtype(whole)).view(np.dtype(part)) for array in (candidate, reference))
    return Pair(*reals)


class _Accumulator:
    """Adds up, per thread, what a function of two float64 blocks returns; the last entries are maxima."""

    def __init__(self, sums: int, maxima: int) -> None:
        self.sums = np.zeros(sums)
        self.maxima = np.zeros(maxima)

    def add(self, sums: tuple[float, ...], maxima: tuple[float, ...]) -> None:
        self.sums += sums
        self.maxima = np.maximum(self.maxima, maxima)  # unlike max(), hands NaN on


def _run(
    pair: Pair, make: Callable[[_Accumulator], Callable[[Array, Array], None]], sums: int, maxima: int
) -> _Accumulator:
    parts: list[_Accumulator] = []

    def worker() -> Callable[[Array, Array, int], None]:
        parts.append(_Accumulator(sums, maxima))
        work = make(parts[-1])
        return lambda candidate, reference, _offset: work(candidate, reference)

    for_each_block(pair, worker)
    total = parts[0]
    for part in parts[1:]:
        total.add(tuple(part.sums), tuple(part.maxima))
    return total


def _scaled(once: Callable[[tuple[float, float]], _Accumulator]) -> tuple[_Accumulator, tuple[float, float]]:
    """Return sums over two arrays divided by scales of their own where squares would leave float64, and the scales."""
    total = once((1.0, 1.0))
    scales = _scale(total.maxima[0]), _scale(total.maxima[1])
    return (total if scales == (1.0, 1.0) else once(scales)), scales


def _product(one: Floats, two: Floats) -> float:
    # einsum stays in this thread; BLAS would start threads of its own for every block
    return float(np.einsum("i,i->", one, two))


def square_sums(candidate: Array, reference: Array) -> tuple[SquareSum, SquareSum]:
    """Return the sums of squares of the difference and of the reference."""
    error, signal = _square_sums(candidate, reference)
    if math.isinf(error.largest) and _is_finite(candidate) and _is_finite(reference):
        # The difference of two finite numbers is beyond float64: that of their quarters is not.
        quarters = (array / array.dtype.type(4) for array in (candidate, reference))
        error = _square_sums(*quarters)[0]
        error = replace(error, value=16 * error.value)
    return error, signal


def _is_finite(array: Array) -> bool:
    pair = Pair(array, array)
    return all(bool(np.isfinite(pair.candidate[key]).all()) for key, _ in pair.cuts())


def _square_sums(candidate: Array, reference: Array) -> tuple[SquareSum, SquareSum]:
    pair = _real_pair(candidate, reference)
    make_difference = difference_of(pair.candidate.dtype, pair.reference.dtype)

    def once(scales: tuple[float, float]) -> _Accumulator:
        def make(total: _Accumulator) -> Callable[[Array, Array], None]:
            difference = make_difference()

            def work(a: Array, b: Array) -> None:
                errors, magnitudes = difference(a, b)
                largest = float(errors.max()), float(magnitudes.max())
                for values, scale in zip((errors, magnitudes), scales, strict=True):
                    if scale != 1.0:
                        np.divide(values, scale, out=values)
                total.add((_product(errors, errors), _product(magnitudes, magnitudes)), largest)

            return work

        return _run(pair, make, 2, 2)

    total, scales = _scaled(once)
    error, signal = (SquareSum(float(total.sums[i]), scales[i], float(total.maxima[i]), pair.size) for i in range(2))
    return error, signal


def _normalised(array: Array) -> Array:
    """Return an array of a type longer than float64 divided by a power of two, so that float64 holds its numbers."""
    if not is_extended(array.dtype):
        return array
    largest = np.abs(array).max()
    if largest == 0 or not np.isfinite(largest):
        return array
    return np.asarray(array / np.ldexp(np.longdouble(1), np.frexp(largest)[1]))


def cosine(candidate: Array, reference: Array) -> float:
    """Return the cosine of the angle between two arrays as vectors; 1 if both are zero, 0 if only one is."""
    pair = _real_pair(_normalised(candidate), _normalised(reference))

    def once(scales: tuple[float, float]) -> _Accumulator:
        def make(total: _Accumulator) -> Callable[[Array, Array], None]:
            buffers = np.empty((2, BLOCK))

            def work(a: Array, b: Array) -> None:
                vectors = []
                for buffer, block, scale in zip(buffers, (a, b), scales, strict=True):
                    vector = buffer[: block.size]
                    np.copyto(vector.reshape(block.shape), block, casting="unsafe")
                    vectors.append(np.divide(vector, scale, out=vector) if scale != 1.0 else vector)
                left, right = vectors
                ends = tuple(
                    float(max(vector.max(), -vector.min())) * s for vector, s in zip(vectors, scales, strict=True)
                )
                total.add((_product(left, right), _product(left, left), _product(right, right)), ends)

            return work

        return _run(pair, make, 3, 2)

    total, _ = _scaled(once)
    dot, left, right = total.sums
    if not (math.isfinite(left) and math.isfinite(right)):
        return math.nan
    if left == 0.0 or right == 0.0:
        return 1.0 if left == right else 0.0
    return float(np.clip(dot / (math.sqrt(left) * math.sqrt(right)), -1.0, 1.0))


def l2_norm(candidate: Array, reference: Array) -> float:
    """Return the Euclidean norm of the difference; it grows with the tensor's size."""
    return square_sums(candidate, reference)[0].norm


def signal_to_noise(candidate: Array, reference: Array) -> float:
    """Return `10 log10(mean(reference²) / mean(difference²))` in dB; infinite if nothing differs."""
    noise, signal = square_sums(candidate, reference)
    if noise.value == 0.0:
        return math.inf
    if signal.value == 0.0:
        return -math.inf
    return 10 * (signal.log10_mean - noise.log10_mean)


def peak_signal_to_noise(candidate: Array, reference: Array) -> float:
    """Return `20 log10(max|reference|) - 10 log10(mean(difference²))` in dB; infinite if nothing differs."""
    noise, signal = square_sums(candidate, reference)
    if noise.value == 0.0:
        return math.inf
    if signal.largest == 0.0:
        return -math.inf
    return 20 * math.log10(signal.largest) - 10 * noise.log10_mean


@dataclass(frozen=True)
class Norm(OutputJudge):
    """Judge an output by one number.

    Args:
        options: The threshold that the number is compared with.

    Attributes:
        metric: The number's name.
        default: The threshold where none is given.
        at_most: Whether the number must not exceed the threshold, rather than not fall short of it.
        unit: The number's unit.
    """

    options: L2Options | CosineOptions | PsnrOptions | SnrOptions
    metric: ClassVar[str]
    default: ClassVar[float]
    at_most: ClassVar[bool] = False
    unit: ClassVar[str] = ""

    def judge(self, candidate: Array, reference: Array, output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        a, b = candidate, reference
        threshold = pick(self.options.threshold, output, self.default)
        tolerance = {"threshold": threshold}
        if a.shape != b.shape:
            return DetailedVerdict(False, shape_reason(a, b), tolerance=tolerance)
        if "string" in {dtype_class(a.dtype), dtype_class(b.dtype)}:
            return compare_strings(a, b)
        if a.size == 0:
            return DetailedVerdict(True, NO_ELEMENTS, tolerance=tolerance)
        verdict = self.judge_metrics({self.metric: self._compute(a, b)}, output=output)
        lost = lost_channels(a, b)
        if verdict.passed:
            undecided = replace(verdict, passed=False, inconclusive="undecided", reason=f"{lost}: {_OF_TASK}")
            return undecided if lost else verdict
        stats = differences(a, b)
        worst = worst_reason(stats.worst) if stats.worst else ""
        return replace(verdict, reason="; ".join(filter(None, (verdict.reason, worst, lost))), stats=stats)

    def judge_metrics(self, metrics: Mapping[str, float], *, output: str = "") -> DetailedVerdict:
        """Return the verdict on a number that was computed before.

        Args:
            metrics: The number under its name.
            output: The output's name, for a threshold of its own.

        Raises:
            ComparisonError: The number is not among the metrics.
        """
        value = require_metric(metrics, self.metric, output)
        threshold = pick(self.options.threshold, output, self.default)
        passed = value <= threshold if self.at_most else value >= threshold
        reason = "" if passed else self._reason(value, threshold)
        return DetailedVerdict(passed, reason, {self.metric: value}, None, {"threshold": threshold})

    @abstractmethod
    def _compute(self, candidate: Array, reference: Array) -> float:
        """Return the number."""

    def _reason(self, value: float, threshold: float) -> str:
        name = self.metric.replace("_", " ")
        if math.isnan(value):
            return f"{name} is not defined: NaN or infinity on a side"
        bound = "at most" if self.at_most else "at least"
        return f"{name} is {value:.7g}{self.unit} ({bound} {threshold:g}{self.unit} allowed)"


class L2(Norm):
    """The Euclidean norm of the difference, not divided by the size."""

    metric = "l2"
    default: ClassVar[float] = 1e-5
    at_most: ClassVar[bool] = True

    def _compute(self, candidate: Array, reference: Array) -> float:
        return l2_norm(candidate, reference)


class CosineSimilarity(Norm):
    """The cosine of the angle between both outputs."""

    ignores: ClassVar[frozenset[str]] = frozenset({"halved", "larger"})
    metric = "cosine_similarity"
    default: ClassVar[float] = 0.997

    def _compute(self, candidate: Array, reference: Array) -> float:
        return cosine(candidate, reference)


class Psnr(Norm):
    """The peak signal-to-noise ratio; the peak is the largest magnitude in the reference."""

    ignores: ClassVar[frozenset[str]] = frozenset({"larger"})
    metric = "psnr"
    default: ClassVar[float] = 30.0
    unit: ClassVar[str] = " dB"

    def _compute(self, candidate: Array, reference: Array) -> float:
        return peak_signal_to_noise(candidate, reference)


class Snr(Norm):
    """The signal-to-noise ratio; the signal is the reference."""

    ignores: ClassVar[frozenset[str]] = frozenset({"larger"})
    metric = "snr"
    default: ClassVar[float] = 20.0
    unit: ClassVar[str] = " dB"

    def _compute(self, candidate: Array, reference: Array) -> float:
        return signal_to_noise(candidate, reference)

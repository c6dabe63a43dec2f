"""Error that quantising made in a tensor by itself: rounding, or more: a wrong scale, a range that clips it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp_locate.rounding.figures import dot

#: The factor between a quantised result and the exact one may be off from 1 by this. Errors of rounding have both
#: signs, so it is near 1: measured on MiniLM, products of 8-bit numbers are off by at most 0.006 and single tensors by
#: 0.022 (a Gelu, most of whose values are a few steps from 0), with weights in steps for a tensor as a whole.
_GAIN = 2.0**-5
#: A range may leave out a few numbers, which then lose up to this share of the largest magnitude; a calibration by
#: percentiles does so on purpose. Measured on MiniLM, calibrated with 8 random texts: at most 10 %.
_CLIPPED_BY = 0.25
#: The share of elements that it may leave out. Measured on MiniLM, calibrated with 8 random texts: at most 0.1 %.
_CLIPPED = 2.0**-6
#: A channel is shifted if its numbers are off by this share of the largest on average, and by `_MEASURED` times what
#: rounding to steps was measured to do: rounding has both signs, and biases are kept in 32 bits (choice). Measured on
#: small networks, without a fault: at most 0.0014 from 16 numbers on; where a bias of 3 % was dropped: 0.022. Likewise
#: the errors of all numbers are too large on average (root mean square) beyond both.
_SHIFT = 2.0**-6
#: Numbers of a channel below which chance looks like a shift.
_FEW = 16
#: Numbers beside masks are lost where their error is this share of them, root mean square (choice). Steps for a mask
#: alone leave 0 of them, which is 1.
_DROWNED = 0.5
#: So many times what rounding to 8 bits was measured to do to a part may its error be (choice): twice for files of 7
#: bits, twice for chance. Measured without a fault, on parts of packages' models and of small networks quantised by
#: ONNX Runtime: its error at most 1.6 times, its factor's distance from 1 2.3 times, its channels' means 2.1 times.
_MEASURED = 4.0
#: A scale is taken for wrong if it is off by less than this factor (choice).
_LEAST = 2.0**-12


@dataclass(frozen=True)
class StepError:
    """The error of a tensor that was rounded to steps, beside its largest.

    Attributes:
        gain: By which factor its numbers are the reference's, in the least squares; 1 for a tensor of zeros.
        beyond: Share of its elements that are off by more than rounding to steps explains.
        unexplained: Share that would still be off if the factor were removed.
        largest: Largest error, divided by the largest magnitude of the reference.
        low: Smallest number.
        high: Largest number.
        at_ends: Share of those elements that are the smallest or the largest number in place of one beyond it.
        drowned: Magnitude of the numbers beside masks that vanish in steps made for the masks; 0 if there are none.
        is_cut_in_reading: Whether ranges cut off what is read, and it is right by what they leave.
        within_step: Whether all are at most one step of the scale away, and that is no large share of the largest.
        gain_limit: Distance of the factor from 1 that rounding explains.
        shift: By which share of the reference's largest number those of a channel are off on average, at most, if that
            is no chance.
        shift_limit: Largest shift that rounding explains; infinite if it was not measured.
        rms: Root of the mean square of its errors, as a share of the largest number.
        rms_limit: The same that rounding explains; infinite if it was not measured, or a calibration chose the steps.
    """

    gain: float
    beyond: float
    unexplained: float
    largest: float
    low: float
    high: float
    at_ends: float = 0.0
    drowned: float = 0.0
    is_cut_in_reading: bool = False
    within_step: bool = False
    gain_limit: float = _GAIN
    shift: float = 0.0
    shift_limit: float = np.inf
    rms: float = 0.0
    rms_limit: float = np.inf

    @property
    def is_scaled(self) -> bool:
        """Whether its numbers are another's times a factor; a few steps have any factor that rounding gives them."""
        return not (abs(self.gain - 1.0) <= self.gain_limit or self.within_step)

    @property
    def is_only_scaled(self) -> bool:
        """Whether the factor is all there is to it; one beyond any mistake in a scale is that of a clipped mask."""
        return self.is_scaled and self.unexplained <= _CLIPPED and _LEAST < abs(self.gain) < 1.0 / _LEAST

    @property
    def has_outliers(self) -> bool:
        """Whether more of it is off, or a number by more, than a calibration that leaves numbers out explains."""
        return self.beyond > _CLIPPED or (self.beyond > 0.0 and self.largest > _CLIPPED_BY)

    @property
    def is_clipped(self) -> bool:
        """Whether numbers are cut off at the ends of a range, and no more: what that loses the outputs show."""
        whole = not (self.is_scaled or self.is_shifted or self.drowned)
        return self.is_cut_in_reading or (whole and self.beyond > 0.0 and self.at_ends == 1.0)

    @property
    def is_shifted(self) -> bool:
        """Whether all numbers of a channel moved alike, as a missing bias moves them."""
        return self.shift > self.shift_limit

    @property
    def is_noisy(self) -> bool:
        """Whether its errors are larger on average than rounding to steps was measured to make them."""
        return self.rms > self.rms_limit

    @property
    def is_rounding(self) -> bool:
        """Whether rounding to steps explains it."""
        is_in_range = not (self.is_clipped or self.has_outliers)
        return is_in_range and not (self.is_scaled or self.is_shifted or self.is_noisy or self.drowned)

    @property
    def is_doubtful(self) -> bool:
        """Whether what rounding does has to be measured before anything is said."""
        return not self.is_rounding or max(self.shift, self.rms) > _SHIFT


def step_error(
    actual: NDArray[Any],
    expected: NDArray[Any],
    limit: float,
    beside: NDArray[np.bool_] | None = None,
    least: float = 0.0,
    step: float = 0.0,
    measured: Iterable[NDArray[Any]] = (),
    *,
    calibrated: bool = False,
) -> StepError:
    """Return the error of a tensor of real numbers.

    Args:
        actual: The candidate's tensor.
        expected: The reference's, of the same shape.
        limit: Largest error that rounding to steps explains, relative to the largest magnitude.
        beside: Mask of the numbers of the flat reference that are beside others that only mask; None if none is.
        least: The least magnitude to hold errors against: that of what was calculated before it was cut.
        step: The step of the scale to which the candidate's were rounded last; 0 if that is not known.
        measured: The reference's tensor with rounding alone, where that was tried, but for that last step.
        calibrated: Whether the part rounds to steps that a calibration made, which may end before the numbers do and be
            coarser than these need: that makes more on average than was measured.
    """
    a, b = actual.reshape(-1).astype(np.float64), expected.reshape(-1).astype(np.float64)
    if beside is not None:
        beside = beside & np.isfinite(b)
    drowned = 0.0 if beside is None else _drowned(a[beside], b[beside])
    known = np.isfinite(a) & np.isfinite(b)
    unlike = int(np.count_nonzero(np.isfinite(a) != np.isfinite(b)))
    a, b = a[known], b[known]
    largest = float(np.abs(b).max(initial=0.0))
    if not largest:
        share = float(np.count_nonzero(a)) / max(actual.size, 1)
        return StepError(1.0, share, share, np.inf if share else 0.0, *_range(a))
    one = min(step / largest, _CLIPPED_BY)  # where little of the range is in use, one step is much
    limit = max(limit * max(1.0, least / largest), one)
    allowed, shift_limit, rms_limit, noise = _GAIN, np.inf, np.inf, 0.0
    for array in measured:
        rounded = _to_steps(array.astype(np.float64), one * largest)
        flat = rounded.reshape(-1)[known]
        if np.isfinite(flat).all():
            least_shift = _SHIFT if np.isinf(shift_limit) else shift_limit
            shift_limit = max(least_shift, _MEASURED * _shift(rounded, expected))
            limit = max(limit, _MEASURED * float(np.abs(flat - b).max()) / largest)
            allowed = max(allowed, _MEASURED * abs(_gain(flat, b) - 1.0))
            away = (flat - b) / largest
            noise = max(noise, math.sqrt(dot(away, away) / away.size))
            rms_limit = np.inf if calibrated else max(_SHIFT, _MEASURED * noise)
    # What independent errors of that size have in common with the numbers by chance, where these are few.
    allowed = max(allowed, _MEASURED * noise / math.sqrt(dot(b / largest, b / largest)))
    gap = np.abs(a - b) / largest
    off = gap > limit
    beyond = (int(np.count_nonzero(off)) + unlike) / actual.size
    low, high = _range(a)
    clipped = off & (((a == low) & (b < a)) | ((a == high) & (b > a)))
    inside = ~clipped  # what was cut off tells nothing of the factor
    gain = _gain(a[inside], b[inside]) if b[inside].any() else _gain(a, b)
    error_without_gain = np.abs(a / gain - b) / largest if gain else gap
    share = (int(np.count_nonzero(error_without_gain > limit)) + unlike) / actual.size
    at_ends = int(np.count_nonzero(clipped)) / max(int(np.count_nonzero(off)), 1)
    worst = np.inf if unlike else float(gap.max())
    rms = math.sqrt(dot(gap, gap) / gap.size) if gap.size else 0.0
    return StepError(
        gain, beyond, share, worst, low, high, at_ends, drowned, False, worst <= one, allowed,
        _shift(actual, expected, _MEASURED * noise), shift_limit, rms, rms_limit,
    )  # fmt: skip


def _to_steps(values: NDArray[Any], step: float) -> NDArray[Any]:
    """Return numbers as multiples of a step; as they are if it is 0."""
    return np.rint(values / step) * step if step > 0.0 else values


def _gain(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return by which factor numbers are others, in the least squares."""
    largest = np.abs(expected).max()
    scaled = expected / largest
    return dot(actual / largest, scaled) / dot(scaled, scaled)


def _shift(actual: NDArray[Any], expected: NDArray[Any], noise: float = 0.0) -> float:
    """Return by which share of the largest number those of a channel are off on average, at most; 0 for few numbers.

    Numbers at the ends of a range may be clipped, and do not count.

    Args:
        actual: A tensor; its channels are along the second or the last dimension.
        expected: The one to believe, of the same shape.
        noise: Share of the largest number by which independent errors may take a number away; a channel whose mean
            they may take as far does not count.
    """
    largest = float(np.abs(expected).max(initial=0.0, where=np.isfinite(expected)))
    if actual.ndim < 2 or not largest:
        return 0.0
    with np.errstate(all="ignore"):
        error = actual.astype(np.float64) - expected
    inside = np.isfinite(error) & (actual > actual.min()) & (actual < actual.max())
    error[~inside] = 0.0
    largest_shift = 0.0
    for axis in {1, actual.ndim - 1}:
        around = tuple(place for place in range(actual.ndim) if place != axis)
        count = np.count_nonzero(inside, axis=around)
        many = np.maximum(count, 1)
        mean = np.abs(error.sum(axis=around)) / many
        counts = (count >= _FEW) & (mean > noise * largest / np.sqrt(many))
        largest_shift = max(largest_shift, float(mean[counts].max(initial=0.0)))
    return largest_shift / largest


def _drowned(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return the largest magnitude of the reference's numbers if next to nothing is left of them, else 0."""
    size = np.abs(expected).max(initial=0.0)
    with np.errstate(all="ignore"):
        error, signal = np.mean(((actual - expected) / size) ** 2), np.mean((expected / size) ** 2)
    return 0.0 if error <= _DROWNED**2 * signal else float(size)


def _range(values: NDArray[Any]) -> tuple[float, float]:
    return float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))

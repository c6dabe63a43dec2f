"""What quantising did to a tensor by itself: rounding, or more than that: a wrong scale, a range that clips it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The factor between a quantised result and the exact one may be off from 1 by this. Errors of rounding have both
#: signs, so it is near 1: measured on MiniLM, products of 8-bit numbers are off by at most 0.006 and single tensors by
#: 0.022 (a Gelu, most of whose values are a few steps from 0), with weights in steps for a tensor as a whole.
_GAIN = 2.0**-5
#: The share of elements that the range of a scale may leave out, which a calibration by percentiles does on purpose.
#: Measured on MiniLM, calibrated with 8 random texts: at most 0.1 %.
_CLIPPED = 2.0**-6
#: However few elements a range leaves out, they may lose this share of the largest magnitude. Measured as above: 10 %.
_LOST = 0.25
#: Numbers beside masks are lost where their error is this share of them, root mean square (choice). Steps for a mask
#: alone leave 0 of them, which is 1.
_DROWNED = 0.5
#: A scale is taken for wrong if it is off by less than this factor (choice).
_LEAST = 2.0**-12


@dataclass(frozen=True)
class StepError:
    """The error of a tensor that was rounded to steps, beside its largest.

    Attributes:
        gain: By which factor its numbers are the reference's, in the least squares; 1 for a tensor of zeros.
        beyond: Which share of its elements is off by more than rounding to steps explains.
        left: Which share would still be if the factor were taken back.
        largest: Its largest error, over the largest magnitude of the reference.
        low: Its smallest number.
        high: Its largest.
        at_ends: Which share of the elements that are off so far is at the smallest or the largest number.
        drowned: How large the numbers are that steps made for masks beside them leave nothing of; 0 if there are none.
        within_step: Whether all are at most one step of the scale away, and that is no large share of the largest.
    """

    gain: float
    beyond: float
    left: float
    largest: float
    low: float
    high: float
    at_ends: float = 0.0
    drowned: float = 0.0
    within_step: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether its numbers are another's times a factor; a few steps have any factor that rounding gives them."""
        return not (abs(self.gain - 1.0) <= _GAIN or self.within_step)

    @property
    def is_only_scaled(self) -> bool:
        """Whether the factor is all there is to it; one beyond any mistake in a scale is that of a clipped mask."""
        return self.is_scaled and self.left <= _CLIPPED and _LEAST < abs(self.gain) < 1.0 / _LEAST

    @property
    def is_clipped(self) -> bool:
        """Whether more of it was clipped than a calibration may leave out."""
        return self.beyond > _CLIPPED or (self.beyond > 0.0 and self.largest > _LOST)

    @property
    def is_rounding(self) -> bool:
        """Whether rounding to steps explains it."""
        return not (self.is_scaled or self.is_clipped or self.drowned)


def step_error(
    own: NDArray[Any],
    other: NDArray[Any],
    limit: float,
    beside: NDArray[np.bool_] | None = None,
    least: float = 0.0,
    step: float = 0.0,
) -> StepError:
    """Return the error of a tensor of real numbers.

    Args:
        own: The candidate's tensor.
        other: The reference's, of the same shape.
        limit: Which error, relative to the largest magnitude, rounding to steps explains.
        beside: Which numbers of the flat reference stand beside others that only mask; None if none does.
        least: The least magnitude to hold errors against: that of what was calculated before it was cut.
        step: The step of the scale to which the candidate's were rounded last; 0 if that is not known.
    """
    a, b = own.reshape(-1).astype(np.float64), other.reshape(-1).astype(np.float64)
    drowned = 0.0 if beside is None else _drowned(a[beside], b[beside])
    known = np.isfinite(a) & np.isfinite(b)
    unlike = int(np.count_nonzero(np.isfinite(a) != np.isfinite(b)))
    a, b = a[known], b[known]
    largest = float(np.abs(b).max(initial=0.0))
    if not largest:
        share = float(np.count_nonzero(a)) / max(own.size, 1)
        return StepError(1.0, share, share, np.inf if share else 0.0, *_range(a))
    one = min(step / largest, _LOST)  # where little of the range is in use, one step is much
    limit = max(limit * max(1.0, least / largest), one)
    gap = np.abs(a - b) / largest
    off = gap > limit
    beyond = (int(np.count_nonzero(off)) + unlike) / own.size
    scaled = b / largest
    gain = float((a / largest) @ scaled / (scaled @ scaled))
    left = np.abs(a / gain - b) / largest if gain else gap
    share = (int(np.count_nonzero(left > limit)) + unlike) / own.size
    low, high = _range(a)
    ends = int(np.count_nonzero(off & ((a == low) | (a == high)))) / max(int(np.count_nonzero(off)), 1)
    worst = np.inf if unlike else float(gap.max())
    return StepError(gain, beyond, share, worst, low, high, ends, drowned, worst <= one)


def _drowned(own: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the largest magnitude of the reference's numbers if next to nothing is left of them, else 0."""
    size = np.abs(other).max(initial=0.0)
    with np.errstate(all="ignore"):
        error, signal = np.mean(((own - other) / size) ** 2), np.mean((other / size) ** 2)
    return 0.0 if error <= _DROWNED**2 * signal else float(size)


def _range(values: NDArray[Any]) -> tuple[float, float]:
    return float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))

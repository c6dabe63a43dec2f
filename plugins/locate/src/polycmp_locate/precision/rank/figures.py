"""Figures of tensors in a smaller type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from polycmp.tensors import whole_limits
from polycmp_locate.pairing.codes import Quantisation
from polycmp_locate.precision.rank.result import Codes, Powers

#: Beyond this a number is no measurement but a mask, such as the lowest float32 in attention.
MASK = 1e8


def ratio_db(expected: Any, candidate: Any) -> float:
    """Return the signal-to-noise ratio in dB: 10 log10 of the sum of squares over that of the error.

    It is infinite for equal tensors, and minus infinity where numbers became infinite or NaN. Masks do not count.

    Args:
        expected: The reference's tensor.
        candidate: The candidate's tensor, of the same shape.
    """
    signal, noise = _signal_and_noise(expected, candidate)
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal and math.isfinite(noise) else -math.inf


def powers(expected: Any, alone: Any) -> Powers:
    """Return the sums of squares of a tensor and of its layer's error.

    Args:
        expected: The reference's tensor.
        alone: Output of the layer alone on the reference's tensors.
    """
    return Powers(*_signal_and_noise(expected, alone))


def noise(expected: Any, arrived: Any) -> float:
    """Return the sum of squares of the error of a tensor as it comes through the reduced model.

    Args:
        expected: The reference's tensor.
        arrived: The tensor as it comes through the reduced model.
    """
    return _signal_and_noise(expected, arrived)[1]


def _signal_and_noise(expected: Any, candidate: Any) -> tuple[float, float]:
    with np.errstate(all="ignore"):
        wide, other = np.asarray(expected).astype(np.float64), np.asarray(candidate).astype(np.float64)
        counted = np.isfinite(wide) & (np.abs(wide) < MASK)
        wide, other = wide[counted], other[counted]
        noise = float(np.square(other - wide).sum())
    return float(np.square(wide).sum()), noise if math.isfinite(noise) else math.inf


def float_codes(array: Any, dtype: Any, tensor: str) -> Codes:
    """Measure the fit of a tensor to a smaller floating-point type.

    Args:
        array: The tensor, finer than the type.
        dtype: The type.
        tensor: Name of the tensor.
    """
    from ml_dtypes import finfo

    info = finfo(dtype)
    with np.errstate(all="ignore"):
        sizes = np.abs(np.asarray(array).astype(np.float64)).ravel()
        sizes = sizes[np.isfinite(sizes) & (sizes < MASK)]
        count = max(sizes.size, 1)
        beyond = np.count_nonzero(sizes > float(info.max)) / count
        vanished = np.count_nonzero((sizes > 0) & (sizes <= float(info.smallest_subnormal) / 2)) / count
    return Codes(np.dtype(dtype).name, tensor, beyond, vanished)


def integer_codes(array: Any, steps: Quantisation, tensor: str) -> Codes:
    """Measure the fit of a tensor to the codes of a quantised type.

    Args:
        array: The tensor.
        steps: The scale and the code of 0.
        tensor: Name of the tensor.
    """
    low, high = whole_limits(steps.dtype)
    free = steps.places(array)
    cut = np.clip(free, low, high)
    count = max(cut.size, 1)
    return Codes(
        steps.dtype.name,
        tensor,
        np.count_nonzero(np.abs(free - cut) > 0.5) / count,
        np.count_nonzero((cut == steps.zero_places(cut.ndim)) & (array != 0)) / count,
        float(cut.max() - cut.min()) / (high - low) if cut.size else 0.0,
    )


def dynamic_steps(array: Any) -> Quantisation:
    """Return step and code of 0 that DynamicQuantizeLinear chooses for a tensor, as ONNX defines it."""
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    scale = (high - low) / 255 or 1.0
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return Quantisation(np.asarray(scale, np.float32), np.asarray(zero, np.uint8))


def steps_apart(expected: Any, codes: Any) -> tuple[float, float]:
    """Return the shares of codes that are one apart, and further apart."""
    apart = np.abs(np.asarray(expected).astype(np.float64) - np.asarray(codes).astype(np.float64))
    count = max(apart.size, 1)
    return np.count_nonzero(apart == 1) / count, np.count_nonzero((apart > 1) | np.isnan(apart)) / count


def float_order(array: Any, dtype: Any) -> Any:
    """Return numbers of a small floating-point type as whole numbers in the same order, neighbours one apart.

    Args:
        array: Numbers.
        dtype: A type of 16 bits, to which they are rounded.
    """
    with np.errstate(all="ignore"):
        bits = np.ascontiguousarray(np.asarray(array).astype(dtype)).view(np.int16).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def peak_channel(array: Any) -> tuple[int, float, float] | None:
    """Return the last axis's most extreme index, its largest magnitude, and that of the median index; None if flat."""
    if array.ndim < 2 or array.shape[-1] < 4 or not array.size:
        return None
    with np.errstate(all="ignore"):
        tops = np.abs(np.where(np.isfinite(array), array, 0).astype(np.float64)).reshape(-1, array.shape[-1]).max(0)
    tops = np.where(tops < MASK, tops, 0)
    worst = int(tops.argmax())
    return worst, float(tops[worst]), float(np.median(tops))

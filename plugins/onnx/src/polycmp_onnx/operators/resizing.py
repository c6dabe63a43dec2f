"""Resize and Pad, by ONNX's specification of them."""
# ruff: noqa: N801

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

#: Which of the two elements around a position is the nearest.
_NEAREST: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


class Resize_19(OpRun):  # type: ignore[misc]
    """Resize; ONNX's takes input size times scale for the length of the output, also where that is no whole number."""

    def _run(self, x: Any, roi: Any = None, scales: Any = None, sizes: Any = None, **how: Any) -> tuple[Any]:
        return (resize(x, roi, scales, sizes, **how),)


def resize(
    x: Any,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    *,
    axes: Any = None,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    **how: Any,
) -> Any:
    """Return an array of another size, one axis after the other, for the interpolation of each is independent.

    Args:
        x: The array.
        roi: Inputs and attributes of the operator, like all that follows.
        scales: An input.
        sizes: An input.
        axes: An attribute.
        keep_aspect_ratio_policy: An attribute.
        mode: An attribute.
        how: Attributes that `_resized` takes.
    """
    chosen = [axis % x.ndim for axis in (range(x.ndim) if axes is None else axes)]
    lengths = np.array([x.shape[axis] for axis in chosen])
    factors, lengths_out = _factors(lengths, scales, sizes, keep_aspect_ratio_policy)
    by_sizes = sizes is not None and bool(np.size(sizes))
    region = None if roi is None or not np.size(roi) else np.reshape(roi, (2, len(chosen)))
    result = x
    for place, axis in enumerate(chosen):
        ends = (0.0, 1.0) if region is None else (float(region[0, place]), float(region[1, place]))
        if lengths_out[place] == lengths[place] and factors[place] == 1 and ends == (0.0, 1.0):
            continue
        scale, length = float(factors[place]), int(lengths_out[place])
        ratio = scale == length / lengths[place]
        result = _resized(result, axis, scale, length, ends, mode, is_ratio=by_sizes and ratio, **how)
    if result.dtype != x.dtype and x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        result = np.rint(result).clip(limits.min, limits.max)
    return result.astype(x.dtype, copy=False)


def _factors(lengths: Any, scales: Any, sizes: Any, policy: str) -> tuple[Any, Any]:
    """Return the scale of each axis that is resized, and its new length."""
    if sizes is None or not np.size(sizes):
        # In float32, as ONNX infers shapes: 0.7 times 10 are 7 there, and less in float64.
        lengths_out = np.floor(np.asarray(scales, np.float32) * lengths.astype(np.float32)).astype(np.int64)
        return np.asarray(scales, np.float64), lengths_out
    factors = np.asarray(sizes) / np.maximum(lengths, 1)
    if policy == "stretch":
        return factors, np.asarray(sizes)
    factor = factors.min() if policy == "not_larger" else factors.max()
    return np.full(len(lengths), factor), np.floor(factor * lengths + 0.5).astype(np.int64)


def _resized(
    data: Any,
    axis: int,
    scale: float,
    length: int,
    ends: tuple[float, float],
    mode: str,
    *,
    is_ratio: bool = False,
    coordinate_transformation_mode: str = "half_pixel",
    nearest_mode: str = "round_prefer_floor",
    antialias: int = 0,
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
) -> Any:
    """Resize one axis.

    Args:
        data: The array.
        axis: The axis.
        scale: By which factor.
        length: The new length.
        ends: Start and end of the region of interest, as shares of the old length.
        mode: Name of the interpolation.
        is_ratio: Whether the factor is the ratio of both lengths.
        coordinate_transformation_mode: As of the operator, like what follows.
        nearest_mode: Which of two elements is the nearest.
        antialias: Whether the kernel grows where the axis shrinks.
        cubic_coeff_a: The cubic kernel's coefficient.
        exclude_outside: Whether elements outside weigh nothing.
        extrapolation_value: Value of what lies outside the region.
    """
    old = data.shape[axis]
    # In float32, as scales are and as runtimes do: half-way between two elements another type takes the other one. Of
    # two sizes what is half-way is known exactly.
    is_exact = is_ratio and nearest_mode.startswith("round")
    kind = np.float32 if mode == "nearest" and not is_exact else np.float64
    at = _positions(coordinate_transformation_mode, old, length, scale, ends, kind, is_exact=is_exact)
    if mode == "nearest":
        if antialias:
            raise NotImplementedError("antialias of mode nearest")
        places = _NEAREST[nearest_mode](at).astype(np.int64)
        result = np.take(data, places.clip(0, old - 1), axis)
    else:
        places, weights = _kernel(at, mode, scale if antialias and scale < 1 else 1.0, cubic_coeff_a)
        if exclude_outside:
            weights = np.where((places < 0) | (places >= old), 0.0, weights)
            weights /= weights.sum(axis=1, keepdims=True)
        around = np.moveaxis(data, axis, -1).astype(np.float64, copy=False)[..., places.clip(0, old - 1)]
        result = np.moveaxis((around * weights).sum(axis=-1), -1, axis)
    if coordinate_transformation_mode == "tf_crop_and_resize":
        outside = ((at < 0) | (at > old - 1)).reshape([-1 if place == axis else 1 for place in range(data.ndim)])
        result = np.where(outside, np.asarray(extrapolation_value, result.dtype), result)
    return result


def _positions(
    mode: str, old: int, length: int, scale: float, ends: Sequence[float], kind: Any, *, is_exact: bool
) -> Any:
    """Return where in the old axis each element of the new one lies, calculated in a type; by the lengths if exact."""
    new, scale = np.arange(length, dtype=kind), kind(scale)

    def stretched(places: Any) -> Any:
        return places * old / length if is_exact else places / scale

    if mode == "half_pixel":
        return stretched(new + 0.5) - 0.5
    if mode == "half_pixel_symmetric":
        return old / 2 * (1 - length / (scale * old)) + (new + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return stretched(new + 0.5) - 0.5 if length > 1 else np.zeros(length)
    if mode == "align_corners":
        return new * (old - 1) / (length - 1) if length > 1 else np.zeros(length)
    if mode == "asymmetric":
        return stretched(new)
    if mode == "tf_crop_and_resize":
        start, end = ends
        if length > 1:
            return start * (old - 1) + new * (end - start) * (old - 1) / (length - 1)
        return np.full(length, 0.5 * (start + end) * (old - 1))
    raise NotImplementedError(f"coordinate_transformation_mode {mode!r}")


def _kernel(at: Any, mode: str, scale: float, coefficient: float) -> tuple[Any, Any]:
    """Return which elements of the old axis make each of the new one, and their weights.

    Args:
        at: Positions in the old axis.
        mode: `linear` or `cubic`.
        scale: By which the distances shrink, as the kernel grows by its inverse.
        coefficient: The cubic kernel's.
    """
    if mode not in {"linear", "cubic"}:
        raise NotImplementedError(f"mode {mode!r}")
    left = np.ceil(at) - 1  # an element at the very place is the right one of two
    first = int(np.floor((-1 if mode == "linear" else -2) / scale)) + 1
    offsets = np.arange(first, 2 - first)
    distances = np.abs(offsets - (at - left)[:, None]) * scale
    if mode == "linear":
        weights = (1 - distances).clip(0)
    else:
        far = np.where(distances < 2, cubic_far(distances, coefficient), 0.0)
        weights = np.where(distances <= 1, cubic_near(distances, coefficient), far)
    if scale != 1:
        weights /= weights.sum(axis=1, keepdims=True)
    return (left[:, None] + offsets).astype(np.int64), weights


def cubic_near(d: Any, a: float) -> Any:
    """Return the cubic kernel of a coefficient at distances of at most 1."""
    return ((a + 2) * d - (a + 3)) * d * d + 1


def cubic_far(d: Any, a: float) -> Any:
    """Return the cubic kernel of a coefficient at distances from 1 to 2."""
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


class Pad_18(OpRun):  # type: ignore[misc]
    """Pad; ONNX's refuses negative pads, which take elements away."""

    def _run(
        self, data: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str = "constant", **_: Any
    ) -> tuple[Any]:
        chosen = range(data.ndim) if axes is None else np.asarray(axes).tolist()
        return (_padded(data, pads, [axis % data.ndim for axis in chosen], mode, value),)


class Pad_2(OpRun):  # type: ignore[misc]
    """Pad up to opset 10, with attributes."""

    def _run(self, data: Any, *, pads: Any = None, value: float = 0.0, mode: str = "constant", **_: Any) -> tuple[Any]:
        return (_padded(data, pads, range(data.ndim), mode, value),)


def _padded(data: Any, pads: Any, axes: Sequence[int], mode: str, value: Any) -> Any:
    """Return an array with elements added at its ends, or taken away.

    Args:
        data: The array.
        pads: Numbers of elements at the beginning of each axis, then those at the end; negative to take them away.
        axes: The axes.
        mode: What to add: `constant`, `edge`, `reflect` or `wrap`.
        value: The constant; None for 0.
    """
    widths = np.zeros((data.ndim, 2), np.int64)
    widths[list(axes)] = np.reshape(pads, (2, len(axes))).T
    crops = (-widths).clip(0)
    cropped = data[tuple(slice(low, size - high) for size, (low, high) in zip(data.shape, crops, strict=True))]
    filling = {"constant_values": 0 if value is None else np.reshape(value, ())} if mode == "constant" else {}
    pad: Any = np.pad
    return pad(cropped, widths.clip(0), mode=mode, **filling).astype(data.dtype, copy=False)

"""Whether two answers to one case agree, in words where they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

#: Relative to the largest number of a tensor; a reference in float64 beside a runtime's own type.
_SHARE = {"float64": 1e-5, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
#: Below this a number is as good as 0, where that is what is right.
_LEAST = 1e-7


def difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Return in words how outputs differ from those wanted, by more than rounding; empty if they do not.

    Args:
        found: What a runtime gives.
        wanted: What the reference gives, real numbers in float64.
    """
    for name, value in wanted.items():
        # PyTorch's functions give fewer outputs than an operator has.
        if name in found and (said := _between(found[name], value)):
            return f"{name}: {said}"
    return ""


def _between(found: Any, wanted: Any) -> str:
    if isinstance(found, (list, tuple)) or isinstance(wanted, (list, tuple)):
        return _between_lists(found, wanted)
    a, b = np.asarray(found), np.asarray(wanted)
    if a.shape != b.shape:
        return f"shape {list(a.shape)} for {list(b.shape)}"
    if _is_real(a) != _is_real(b) or (not _is_real(a) and _kind(a) != _kind(b)):
        return f"type {a.dtype} for {b.dtype}"
    if not a.size:
        return ""
    if not _is_real(a):
        with np.errstate(invalid="ignore"):
            other = a != b
            if a.dtype.name.startswith("float"):  # codes of 8 bits, where NaN is NaN
                other &= ~(np.isnan(a.astype(np.float32)) & np.isnan(b.astype(np.float32)))
        wrong = np.flatnonzero(other.reshape(-1))
        return _worst(a, b, int(wrong[0])) if wrong.size else ""
    return _between_reals(a, b)


def _between_lists(found: Any, wanted: Any) -> str:
    if not isinstance(found, (list, tuple)) or not isinstance(wanted, (list, tuple)) or len(found) != len(wanted):
        return "another sequence"
    return next((said for a, b in zip(found, wanted, strict=True) if (said := _between(a, b))), "")


def _kind(array: np.ndarray[Any, Any]) -> str:
    return "text" if array.dtype.kind in "OUS" else array.dtype.name


def _is_real(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.name in _SHARE


def _between_reals(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> str:
    share = _SHARE[a.dtype.name]
    with np.errstate(all="ignore"):
        x, y = a.astype(np.float64), b.astype(a.dtype).astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        near = np.abs(x - y)
        finite = np.isfinite(x) & np.isfinite(y)
        scale = np.abs(y[finite]).max(initial=0)
        # Each number by itself in tensors that mix large and small ones, else by the largest.
        bound = share * np.maximum(np.abs(y), min(scale, 1.0)) + _LEAST
        wrong = np.flatnonzero(~(same | (finite & (near <= bound))).reshape(-1))
    if not wrong.size:
        return ""
    worst = wrong[np.argmax(np.nan_to_num(near.reshape(-1)[wrong], nan=np.inf))]
    return _worst(a, b, int(worst)) + (f", {wrong.size} of {a.size}" if a.size > 1 else "")


def _worst(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], at: int) -> str:
    x, y = a.reshape(-1)[at], b.reshape(-1)[at]
    shown = [f"{value:.6g}" if _is_real(np.asarray(value)) else str(value) for value in (x, y)]
    return f"{shown[0]} for {shown[1]}"

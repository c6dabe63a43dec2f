"""Trials of which values that leave the tensors of a module were frozen by an export."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.tensors import to_numpy
from polycmp_torch.recording import EscapedValue, Recording
from polycmp_torch.values import is_near

#: Runs the module again: with the same or with other inputs, and other values in place of some that leave the tensors.
Replay = Callable[[bool, Mapping[int, Any]], Recording]
_SHOWN = 40


def frozen_values(replay: Replay, module_value: Any, exported_value: Any) -> Iterator[str]:
    """Yield the values of example inputs that an export froze to constants.

    A value is confirmed if the module, with another value in its place, reproduces the export. Where the other value
    is not known, a value that changes with the inputs is named.

    Args:
        replay: Runs the module again.
        module_value: The first tensor that is different, as the module makes it.
        exported_value: The same as the export makes it.
    """
    module_array = to_numpy(module_value).astype(np.float64)
    exported_array = to_numpy(exported_value).astype(np.float64)
    escaped = replay(False, {}).escaped
    for place, item in enumerate(escaped):
        for value in _others(item, module_array, exported_array):
            if any(is_near(tensor, exported_array) for tensor in replay(False, {place: value}).tensors):
                yield _confirmed(item, value)
                return
    for item, other in zip(escaped, replay(True, {}).escaped, strict=False):
        if item.line == other.line and not np.array_equal(np.asarray(item.value), np.asarray(other.value)):
            yield (
                f"a value leaves the tensors in {item.line}: {_short(item.value)} here, {_short(other.value)} with "
                "other inputs; an export keeps that of its example inputs for all inputs"
            )


def _confirmed(item: EscapedValue, value: Any) -> str:
    if item.kind == "way":
        return (
            f"values of tensors decide which way the module goes in {item.line}: {item.value} here, and going the "
            "other way it makes exactly what the export makes: an export holds the way of its example inputs only; use "
            "torch.where or torch.cond"
        )
    return (
        f"a number leaves the tensors in {item.line}: {_short(item.value)} here, and with {_short(value)} the module "
        "makes exactly what the export makes: it keeps the number of its example inputs; calculate with tensors"
    )


def _others(item: EscapedValue, module_array: Any, exported_array: Any) -> Sequence[Any]:
    """Return values that may have been in place of one when the model was exported."""
    if item.kind == "way":
        return (not item.value,)
    if item.kind != "number" or module_array.shape != exported_array.shape:
        return ()
    with np.errstate(all="ignore"):
        ratios = (exported_array / module_array)[
            (module_array != 0.0) & np.isfinite(module_array) & np.isfinite(exported_array)
        ]
    ratio = float(np.median(ratios)) if ratios.size else 1.0
    shift = float(np.median(exported_array - module_array)) if module_array.size else 0.0
    value = float(item.value)
    tried = [value * ratio, value / ratio if ratio else value, value + shift, value - shift]
    whole = isinstance(item.value, int)
    return [round(number) if whole else number for number in tried if np.isfinite(number)]


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

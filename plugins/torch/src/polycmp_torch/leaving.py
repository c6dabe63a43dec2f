"""Values that leave the tensors of a module: which of them an export kept from its example inputs, by trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.tensors import to_numpy
from polycmp_torch.recording import Left, Recording

#: Runs the module again: with the same or with other inputs, and other values in place of some that leave the tensors.
Replay = Callable[[bool, Mapping[int, Any]], Recording]
_NEAR = 1e-4
_SHOWN = 40


def kept_values(replay: Replay, own: Any, made: Any) -> Iterator[str]:
    """Yield the values of example inputs that an export kept as constants.

    A value is confirmed where the module, with another value in its place, makes exactly what the export makes. Where
    the other value is not known, it is told that it changes with the inputs.

    Args:
        replay: Runs the module again.
        own: The first tensor that is different, as the module makes it.
        made: The same as the export makes it.
    """
    mine, wanted = to_numpy(own).astype(np.float64), to_numpy(made).astype(np.float64)
    left = replay(False, {}).left
    for place, item in enumerate(left):
        for value in _others(item, mine, wanted):
            if any(_near(tensor, wanted) for tensor in replay(False, {place: value}).made):
                yield _confirmed(item, value)
                return
    for item, other in zip(left, replay(True, {}).left, strict=False):
        if item.line == other.line and not np.array_equal(np.asarray(item.value), np.asarray(other.value)):
            yield (
                f"a value leaves the tensors in {item.line}: {_short(item.value)} here, {_short(other.value)} with "
                "other inputs; an export keeps that of its example inputs for all inputs"
            )


def _confirmed(item: Left, value: Any) -> str:
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


def _others(item: Left, own: Any, wanted: Any) -> Sequence[Any]:
    """Return values that may have been in place of one when the model was exported."""
    if item.kind == "way":
        return (not item.value,)
    if item.kind != "number" or own.shape != wanted.shape:
        return ()
    with np.errstate(all="ignore"):
        ratios = (wanted / own)[(own != 0.0) & np.isfinite(own) & np.isfinite(wanted)]
    ratio = float(np.median(ratios)) if ratios.size else 1.0
    shift = float(np.median(wanted - own)) if own.size else 0.0
    value = float(item.value)
    tried = [value * ratio, value / ratio if ratio else value, value + shift, value - shift]
    whole = isinstance(item.value, int)
    return [round(number) if whole else number for number in tried if np.isfinite(number)]


def _near(tensor: Any, wanted: Any) -> bool:
    array = to_numpy(tensor).astype(np.float64)
    if array.shape != wanted.shape or not np.isfinite(wanted).all():
        return False
    return bool(np.max(np.abs(array - wanted), initial=0.0) <= _NEAR * max(np.max(np.abs(wanted), initial=0.0), 1e-30))


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = " ".join(str(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

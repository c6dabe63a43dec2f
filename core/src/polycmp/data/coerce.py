"""Making a feed fit a model's inputs, and saying so where that changes anything."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import DataError, did_you_mean
from polycmp.tensors import (
    TensorEntry,
    TensorMetadata,
    dtype_class,
    dtype_name,
    dtype_of,
    format_shape,
    native,
    to_numpy,
)

_LOG = logging.getLogger("polycmp.data")


def coerce_feed(feed: Mapping[str, Any], inputs: TensorMetadata, owner: str) -> dict[str, Any]:
    """Return one array per input of a model, but those of its optional inputs that are left empty.

    Names must be equal. An array of another element type is converted, with a warning, if its values survive that;
    shapes are never changed. Arrays that fit are handed on as they are, on the device that they are on.

    Args:
        feed: Arrays by name: NumPy, torch, or anything with DLPack.
        inputs: The inputs that the model declares.
        owner: Name of the model, for messages.

    Raises:
        DataError: An input has no data, or its data does not fit.
    """
    extra = [name for name in feed if name not in inputs]
    if extra:
        _LOG.debug("%s: not an input, left out: %s", owner, ", ".join(extra))
    wanted = {name: entry for name, entry in inputs.items() if name in feed or not entry.optional}
    return {name: _fit(name, entry, feed, extra, owner) for name, entry in wanted.items()}


def _fit(name: str, entry: TensorEntry, feed: Mapping[str, Any], extra: list[str], owner: str) -> Any:
    if name not in feed:
        from difflib import get_close_matches  # not needed but for slips

        closest = next(iter(get_close_matches(name, extra, n=1)), extra[0] if len(extra) == 1 else "GIVEN")
        raise DataError(
            f"no data for input {name!r}",
            whose=owner,
            why=did_you_mean(name, extra or feed),
            hint=f"name arrays as the inputs, or say which is meant: --map-input {shlex.join([f'{closest}={name}'])}",
        )
    value = feed[name]
    if isinstance(value, int) and not isinstance(value, bool):
        return value  # the address of memory on a device: its giver vouches for it
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        value = np.from_dlpack(value) if hasattr(value, "__dlpack__") else to_numpy(value)
    if isinstance(value, np.ma.MaskedArray):
        value = _unmasked(name, value, owner)
    if not entry.accepts_shape(value.shape):
        raise DataError(
            f"input {name!r} has shape {format_shape(value.shape)}, the model wants {format_shape(entry.shape)}",
            whose=owner,
        )
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        value = value.astype(object)  # text of fixed width: the same values in the form that models take
    if isinstance(value, np.ndarray):
        value = native(value)
    if entry.dtype is None or dtype_of(value) == entry.dtype:
        return value
    return _convert(name, to_numpy(value), entry.dtype, owner)


def _unmasked(name: str, value: Any, owner: str) -> NDArray[Any]:
    try:
        return to_numpy(value)
    except DataError as error:
        raise DataError(f"input {name!r}: {error.what}", whose=owner, hint=error.hint) from error


def _convert(name: str, value: NDArray[Any], dtype: np.dtype[Any], owner: str) -> NDArray[Any]:
    have, want = dtype_name(dtype_of(value)), dtype_name(dtype)
    kinds = dtype_class(value.dtype), dtype_class(dtype)
    if "string" in kinds or (kinds[0] == "complex" != kinds[1]):
        raise DataError(f"input {name!r} holds {have}, the model wants {want}", whose=owner)
    with np.errstate(all="ignore"):
        converted = value.astype(dtype)
    lost = _lost(value, converted)
    if lost:
        raise DataError(
            f"input {name!r} holds {have}, the model wants {want}, and {lost}",
            whose=owner,
            hint=f"convert the data yourself, or limit its range: --val-range {name}:[LOW,HIGH]",
        )
    _warn_once(f"{owner}: input {name!r} holds {have}, converted to the {want} that the model wants")
    return converted


def _lost(value: NDArray[Any], converted: NDArray[Any]) -> str:
    """Return in words what did not survive, or nothing; losing digits of a real number is no loss."""
    if value.size == 0:
        return ""
    wrong = ~_same(value, converted)
    if dtype_class(converted.dtype) in {"float", "complex"}:
        wrong &= ~np.isfinite(_as_float(converted))
    if not wrong.any():
        return ""
    first = value.reshape(-1)[int(wrong.reshape(-1).argmax())]
    return f"{int(np.count_nonzero(wrong))} values do not fit it, the first is {first}"


def _as_float(value: NDArray[Any]) -> NDArray[Any]:
    return value if value.dtype.kind in "fciub" else value.astype(np.float64)


def _same(value: NDArray[Any], converted: NDArray[Any]) -> NDArray[np.bool_]:
    one, two = _as_float(value), _as_float(converted)
    return np.asarray((one == two) | (np.isnan(one) & np.isnan(two)))


@cache
def _warn_once(text: str) -> None:
    _LOG.warning("%s", text)

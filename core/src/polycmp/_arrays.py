"""Tensors on their way between the core and a backend: read-only inputs, outputs that are arrays."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError, DataError
from polycmp.tensors import dtype_name, is_low_bit, native

#: Attributes of which an array that is not NumPy's has one: the ways to get at its numbers.
_INTERFACES = ("detach", "numpy", "__dlpack__", "__array__", "__cuda_array_interface__")
#: Kinds of element types that tensors have; those of ml_dtypes come in addition.
_KINDS = frozenset("biufcOUS")
#: Message of NumPy on writing to read-only memory.
_REFUSALS = ("is read-only", "WRITEABLE flag")


def read_only(array: Any) -> Any:
    """Return a NumPy array as a view that cannot be written through, nor be made writable; anything else as it is."""
    if not isinstance(array, np.ndarray):
        return array
    plain = np.asarray(array)
    # A buffer has no format for types that NumPy lacks, but for integers of the same width.
    bits = plain.view(f"u{plain.itemsize}") if is_low_bit(plain.dtype) else plain
    # The base of a view of an array is that array, whose owner can make it writable; a buffer stays read-only.
    return np.asarray(memoryview(cast("Any", bits)).toreadonly()).view(plain.dtype)


def copied(array: Any) -> Any:
    """Return an array in memory of its own; one on a device that is no torch tensor belongs to its maker."""
    if isinstance(array, np.ndarray):
        return np.array(array)
    if isinstance(array, (list, tuple)):
        return copy.deepcopy(array)
    return array.detach().clone() if hasattr(array, "detach") and hasattr(array, "clone") else array


def refuses_to_write(error: BaseException) -> bool:
    """Return whether NumPy raised this because code wrote to an array that is read-only."""
    return isinstance(error, ValueError) and any(text in str(error) for text in _REFUSALS)


def flattened(outputs: Mapping[Any, Any], *, masks: bool = True) -> Iterator[tuple[Any, Any]]:
    """Yield names and values; what is nested is called `name.0`, `name.key`.

    A list of mappings from the same keys to single numbers, as classifiers return it, is one array for each key; a
    table is one for each column. What a masked array hides is not compared, but where it does: its mask is `name.mask`.

    Args:
        outputs: Arrays by name, or lists, mappings and tables of such.
        masks: Whether to take masked arrays apart.
    """
    for name, value in outputs.items():
        if type(value) is np.ndarray:  # nearly always
            yield name, value
        elif isinstance(value, Mapping):
            yield from flattened({f"{name}.{key}": item for key, item in value.items()}, masks=masks)
        elif isinstance(value, (list, tuple)) and any(map(_is_array_or_holds_some, value)):
            parts = _by_key(value) or dict(enumerate(value))
            yield from flattened({f"{name}.{part}": item for part, item in parts.items()}, masks=masks)
        elif hasattr(value, "__dataframe__"):
            yield from flattened({f"{name}.{key}": item for key, item in columns(value).items()}, masks=masks)
        elif masks and isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            yield name, value.filled("" if value.dtype.kind in "OSU" else value.dtype.type(0))
            yield f"{name}.mask", np.ma.getmaskarray(value)
        else:
            yield name, value


def _is_array_or_holds_some(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_array_or_holds_some, value))
    return isinstance(value, Mapping) or (hasattr(value, "shape") and hasattr(value, "dtype"))


def _by_key(items: Sequence[Any]) -> dict[Any, NDArray[Any]]:
    """Return what mappings of the same keys hold, as one array for each key; empty if they are something else."""
    if not all(isinstance(item, Mapping) and item.keys() == items[0].keys() for item in items):
        return {}
    if any(hasattr(value, "shape") and value.shape for item in items for value in item.values()):
        return {}
    return {key: np.asarray([item[key] for item in items]) for key in items[0]}


def columns(table: Any) -> dict[Any, Any]:
    """Return the columns of a table of pandas, Polars or PyArrow by name.

    Raises:
        DataError: Several have one name.
    """
    names = list(getattr(table, "column_names", None) or table.columns)
    if len(set(names)) < len(names):
        raise DataError("several columns of a table have one name", why=f"they are {', '.join(map(str, names))}")
    return {name: table[name].to_numpy() for name in names}


def checked_outputs(outputs: Any, whose: str) -> dict[str, Any]:
    """Return a backend's outputs as plain arrays in the byte order of this machine; arrays on devices as they are.

    Args:
        outputs: Outputs by name, as the backend returned them: anything with the array protocol, and lists and
            mappings of such, which become several outputs.
        whose: The backend, for messages.

    Raises:
        BackendError: These are not arrays by name, or elements are of a type that no tensor has.
    """
    if not isinstance(outputs, Mapping):
        raise BackendError(f"returned {type(outputs).__name__} instead of a dict of arrays by output name", whose=whose)
    checked: dict[str, Any] = {}
    for name, value in flattened(outputs):
        if not isinstance(name, str):
            raise BackendError(f"returned an output with the name {name!r}, which is no text", whose=whose)
        if name in checked:
            raise BackendError(f"returned two outputs that are called {name!r}, one of them as a part", whose=whose)
        checked[name] = _checked(name, value, whose)
    return checked


def _checked(name: str, value: Any, whose: str) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(name, np.asarray(value), whose)
    is_array = hasattr(value, "dtype") and hasattr(value, "shape")
    if is_array and any(hasattr(value, interface) for interface in _INTERFACES):
        return value
    kind = "None" if value is None else f"{_article(type(value).__name__)} {type(value).__name__}"
    raise BackendError(
        f"returned {kind} where an array is wanted, as output {name!r}",
        whose=whose,
        hint="the backend's infer_impl() has to return arrays: numpy.asarray(value, dtype)",
    )


def _plain(name: str, array: NDArray[Any], whose: str) -> NDArray[Any]:
    dtype = array.dtype
    if dtype.kind not in _KINDS and not is_low_bit(dtype):
        raise BackendError(f"returned elements of type {dtype}, which no tensor has, as output {name!r}", whose=whose)
    if dtype.kind == "O":
        return _texts(name, array, whose)
    return native(array)


def _texts(name: str, array: NDArray[Any], whose: str) -> NDArray[Any]:
    """Return an array of objects whose elements are text; an object of another kind may claim to equal everything."""
    items = array.reshape(-1).tolist()
    strange = [type(item).__name__ for item in items if not isinstance(item, (str, bytes))]
    if strange:
        raise BackendError(
            f"returned an array of objects that holds {_article(strange[0])} {strange[0]}, as output {name!r}",
            whose=whose,
            why="only text is compared as objects",
        )
    if all(type(item) in (str, bytes) for item in items):
        return array
    plain = np.empty(len(items), object)
    plain[:] = [str.__str__(item) if isinstance(item, str) else b"".join([item]) for item in items]
    return plain.reshape(array.shape)


def _article(noun: str) -> str:
    return "an" if noun[:1].lower() in "aeiou" else "a"


def is_torch(value: Any) -> bool:
    """Return whether something is a torch tensor, without importing torch."""
    return "torch" in sys.modules and type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def as_torch(array: Any) -> Any:
    """Return a NumPy array as a torch tensor that shares its memory; what torch has no type for stays as it is."""
    if not isinstance(array, np.ndarray):
        return array
    import torch

    kind = getattr(torch, dtype_name(array.dtype), None)
    if not isinstance(kind, torch.dtype):
        return array
    if is_low_bit(array.dtype):
        width = np.dtype({1: np.uint8, 2: np.int16}[array.dtype.itemsize])
        return torch.from_numpy(array.view(width)).view(kind)
    return torch.from_numpy(array)

"""Tensors between NumPy and the two forms that the protocol has for them: bytes, and lists of JSON."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.tensors import as_dtype, dtype_name, is_low_bit

#: The protocol's names of element types -> polycmp's.
TYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "INT8": "int8",
    "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP16": "float16", "FP32": "float32", "FP64": "float64",
    "BF16": "bfloat16", "BYTES": "string",
}  # fmt: skip
_NAMES = {name: datatype for datatype, name in TYPES.items()}
#: Length of an element of BYTES, in front of it.
_LENGTH = struct.Struct("<I")


def element_type(datatype: str, tensor: str) -> np.dtype[Any]:
    """Return the dtype that a name of the protocol means.

    Args:
        datatype: The name.
        tensor: The tensor, for the error: `output 'y'`.

    Raises:
        ValueError: The protocol has no such type.
    """
    if datatype not in TYPES:
        raise ValueError(f"{tensor} has elements of type {datatype!r}, which the protocol does not have")
    return as_dtype(TYPES[datatype])


def datatype_of(dtype: np.dtype[Any]) -> str:
    """Return the protocol's name of a dtype, which must be one that `element_type` returns."""
    return _NAMES[dtype_name(dtype)]


def to_bytes(array: NDArray[Any]) -> bytes | memoryview:
    """Return a tensor as the bytes of its elements in order, lowest byte first."""
    if array.dtype.kind == "O":
        return b"".join(_length_and_text(item) for item in array.reshape(-1))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _length_and_text(item: Any) -> bytes:
    text = item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogateescape")
    return _LENGTH.pack(len(text)) + text


def from_bytes(data: bytes | memoryview, datatype: str, shape: Sequence[int], tensor: str) -> NDArray[Any]:
    """Return the tensor that bytes hold.

    Args:
        data: The bytes; of numbers the array is a view of them.
        datatype: The protocol's name of the element type.
        shape: The shape that the server gave.
        tensor: The tensor, for errors.

    Raises:
        ValueError: There are more or fewer elements than the shape holds.
    """
    dtype = element_type(datatype, tensor)
    if dtype.kind == "O":
        return _shaped(list(_texts(memoryview(data), tensor)), dtype, shape, tensor)
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise _wrong_size(f"{len(data)} bytes", datatype, shape, tensor)
    return np.frombuffer(data, dtype).reshape(shape)


def _texts(data: memoryview, tensor: str) -> Iterator[str]:
    start = 0
    while start < len(data):
        if start + _LENGTH.size > len(data):
            raise ValueError(f"{tensor} ends within an element of BYTES")
        end = start + _LENGTH.size + _LENGTH.unpack_from(data, start)[0]
        if end > len(data):
            raise ValueError(f"{tensor} ends within an element of BYTES")
        yield bytes(data[start + _LENGTH.size : end]).decode("utf-8", "surrogateescape")
        start = end


def to_json(array: NDArray[Any]) -> list[Any]:
    """Return a tensor as a flat list for JSON."""
    flat = array.reshape(-1)
    if array.dtype.kind == "O":
        return [item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item) for item in flat]
    if is_low_bit(array.dtype) or array.dtype == np.float16:
        flat = flat.astype(np.float32)
    return list(flat.tolist())


def from_json(data: Any, datatype: str, shape: Sequence[int], tensor: str) -> NDArray[Any]:
    """Return the tensor that a list of JSON holds, flat or nested; arguments and errors as in `from_bytes`."""
    return _shaped(_flat(data), element_type(datatype, tensor), shape, tensor)


def _flat(data: Any) -> list[Any]:
    if isinstance(data, list):
        return [item for part in data for item in _flat(part)] if any(isinstance(x, list) for x in data) else data
    return [data]


def _shaped(values: Iterable[Any], dtype: np.dtype[Any], shape: Sequence[int], tensor: str) -> NDArray[Any]:
    items = list(values)
    if len(items) != math.prod(shape):
        raise _wrong_size(f"{len(items)} elements", datatype_of(dtype), shape, tensor)
    if dtype.kind == "O":
        array = np.empty(len(items), object)
        array[:] = items
        return array.reshape(shape)
    try:
        if dtype.kind in "iu" and any(isinstance(item, float) for item in items):
            raise ValueError("a number with a fraction")
        wide = np.float64 if is_low_bit(dtype) else dtype
        return np.array(items, wide).astype(dtype).reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{tensor} holds what is no {datatype_of(dtype)}: {error}") from None


def _wrong_size(got: str, datatype: str, shape: Sequence[int], tensor: str) -> ValueError:
    return ValueError(f"{tensor} comes as {got}, which are not those of {datatype}{list(shape)}")

"""Arrays of any element type as arrays that every container can hold, and back, bit for bit."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import DataError, FileError
from polycmp.options import parse_json
from polycmp.tensors import as_dtype, dtype_name, is_low_bit, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

STRING = "string"


def pack(name: str, value: Any) -> tuple[NDArray[Any], str]:
    """Return an array of a plain NumPy type with the same bits, and the real type's name where it differs, else "".

    Types of ml_dtypes become unsigned integers of their width. Strings become the UTF-8 bytes of a JSON list, because
    NumPy's own fixed-width text drops trailing zeros and takes the longest item's space for each.

    Args:
        name: The tensor's name, for the error.
        value: An array, or anything that `to_numpy` takes.

    Raises:
        FileError: No container holds this element type.
    """
    array = to_numpy(value)
    if is_low_bit(array.dtype):
        contiguous = np.asarray(array, order="C")
        return contiguous.view(np.dtype(f"u{array.dtype.itemsize}")), str(array.dtype.name)
    if array.dtype.kind in "OUS":
        return np.frombuffer(_text_of(name, array), dtype=np.uint8), STRING
    if array.dtype.kind not in "biufc":
        raise FileError(
            f"cannot save tensor {name!r}: no file format here holds elements of type {array.dtype}",
            hint="convert it to numbers or strings",
        )
    return array, ""


def unpack(stored: NDArray[Any], dtype: str, shape: Sequence[int]) -> NDArray[Any]:
    """Undo `pack`.

    Args:
        stored: The plain array.
        dtype: The name that `pack` gave; "" for a plain type.
        shape: The tensor's shape.

    Raises:
        FileError: The bytes do not fit the type.
    """
    try:
        if not dtype:
            return texts_as_objects(stored)
        if dtype == STRING:
            return _array_of_text(bytes(stored), tuple(shape))
        return stored.view(as_dtype(dtype)).reshape(tuple(shape))
    except (ValueError, TypeError, DataError) as error:
        raise FileError(f"an array of {dtype or dtype_name(stored.dtype)} is damaged", why=str(error)) from error


def texts_as_objects(array: NDArray[Any]) -> NDArray[Any]:
    """Return NumPy's fixed-width text as an object array of `str`, anything else as it is."""
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return array.astype(object) if array.dtype.kind == "U" else array


def read_npy_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether the order is Fortran's, and element type, and leave the stream at the data.

    Raises:
        ValueError: It is no `.npy` header, or its elements are Python objects.
    """
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran_order, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of the npy format holds no plain arrays")
    if dtype.hasobject:
        raise ValueError("the elements are pickled Python objects, which are never read")
    return shape, fortran_order, dtype


def _text_of(name: str, array: NDArray[Any]) -> bytes:
    items: list[str | dict[str, str]] = []
    for item in array.ravel().tolist():
        if isinstance(item, bytes):
            items.append({"base64": base64.b64encode(item).decode("ascii")})
        elif isinstance(item, str):
            items.append(item)
        else:
            raise FileError(f"cannot save tensor {name!r}: it holds a {type(item).__name__}, not only text")
    return json.dumps(items).encode("ascii")


def _array_of_text(text: bytes, shape: tuple[int, ...]) -> NDArray[Any]:
    items = parse_json(text)
    array = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        array[index] = item if isinstance(item, str) else base64.b64decode(item["base64"], validate=True)
    return array.reshape(shape)

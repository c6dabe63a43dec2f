"""Elements of less than a byte in the layout of ONNX, which ONNX Runtime, OpenVINO and TensorRT share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BITS", "pack", "unpack", "unpacked"]

#: Bits of an element, of types that have less than a byte.
BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}


def pack(array: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Return elements of `bits` bits packed into bytes, the first element lowest (the layout of ONNX)."""
    per_byte = 8 // bits
    codes = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    packed = np.zeros(-(-codes.size // per_byte), np.uint8)
    for place in range(per_byte):  # the last byte may have fewer elements
        part = codes[place::per_byte]
        packed[: part.size] |= part << (bits * place)
    return packed


def unpack(raw: NDArray[np.uint8], bits: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Undo `pack`; signed integers get their sign back."""
    per_byte = 8 // bits
    codes = np.empty(raw.size * per_byte, np.uint8)
    for place in range(per_byte):
        codes[place::per_byte] = (raw >> (bits * place)) & ((1 << bits) - 1)
    codes = codes[: math.prod(shape)]
    if dtype.name.startswith("int"):
        signed = ((codes.astype(np.int8) ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(np.int8)
        return signed.astype(dtype).reshape(shape)
    return (codes.astype(dtype) if dtype.name.startswith("uint") else codes.view(dtype)).reshape(shape)


def unpacked(raw: NDArray[np.uint8], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the tensor that bytes hold, packed where its type has less than a byte."""
    bits = BITS.get(dtype.name)
    return raw.view(dtype).reshape(shape) if bits is None else unpack(raw, bits, dtype, shape)

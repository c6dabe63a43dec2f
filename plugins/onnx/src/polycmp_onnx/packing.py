"""Elements of less than a byte in the layout of ONNX, which ONNX Runtime and OpenVINO share."""

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
    codes = np.concatenate([codes, np.zeros(-codes.size % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.asarray(np.bitwise_or.reduce(codes << shifts, axis=1), np.uint8)


def unpack(raw: NDArray[np.uint8], bits: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Undo `pack`; signed integers get their sign back."""
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    codes = ((raw[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[: math.prod(shape)].astype(np.uint8)
    if dtype.name.startswith("int"):
        signed = ((codes.astype(np.int8) ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(np.int8)
        return signed.astype(dtype).reshape(shape)
    return (codes.astype(dtype) if dtype.name.startswith("uint") else codes.view(dtype)).reshape(shape)


def unpacked(raw: NDArray[np.uint8], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the tensor that bytes hold, packed where its type has less than a byte."""
    bits = BITS.get(dtype.name)
    return raw.view(dtype).reshape(shape) if bits is None else unpack(raw, bits, dtype, shape)

"""Tensors between NumPy and OpenVINO, those included that NumPy has no type for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError
from polycmp.tensors import as_dtype, is_low_bit
from polycmp_onnx.packing import BITS, pack, unpacked

#: OpenVINO's names of element types -> polycmp's.
_TYPES = {
    "boolean": "bool", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "i4": "int4", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u4": "uint4", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "u2": "uint2",
    "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn",
}  # fmt: skip


def element_type(kind: Any) -> np.dtype[Any]:
    """Return the dtype for an `openvino.Type`.

    Raises:
        BackendError: No tensor of this type can be compared.
    """
    name = kind.get_type_name()
    if name == "string":
        # Releases up to 2026.4 free the strings of a tensor twice and end the process.
        raise BackendError("holds strings, which OpenVINO cannot exchange safely", hint="choose other inputs, outputs")
    if name not in _TYPES:
        raise BackendError(f"holds elements of OpenVINO's type {name}, which cannot be compared")
    return as_dtype(_TYPES[name])


def to_tensor(ov: Any, array: NDArray[Any], kind: Any) -> Any:
    """Convert an array for OpenVINO: the array itself, or a tensor where NumPy lacks the type.

    Args:
        ov: The module `openvino`.
        array: The array.
        kind: The `openvino.Type` of the input.
    """
    # OpenVINO copies read-only arrays, but not those of no dimensions, which it cannot share.
    array = np.ascontiguousarray(array) if array.ndim else array.copy()
    if not is_low_bit(array.dtype):
        return array
    bits = BITS.get(array.dtype.name)
    tensor = ov.Tensor(kind, ov.Shape(list(array.shape)))
    if array.size:
        target = tensor.data
        raw = pack(array, bits) if bits else array.reshape(-1).view(np.uint8)
        target.reshape(-1).view(np.uint8)[...] = raw
    return tensor


def from_tensor(array: NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an output as an array of its own type.

    Args:
        array: The array from OpenVINO; a type that NumPy lacks comes as another of the same width, or packed.
        dtype: The output's element type.
        shape: The output's shape.
    """
    if not is_low_bit(dtype):
        return array
    return unpacked(np.ascontiguousarray(array).reshape(-1).view(np.uint8), dtype, shape)

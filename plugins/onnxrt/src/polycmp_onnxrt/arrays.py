"""Tensors between NumPy and ONNX Runtime, those included that NumPy has no type for."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError
from polycmp.tensors import as_dtype, is_low_bit

#: Numbers of ONNX's element types (onnx.TensorProto.DataType) that NumPy lacks, by the name of their dtype.
ONNX_TYPES = {
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
    "uint4": 21,
    "int4": 22,
    "float4_e2m1fn": 23,
    "float8_e8m0fnu": 24,
    "uint2": 25,
    "int2": 26,
}
_BITS = {"uint4": 4, "int4": 4, "float4_e2m1fn": 4, "uint2": 2, "int2": 2}


def element_type(declared: str) -> np.dtype[Any]:
    """Return the dtype for ONNX Runtime's name of a type.

    Args:
        declared: For example `tensor(float)`.

    Raises:
        BackendError: It is no dense tensor: a sequence, map, optional or sparse tensor.
    """
    if not declared.startswith("tensor("):
        raise BackendError(f"holds {declared}", hint="only tensors can be compared; choose other outputs")
    return as_dtype(declared)


def to_ort_value(ort: Any, array: NDArray[Any]) -> Any:
    """Return a value for ONNX Runtime that reads the array's memory, or a packed copy of it below one byte."""
    array = np.ascontiguousarray(array)
    if not is_low_bit(array.dtype):
        return ort.OrtValue.ortvalue_from_numpy(array)
    if not hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
        what = f"ONNX Runtime {ort.__version__} takes no {array.dtype.name} tensors from Python"
        raise BackendError(what, hint="pip install -U onnxruntime")
    number, bits = ONNX_TYPES[array.dtype.name], _BITS.get(array.dtype.name)
    if bits is None:
        width = array.view(np.uint8 if array.dtype.itemsize == 1 else np.int16)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(width, number)
    value = ort.OrtValue.ortvalue_from_shape_and_type(array.shape, number)
    memory(value)[...] = pack(array, bits)
    return value


def from_ort_value(value: Any) -> NDArray[Any]:
    """Return the tensor in a value of ONNX Runtime without copying it, except below one byte.

    Raises:
        BackendError: It holds no dense tensor, or none in host memory.
    """
    dtype = element_type(value.data_type())
    if not is_low_bit(dtype):
        return np.asarray(value.numpy())
    shape = tuple(value.shape())
    raw = memory(value)
    bits = _BITS.get(dtype.name)
    return raw.view(dtype).reshape(shape) if bits is None else unpack(raw, bits, dtype, shape)


def memory(value: Any) -> NDArray[np.uint8]:
    """Return the bytes of a tensor in host memory as an array that keeps the value alive."""
    if value.device_name() != "cpu":
        raise BackendError(f"a tensor lies in the memory of {value.device_name()}, not in host memory")
    size = math.prod(value.shape())
    dtype = element_type(value.data_type())
    count = -(-size * _BITS.get(dtype.name, 8 * dtype.itemsize) // 8)
    if not count:
        return np.empty(0, np.uint8)
    buffer = (ctypes.c_uint8 * count).from_address(value.data_ptr())
    buffer.owner = value
    return np.frombuffer(buffer, np.uint8)


def pack(array: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """Return elements of `bits` bits packed into bytes, the first element lowest (the layout of ONNX)."""
    per_byte = 8 // bits
    codes = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    codes = np.concatenate([codes, np.zeros(-codes.size % per_byte, np.uint8)]).reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.asarray(np.bitwise_or.reduce(codes << shifts, axis=1), np.uint8)


def unpack(raw: NDArray[np.uint8], bits: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return what `pack` packed; signed integers get their sign back."""
    per_byte = 8 // bits
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    codes = ((raw[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[: math.prod(shape)].astype(np.uint8)
    if dtype.name.startswith("int"):
        signed = ((codes.astype(np.int8) ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(np.int8)
        return signed.astype(dtype).reshape(shape)
    return (codes.astype(dtype) if dtype.name.startswith("uint") else codes.view(dtype)).reshape(shape)

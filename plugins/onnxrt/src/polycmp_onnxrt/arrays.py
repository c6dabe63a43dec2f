"""Tensors between NumPy and ONNX Runtime, those included that NumPy has no type for."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import BackendError
from polycmp.tensors import as_dtype, is_low_bit
from polycmp_onnx.packing import BITS, pack, unpacked

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


def plain_output(declared: str, value: Any) -> Any:
    """Return an output that `run` gives: an array, or a list or mapping of arrays.

    Args:
        declared: ONNX Runtime's name of its type, for example `seq(map(string,tensor(float)))`.
        value: The output: numbers in mappings are Python's, whatever their type is.
    """
    if isinstance(value, dict):
        number = _innermost(declared)
        return {key: np.asarray(item, number) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_output(declared, item) for item in value] or np.empty(0, _innermost(declared))
    return value


def _innermost(declared: str) -> np.dtype[Any]:
    """Return the dtype of the tensors in a sequence, a map or an optional."""
    return element_type(declared[declared.rindex("tensor(") :].rstrip(")") + ")")


def to_ort_value(ort: Any, array: NDArray[Any]) -> Any:
    """Return a value for ONNX Runtime that reads the array's memory, or a packed copy of it below one byte."""
    array = np.asarray(array, order="C")  # `ascontiguousarray` gives a scalar a dimension
    if not is_low_bit(array.dtype):
        return ort.OrtValue.ortvalue_from_numpy(array)
    if not hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
        what = f"ONNX Runtime {ort.__version__} takes no {array.dtype.name} tensors from Python"
        raise BackendError(what, hint="pip install -U onnxruntime")
    number, bits = ONNX_TYPES[array.dtype.name], BITS.get(array.dtype.name)
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
    return unpacked(memory(value), dtype, tuple(value.shape()))


def memory(value: Any) -> NDArray[np.uint8]:
    """Return the bytes of a tensor in host memory as an array that keeps the value alive."""
    if value.device_name() != "cpu":
        raise BackendError(f"a tensor lies in the memory of {value.device_name()}, not in host memory")
    size = math.prod(value.shape())
    dtype = element_type(value.data_type())
    count = -(-size * BITS.get(dtype.name, 8 * dtype.itemsize) // 8)
    if not count:
        return np.empty(0, np.uint8)
    buffer = (ctypes.c_uint8 * count).from_address(value.data_ptr())
    buffer.owner = value
    return np.frombuffer(buffer, np.uint8)

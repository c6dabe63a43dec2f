"""Element types and memory layouts of TensorRT's inputs and outputs, and how arrays are converted to and from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, did_you_mean
from polycmp.tensors import as_dtype
from polycmp_onnx.packing import BITS

if TYPE_CHECKING:
    import tensorrt as trt
    from numpy.typing import DTypeLike

#: Members of `tensorrt.DataType` -> element type here.
TYPE_NAMES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
    "UINT8": "uint8",
    "FP8": "float8e4m3fn",
    "INT4": "int4",
    "FP4": "float4e2m1",
    "E8M0": "float8e8m0",
}


def numpy_dtype(dtype: trt.DataType) -> np.dtype[Any]:
    """Return the NumPy type of a `tensorrt.DataType`.

    Raises:
        BackendError: This type is not known here.
    """
    name = getattr(dtype, "name", str(dtype))
    if name not in TYPE_NAMES:
        raise BackendError(f"TensorRT's element type {name} is not known to polycmp", whose="trt")
    return as_dtype(TYPE_NAMES[name])


def tensorrt_dtype(name: trt.DataType | DTypeLike) -> trt.DataType:
    """Return the `tensorrt.DataType` for a type's name; one that is a member already is returned as it is.

    Args:
        name: `float16`, `HALF`, `fp16`, a NumPy dtype, or a member.

    Raises:
        BackendError: TensorRT, or this release of it, has no such type.
    """
    from polycmp_trt.features import import_tensorrt, release

    members = import_tensorrt().DataType.__members__
    if name in members.values():
        return name
    if isinstance(name, str) and name.upper() in members:
        return members[name.upper()]
    dtype = as_dtype(name)
    for member, ours in TYPE_NAMES.items():
        if as_dtype(ours) == dtype and member in members:
            return members[member]
    known = [ours for member, ours in TYPE_NAMES.items() if member in members]
    raise BackendError(
        f"TensorRT {release()} has no element type {str(name)!r}", whose="trt", why=did_you_mean(str(name), known)
    )


def is_packed(dtype: np.dtype[Any]) -> bool:
    """Return whether two elements of this type share a byte in TensorRT's memory."""
    return BITS.get(dtype.name) == 4


def storage_bytes(count: int, dtype: np.dtype[Any]) -> int:
    """Return the bytes that so many elements take in TensorRT's memory."""
    return (count + 1) // 2 if is_packed(dtype) else count * dtype.itemsize


@dataclass(frozen=True)
class Layout:
    """Layout of a tensor's elements in TensorRT's memory.

    TensorRT may group `components` neighbours along one dimension into a vector (CHW4, CHW32, HWC8, …) and order the
    dimensions freely (HWC); strides say the rest. One rule covers every format: split the vectorised dimension into
    vectors and components, give each dimension its stride, and let the components lie side by side.

    Attributes:
        shape: The tensor's dimensions, as a model sees them.
        strides: Vectors from one position to the next in each dimension, as TensorRT reports them.
        vectorized: The dimension that is split, -1 for none.
        components: Elements in a vector, 1 for none.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    vectorized: int = -1
    components: int = 1

    @property
    def linear(self) -> bool:
        """Whether this is the plain row-major order of NumPy."""
        expected = 1
        if self.components != 1:
            return False
        for dim, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if dim != 1 and stride != expected:
                return 0 in self.shape
            expected *= dim
        return True

    @property
    def vectors(self) -> tuple[int, ...]:
        """The dimensions counted in vectors."""
        dims = list(self.shape)
        if self.components != 1 and self.vectorized >= 0:
            dims[self.vectorized] = -(-dims[self.vectorized] // self.components)
        return tuple(dims)

    @property
    def count(self) -> int:
        """Elements from the first to the last one in memory, padding included."""
        if 0 in self.shape:
            return 0
        last = sum((dim - 1) * stride for dim, stride in zip(self.vectors, self.strides, strict=True))
        # Each dimension occupies its stride times its size, also where the last elements of it are padding.
        spans = [dim * stride for dim, stride in zip(self.vectors, self.strides, strict=True)]
        return max([last + 1, *spans]) * self.components

    def physical(self, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return a writable view of flat memory: the tensor's dimensions in vectors, then one of components."""
        size = flat.itemsize
        return np.lib.stride_tricks.as_strided(
            flat,
            (*self.vectors, self.components),
            (*(stride * self.components * size for stride in self.strides), size),
        )

    def fill(self, flat: np.ndarray[Any, Any], array: np.ndarray[Any, Any]) -> None:
        """Write an array into flat memory of this layout; padding becomes zero."""
        flat[...] = 0
        if not array.size:
            return
        self.physical(flat)[...] = self._split(array)

    def extract(self, flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the tensor as an ordinary contiguous array."""
        if 0 in self.shape:
            return np.empty(self.shape, flat.dtype)
        view = self.physical(flat)
        if self.components == 1:
            return np.ascontiguousarray(view[..., 0])
        merged = np.moveaxis(view, -1, self.vectorized + 1)
        dims = list(self.vectors)
        dims[self.vectorized] *= self.components
        whole = merged.reshape(dims)
        keep = tuple(slice(0, dim) for dim in self.shape)
        return np.ascontiguousarray(whole[keep])

    def _split(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if self.components == 1:
            return array[..., np.newaxis]
        axis = self.vectorized
        missing = self.vectors[axis] * self.components - self.shape[axis]
        padding = [(0, missing if index == axis else 0) for index in range(array.ndim)]
        padded = np.pad(array, padding)
        dims = (*self.vectors[: axis + 1], self.components, *self.vectors[axis + 1 :])
        return np.moveaxis(padded.reshape(dims), axis + 1, -1)

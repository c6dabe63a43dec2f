"""Functions of NumPy arrays and PyTorch tensors alike, under the names of `polygraphy.util.array`.

PyTorch is used where a tensor is given, or one is asked for, and imported by nothing else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polycmp.errors import DataError
from polycmp_polygraphy.cuda import DeviceView
from polycmp_polygraphy.datatype import DataType


def is_torch(obj: object) -> bool:
    """Return whether an object is a tensor of PyTorch."""
    torch = sys.modules.get("torch")  # without it, there is no tensor
    return torch is not None and isinstance(obj, torch.Tensor)


def is_numpy(obj: object) -> bool:
    """Return whether an object is an array or a number of NumPy."""
    return isinstance(obj, np.ndarray | np.generic)


def is_device_view(obj: object) -> bool:
    """Return whether an object is memory of a GPU."""
    return isinstance(obj, DeviceView)


def _unknown(obj: object) -> DataError:
    return DataError(f"Unrecognized array type: {type(obj).__name__} is neither NumPy's nor PyTorch's")


def _of(obj: Any, of_numpy: Callable[[Any], Any], of_torch: Callable[[Any], Any]) -> Any:
    """Call one of two functions, by the library of the array, and return its result.

    Raises:
        DataError: It is neither's.
    """
    if is_torch(obj):
        return of_torch(obj)
    if is_numpy(obj):
        return of_numpy(obj)
    raise _unknown(obj)


def to_torch(obj: Any) -> Any:
    """Return a tensor of PyTorch with the same numbers."""
    import torch

    return _of(obj, lambda array: torch.from_numpy(np.ascontiguousarray(array)), lambda tensor: tensor)


def to_numpy(obj: Any) -> Any:
    """Return an array of NumPy with the same numbers."""
    if is_device_view(obj):
        return obj.numpy()
    return _of(obj, lambda array: array, lambda tensor: tensor.detach().cpu().numpy())


def nbytes(obj: Any) -> int:
    """Return the size in bytes."""
    return int(obj.nbytes)


def size(obj: Any) -> int:
    """Return the number of elements."""
    return math.prod(shape(obj))


def data_ptr(obj: Any) -> int:
    """Return the address of the first element."""
    if is_device_view(obj):
        return int(obj.ptr)
    return int(_of(obj, lambda array: array.ctypes.data, lambda tensor: tensor.data_ptr()))


def is_on_cpu(obj: Any) -> bool:
    """Return whether it lies in the memory of the processor."""
    return not is_device_view(obj) and _of(obj, lambda _: True, lambda tensor: tensor.device.type == "cpu")


def is_on_gpu(obj: Any) -> bool:
    """Return whether it lies in the memory of a GPU."""
    return is_device_view(obj) or _of(obj, lambda _: False, lambda tensor: tensor.device.type == "cuda")


def dtype(obj: Any) -> Any:
    """Return the element type, as `DataType`."""
    return DataType.from_dtype(obj.dtype)


def shape(obj: Any) -> Any:
    """Return the shape."""
    return obj.shape


def is_contiguous(obj: Any) -> bool:
    """Return whether the elements lie one behind the other, in C's order."""
    if is_device_view(obj):
        return True
    return bool(_of(obj, lambda array: array.flags["C_CONTIGUOUS"], lambda tensor: tensor.is_contiguous()))


def make_contiguous(obj: Any) -> Any:
    """Return it with the elements one behind the other, in C's order."""
    return obj if is_contiguous(obj) else _of(obj, np.ascontiguousarray, lambda tensor: tensor.contiguous())


def resize_or_reallocate(obj: Any, shape: Sequence[int]) -> Any:
    """Return memory of a shape: that which is given, where it is possible, else other; what it holds may be lost."""
    wanted = tuple(shape)
    if obj.shape == wanted:
        return obj

    def resized(array: Any) -> Any:
        try:
            array.resize(wanted, refcheck=False)
        except ValueError:  # it is not the owner of its memory
            return np.empty(wanted, array.dtype)
        return array

    return _of(obj, resized, lambda tensor: tensor.resize_(wanted))


def view(obj: Any, dtype: Any, shape: Sequence[int]) -> Any:
    """Return the same memory as one of another element type and shape."""
    if is_device_view(obj):
        return DeviceView(obj.ptr, tuple(shape), DataType.to_dtype(dtype, "numpy"))
    numpy = DataType.to_dtype(dtype, "numpy")
    return _of(
        obj,
        lambda array: array.reshape(-1).view(numpy).reshape(shape),
        lambda tensor: tensor.reshape(-1).view(DataType.to_dtype(dtype, "torch")).reshape(shape),
    )


def cast(obj: Any, dtype: Any) -> Any:
    """Return the numbers as another element type."""
    return _of(
        obj,
        lambda array: np.asarray(array).astype(DataType.to_dtype(dtype, "numpy")),
        lambda tensor: tensor.to(DataType.to_dtype(dtype, "torch")),
    )


def equal(lhs: Any, rhs: Any) -> bool:
    """Return whether shape and numbers are the same."""
    return bool(np.array_equal(to_numpy(lhs), to_numpy(rhs)))


def allclose(lhs: Any, rhs: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Return whether all numbers are near each other."""
    return bool(np.allclose(to_numpy(lhs), to_numpy(rhs), rtol=rtol, atol=atol))


def unravel_index(index: int, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the index along each axis of the element at a position."""
    return tuple(int(one) for one in np.unravel_index(index, tuple(shape)))

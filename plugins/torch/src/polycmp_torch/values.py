"""Tensors between NumPy and PyTorch, and the tensors in what a module returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from polycmp.errors import BackendError
from polycmp.tensors import is_low_bit, to_numpy


def to_torch(torch: Any, name: str, array: NDArray[Any], device: str, dtype: Any) -> Any:
    """Return a tensor with memory of its own, since modules may write into their inputs, and the array's strides.

    Args:
        torch: The module `torch`.
        name: The input, for errors.
        array: Content of the tensor.
        device: Device of the tensor.
        dtype: The type for real numbers; None for the array's own.

    Raises:
        BackendError: PyTorch has no such element type.
    """
    if array.dtype.kind in "OUS":
        raise BackendError(f"input {name!r} holds strings, which PyTorch has no tensors of")
    if is_low_bit(array.dtype):
        kind = getattr(torch, array.dtype.name, None)
        if kind is None or array.dtype.name.startswith(("int", "uint")):
            raise BackendError(f"input {name!r} is {array.dtype.name}, a type that PyTorch cannot take from NumPy")
        width = np.uint8 if array.dtype.itemsize == 1 else np.int16
        tensor = torch.from_numpy(copy_with_strides(array.view(width))).view(kind)
    else:
        tensor = torch.from_numpy(copy_with_strides(array))
    if dtype is not None and tensor.is_floating_point():
        tensor = tensor.to(dtype)
    return tensor.to(device)


def copy_with_strides(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy with the same strides: transposed, sliced or expanded arrays stay so, as a caller passed them.

    Strides that PyTorch has no tensors of, such as negative ones, become those of rows.
    """
    step = array.dtype.itemsize
    if not array.size or any(stride < 0 or stride % step for stride in array.strides):
        return np.array(array, order="C")
    last = sum((size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)) // step
    memory = np.array(as_strided(array, (last + 1,), (step,)))
    return as_strided(memory, array.shape, array.strides)


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors in what a module returns, each with its place: `logits`, `past.0.key`, `0`.

    Args:
        value: A tensor, or mappings, sequences and dataclasses of tensors; None is left out.
        name: The place of the value itself.

    Raises:
        BackendError: There is something else in it.
    """
    if value is None:
        return
    if hasattr(value, "detach"):
        yield name, value
    elif isinstance(value, (bool, int, float)):
        yield name, np.asarray(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from flatten(item, _below(name, str(key)))
    elif isinstance(value, (list, tuple)):
        keys = getattr(value, "_fields", range(len(value)))
        for key, item in zip(keys, value, strict=True):
            yield from flatten(item, _below(name, str(key)))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from flatten(getattr(value, field.name), _below(name, field.name))
    else:
        where = f"its output {name!r}" if name else "its output"
        raise BackendError(f"{where} is {type(value).__name__}, which holds no tensors")


def _below(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


#: Tolerance of a trial against an export's value, relative to the largest magnitude.
_TOLERANCE = 1e-4


def is_near(tensor: Any, expected: NDArray[Any]) -> bool:
    """Return whether a tensor equals finite numbers but for small errors.

    Args:
        tensor: The tensor.
        expected: The numbers, in float64.
    """
    array = to_numpy(tensor).astype(np.float64)
    if array.shape != expected.shape or not np.isfinite(expected).all():
        return False
    limit = _TOLERANCE * max(np.max(np.abs(expected), initial=0.0), 1e-30)
    return bool(np.max(np.abs(array - expected), initial=0.0) <= limit)


class OwnedMemory:
    """Memory of tensors that no output may share.

    Args:
        tensors: Tensors that own memory from the start: inputs, weights.
    """

    def __init__(self, tensors: Any) -> None:
        self._seen = {address(tensor) for tensor in tensors}

    def alone(self, value: Any) -> NDArray[Any]:
        """Return an output as an array with memory of its own."""
        if not hasattr(value, "detach"):
            return np.array(value)
        place = address(value)
        shared = place in self._seen
        self._seen.add(place)
        tensor = value.detach()
        if tensor.is_sparse:
            tensor = tensor.to_dense()
        tensor = tensor.clone() if shared else tensor
        return to_numpy(tensor.resolve_conj().resolve_neg())


def address(tensor: Any) -> tuple[str, int]:
    """Return the device and the place of the memory that a tensor, and all views of it, lie in."""
    try:
        return str(tensor.device), tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):  # sparse and lazy tensors have no memory of this form
        return "", id(tensor)


def same_numbers(one: Any, two: Any) -> Any:
    """Return which numbers of two tensors of one shape are equal, NaN among them."""
    return (one == two) | (one.isnan() & two.isnan())


def is_changed(before: Any, now: Any) -> bool:
    """Return whether a tensor holds other numbers; not where its type cannot be compared, as eight bits of a float."""
    try:
        return before.shape != now.shape or not bool(same_numbers(before, now).all())
    except (NotImplementedError, RuntimeError):
        return False

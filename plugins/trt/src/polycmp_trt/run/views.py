"""Arrays on a device, of any library: one small view for all of them, and how to find their addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import DataError, describe_exception
from polycmp.tensors import as_dtype, format_shape, to_numpy

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from polycmp_trt.run.stream import Stream

#: DLPack's device types whose memory a CUDA device reads in place: CUDA and CUDA's managed memory.
_DL_DEVICES = {2, 13}
#: (DLPack type code, bits) -> element type.
_DL_TYPES = {
    **{(0, bits): f"int{bits}" for bits in (4, 8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (4, 8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (4, 16): "bfloat16",
    (6, 8): "bool",
    (10, 8): "float8e4m3fn",
    (12, 8): "float8e5m2",
}


class DeviceView:
    """A typed view of device memory that has another owner.

    It offers `__cuda_array_interface__`, so torch, CuPy, Numba and pycuda take it without a copy. Types that NumPy
    does not have (bfloat16, float8) appear there as unsigned integers of the same width.

    Args:
        ptr: The address.
        shape: Dimensions.
        dtype: Element type.
        strides: Bytes from one element to the next in each dimension, None if contiguous.
        owner: Owner of the memory, which the view keeps alive.
        stream: The stream on which its content is made, None if it is there already.
        device: The number of the CUDA device, None for the one it is used on.

    Attributes:
        ptr: The address.
        shape: Dimensions.
        dtype: Element type.
        strides: Bytes from one element to the next in each dimension, None if contiguous.
    """

    __slots__ = ("device", "dtype", "owner", "ptr", "shape", "stream", "strides")

    def __init__(
        self,
        ptr: int,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        strides: tuple[int, ...] | None = None,
        owner: object = None,
        stream: int | None = None,
        device: int | None = None,
    ) -> None:
        self.ptr = int(ptr)
        self.shape = tuple(int(dim) for dim in shape)
        self.dtype = as_dtype(dtype)
        self.strides = strides
        self.owner = owner
        self.stream = stream
        self.device = device

    @property
    def nbytes(self) -> int:
        """Bytes that its elements take."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        known = self.dtype.kind in "biufc"
        return {
            "shape": self.shape,
            "typestr": self.dtype.str if known else f"<u{self.dtype.itemsize}",
            "data": (self.ptr, False),
            "strides": self.strides,
            "version": 3,
            "stream": None,
        }

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return a copy in host memory."""
        from polycmp_trt.run.cuda import current, current_device, driver

        if self.strides is not None:
            span = sum((dim - 1) * step for dim, step in zip(self.shape, self.strides, strict=True))
            raw = np.empty(span + self.dtype.itemsize if self.nbytes else 0, np.uint8)
        else:
            raw = np.empty(self.nbytes, np.uint8)
        if raw.size:
            with current(current_device() if self.device is None else self.device):
                driver().Context.synchronize()  # whichever stream is still writing it
                driver().memcpy_dtoh(raw, self.ptr)
        if self.strides is None:
            return np.asarray(raw.view(self.dtype).reshape(self.shape))
        return np.array(np.ndarray(self.shape, self.dtype, raw, 0, self.strides))

    def copy_to(self, host_buffer: Any, stream: Stream | None = None) -> Any:
        """Copy into an array of the host and return that.

        Args:
            host_buffer: A contiguous NumPy array or torch tensor that is at least as large.
            stream: Copy in the order of this stream; the content is there once the stream is done.

        Raises:
            DataError: The array is not contiguous, or smaller; or this view has strides.
        """
        from polycmp_trt.run.cuda import current, current_device, driver, errors_as

        raw, _ = host_bytes(host_buffer)
        if self.strides is not None:
            raise DataError("a view with strides has no contiguous content to copy", hint="view.numpy()")
        if raw.size < self.nbytes:
            raise DataError(
                f"{self.nbytes} bytes do not fit into the {raw.size} of the host array",
                hint=f"np.empty({self.shape}, {self.dtype.name!r})",
            )
        raw = raw[: self.nbytes]
        device = current_device() if self.device is None else self.device
        if raw.size:
            with current(device), errors_as("copying from the device", "cuda"):
                if stream is None:
                    driver().memcpy_dtoh(raw, self.ptr)
                else:
                    driver().memcpy_dtoh_async(raw, self.ptr, stream.handle)
        return host_buffer

    def __repr__(self) -> str:
        return f"DeviceView(ptr={self.ptr:#x}, shape={self.shape}, dtype={self.dtype.name!r})"


def host_bytes(array: Any) -> tuple[np.ndarray[Any, Any], np.dtype[Any]]:
    """Return the memory of a host array as bytes, and its element type.

    Args:
        array: A NumPy array or a torch tensor.

    Raises:
        DataError: It is not contiguous.
    """
    host = to_numpy(array)
    if not host.flags.c_contiguous:
        raise DataError(
            f"a host array of shape {format_shape(host.shape)} is not contiguous", hint="np.ascontiguousarray(array)"
        )
    return host.reshape(-1).view(np.uint8), host.dtype


def device_view(array: Any, stream: int = 0, device: int = 0) -> DeviceView | None:
    """Return a view of an array on a CUDA device, or None if it is not on one; needs a current CUDA context.

    Args:
        array: A `DeviceView`, or anything with `__dlpack__` or `__cuda_array_interface__`: torch, CuPy, Numba, pycuda.
        stream: The stream that will read it; producers that speak DLPack order their work before it.
        device: The device of that stream.

    Raises:
        DataError: It is on a device but cannot be read in place.
    """
    if isinstance(array, DeviceView):
        return array
    if isinstance(array, np.ndarray):
        return None
    if hasattr(array, "__dlpack_device__") and hasattr(array, "__dlpack__"):
        kind, index = array.__dlpack_device__()
        return _exported(array, stream, device, int(index)) if int(kind) in _DL_DEVICES else None
    interface = getattr(array, "__cuda_array_interface__", None)
    return None if interface is None else _from_interface(interface, array)


def _exported(array: Any, stream: int, device: int, index: int) -> DeviceView:
    """Return a view of an array on device `index` that supports DLPack, for a stream of device `device`."""
    from polycmp_trt.run.cuda import current

    source = array.detach() if hasattr(array, "detach") else array
    source = source.contiguous() if hasattr(source, "contiguous") else source
    try:
        if index == device:
            return _from_dlpack(source.__dlpack__(stream=stream or 1), source, index)
        with current(index) as primary:  # a stream cannot wait for another device's by its number
            capsule = source.__dlpack__(stream=-1)
            primary.synchronize()
            return _from_dlpack(capsule, source, index)
    except (BufferError, TypeError) as error:
        raise DataError(
            f"cannot read a {type(array).__module__}.{type(array).__name__} on CUDA device {index} in place",
            why=describe_exception(error),
            hint="pass a contiguous copy of it, or a NumPy array",
        ) from error


def _from_interface(interface: dict[str, Any], owner: object) -> DeviceView:
    from polycmp_trt.run.cuda import device_of

    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    declared = getattr(owner, "dtype", None)
    if dtype.kind in "Vu" and isinstance(declared, np.dtype) and declared.itemsize == dtype.itemsize:
        dtype = declared  # ml_dtypes travel as raw bytes of the same width
    _require_contiguous(shape, interface.get("strides"), dtype.itemsize)
    address = int(interface["data"][0])
    return DeviceView(address, shape, dtype, owner=owner, stream=interface.get("stream"), device=device_of(address))


def _require_contiguous(shape: tuple[int, ...], strides: Sequence[int] | None, itemsize: int) -> None:
    if strides is None or 0 in shape:
        return
    expected = itemsize
    for dim, step in zip(reversed(shape), reversed(tuple(strides)), strict=True):
        if dim != 1 and step != expected:
            raise DataError(
                f"an array of shape {list(shape)} on the device is not contiguous", hint="pass a contiguous copy of it"
            )
        expected *= dim


class _DLDevice(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DLDataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("partitioned_runs", ctypes.c_uint16))


class _DLTensor(ctypes.Structure):
    """The first member of DLPack's `DLManagedTensor`; the rest is needed only to take over ownership."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def capsule_pointer(capsule: object, name: bytes | None) -> int:
    """Return the address inside a Python capsule."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(get(capsule, name) or 0)


def _from_dlpack(capsule: object, source: object, device: int) -> DeviceView:
    tensor = ctypes.cast(capsule_pointer(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    code, bits = tensor.dtype.code, tensor.dtype.bits
    name = _DL_TYPES.get((code, bits))
    if name is None or tensor.dtype.partitioned_runs != 1:
        raise DataError(f"DLPack type (code {code}, {bits} bits) has no counterpart here")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    dtype = as_dtype(name)
    if tensor.strides:
        _require_contiguous(
            shape, [tensor.strides[axis] * dtype.itemsize for axis in range(tensor.ndim)], dtype.itemsize
        )
    # The capsule is not taken over, only kept: its own destructor gives the tensor back when the view goes.
    return DeviceView((tensor.data or 0) + tensor.byte_offset, shape, dtype, owner=(capsule, source), device=device)


def is_pinned(array: np.ndarray[Any, Any]) -> bool:
    """Return whether a host array is known to lie in page-locked memory, so that it can be copied without staging.

    Recognised are page-locked arrays of ours and of pycuda, its registered arrays, torch's pinned tensors, and CuPy's
    pinned memory; other locked memory is staged, which is slower but correct.
    """
    base: Any = array.base
    while base is not None:
        kind = type(base)
        if kind.__name__ in {"PagelockedHostAllocation", "RegisteredHostMemory"} or "pinned_memory" in kind.__module__:
            return True
        if hasattr(base, "is_pinned"):
            return bool(base.is_pinned())
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return False

"""CUDA through pycuda or NVIDIA's cuda-bindings: the shared primary context, device and pinned memory, clear errors.

Everything works in the device's *primary* context, the one that TensorRT, torch and ONNX Runtime use too, so that
addresses are valid for all of them. The context is current only while a call needs it.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polycmp.errors import BackendError, PluginError, describe_exception
from polycmp_trt.run.driver_api import DriverApi

if TYPE_CHECKING:
    from types import ModuleType

    import pycuda.driver as cuda
    from numpy.typing import DTypeLike, NDArray

#: Device memory is taken in multiples of this, the alignment that TensorRT asks for at most.
ALIGNMENT = 256


def _import_driver() -> Any:
    try:
        import pycuda.driver as cuda
    except ModuleNotFoundError:
        return _import_bindings()
    except ImportError as error:
        raise BackendError(
            "cannot load the CUDA driver", whose="trt", why=describe_exception(error), hint="nvidia-smi"
        ) from error
    return cuda


def _import_bindings() -> DriverApi:
    try:
        from cuda.bindings import driver as bindings
    except ImportError as error:
        raise PluginError(
            "neither cuda-bindings nor pycuda is installed",
            whose="trt",
            why=describe_exception(error),
            hint="pip install 'polycmp-trt[cu12]'",
        ) from error
    return DriverApi(bindings)


@cache
def driver() -> ModuleType:
    """Return `pycuda.driver`, or the same calls on NVIDIA's cuda-bindings where it is not installed; initialised.

    Raises:
        PluginError: Neither is installed.
        BackendError: There is no NVIDIA driver, none new enough, or no device.
    """
    cuda = _import_driver()
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        raise BackendError(
            "CUDA cannot start: no usable device, or a driver older than this CUDA needs",
            whose="trt",
            why=describe_exception(error),
            hint="nvidia-smi",
        ) from error
    if not count:
        raise BackendError("there is no CUDA device", whose="trt", hint="nvidia-smi; echo $CUDA_VISIBLE_DEVICES")
    return cast("ModuleType", cuda)


@cache
def primary_context(device: int = 0) -> cuda.Context:
    """Return the primary context of a device, retained until the process ends.

    Raises:
        BackendError: There is no such device, or no memory left for a context.
    """
    cuda = driver()
    count = cuda.Device.count()
    if not 0 <= device < count:
        raise BackendError(
            f"there is no CUDA device {device}", whose="trt", why=f"devices: 0 to {count - 1}", hint="nvidia-smi -L"
        )
    try:
        context = cuda.Device(device).retain_primary_context()
    except cuda.Error as error:
        raise BackendError(
            f"cannot use CUDA device {device}", whose="trt", why=describe_exception(error), hint="nvidia-smi"
        ) from error
    atexit.register(context.detach)
    return context


@contextmanager
def current(device: int = 0) -> Iterator[Any]:
    """Make the primary context of a device current for a block, and restore the previous one afterwards."""
    context = primary_context(device)
    context.push()
    try:
        yield context
    finally:
        context.pop()


#: `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`, which pycuda does not offer.
_DEVICE_ORDINAL = 9


def cuda_library() -> ctypes.CDLL:
    """Return the driver's library, for the few calls that pycuda does not offer.

    Raises:
        OSError: There is none.
    """
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def device_of(address: int) -> int | None:
    """Return the number of the device on which memory lies, None if CUDA does not know."""
    try:
        library = cuda_library()
    except OSError:
        return None
    ordinal = ctypes.c_int(-1)
    status = library.cuPointerGetAttribute(ctypes.byref(ordinal), _DEVICE_ORDINAL, ctypes.c_uint64(address))
    return ordinal.value if status == 0 and ordinal.value >= 0 else None


def current_device() -> int:
    """Return the number of the device whose context is current in this thread; 0 if none is."""
    try:
        library = cuda_library()
    except OSError:
        return 0
    ordinal = ctypes.c_int(0)
    return ordinal.value if library.cuCtxGetDevice(ctypes.byref(ordinal)) == 0 else 0


@contextmanager
def errors_as(what: str, whose: str) -> Iterator[None]:
    """Turn CUDA's errors into `BackendError`.

    Args:
        what: The operation, for the error's first line.
        whose: The runner or loader.
    """
    cuda = driver()
    try:
        yield
    except cuda.MemoryError as error:
        raise BackendError(
            f"{what}: out of memory",
            whose=whose,
            why=f"{describe_exception(error)}; {_memory()}",
            hint="take smaller shapes or another device, or close what nvidia-smi lists",
        ) from error
    except cuda.Error as error:
        raise BackendError(
            f"{what}: CUDA failed", whose=whose, why=describe_exception(error), hint="nvidia-smi; dmesg | grep -i xid"
        ) from error


def _memory() -> str:
    cuda = driver()
    try:
        free, total = cuda.mem_get_info()
    except cuda.Error:
        return "the device does not answer"
    return f"{free >> 20} of {total >> 20} MiB are free"


#: With less than this free, a lack of memory is the cause of any error of TensorRT.
_HARDLY_ANY = 256 << 20


def memory_trouble() -> str:
    """Return a message if the current device has hardly any memory left; empty if it has, or if that is unknown."""
    try:
        free, total = driver().mem_get_info()
    except Exception:  # noqa: BLE001  (no driver, no current context: then the cause is another one, and is reported)
        return ""
    return f"out of memory: {free >> 20} of {total >> 20} MiB are free" if free < min(_HARDLY_ANY, total // 8) else ""


class DeviceBuffer:
    """Device memory that only grows; needs a current context to resize and to free.

    Attributes:
        address: Address of the memory; 0 before the first `reserve`.
        capacity: Size in bytes.
    """

    def __init__(self) -> None:
        self.address = 0
        self.capacity = 0
        self._allocation: Any = None

    def reserve(self, nbytes: int) -> int:
        """Reserve at least so many bytes and return the address, which is never 0, even for no bytes.

        Its content is lost when it has to grow.
        """
        if nbytes > self.capacity or not self.address:
            self.free()
            size = max(ALIGNMENT, -(-nbytes // ALIGNMENT) * ALIGNMENT)
            self._allocation = driver().mem_alloc(size)
            self.address = int(self._allocation)
            self.capacity = size
        return self.address

    def free(self) -> None:
        """Free the memory; may be called twice."""
        allocation, self._allocation = self._allocation, None
        self.address = self.capacity = 0
        if allocation is not None:
            allocation.free()


class HostBuffer:
    """Pinned host memory that only grows, so that copies to and from the device run at full speed.

    Attributes:
        raw: All of it as bytes.
    """

    def __init__(self) -> None:
        self.raw: NDArray[np.uint8] = np.empty(0, np.uint8)

    def reserve(self, nbytes: int) -> NDArray[np.uint8]:
        """Return the first bytes, after growing the buffer if needed, which loses its content."""
        if nbytes > self.raw.size:
            self.free()
            self.raw = pinned_empty((nbytes,), np.uint8)
        return self.raw[:nbytes]

    @property
    def address(self) -> int:
        """Address at which the memory starts."""
        return int(self.raw.ctypes.data)

    def free(self) -> None:
        """Release the memory once no array refers to it any more."""
        self.raw = np.empty(0, np.uint8)


def pinned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array in page-locked host memory, or in ordinary memory where none can be locked.

    A runner copies such an array to the device without staging it first. Needs a current CUDA context.
    """
    cuda = driver()
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if not count:
        return np.empty(shape, dtype)
    try:
        raw = cuda.pagelocked_empty((count * dtype.itemsize,), np.uint8)
    except cuda.Error:  # a limit on locked memory makes copies slower, not wrong
        raw = np.empty(count * dtype.itemsize, np.uint8)
    return np.asarray(raw.view(dtype).reshape(shape))

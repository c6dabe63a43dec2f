"""The calls of `pycuda.driver` that this package makes, on NVIDIA's own `cuda-bindings`, which need no compiler.

`pycuda` is published as source alone. Where it is not installed, an object of this module's `DriverApi` takes its
place: same names, same arguments, same errors, and no more than is used here.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import DTypeLike, NDArray


class Error(Exception):
    """A call of CUDA failed."""


class MemoryError(Error):  # noqa: A001  (the name that pycuda gives it)
    """A call of CUDA failed for want of memory."""


class PagelockedHostAllocation:
    """Page-locked host memory that arrays are made of; freed with the last of them.

    Args:
        api: CUDA.
        nbytes: Size in bytes, above 0.
    """

    def __init__(self, api: DriverApi, nbytes: int) -> None:
        self._context = api.current_context()
        address = int(api.call("cuMemHostAlloc", nbytes, 0))
        self.__array_interface__ = {"shape": (nbytes,), "typestr": "|u1", "data": (address, False), "version": 3}
        weakref.finalize(self, _in_context, api, self._context, "cuMemFreeHost", address)


class DeviceAllocation:
    """Device memory; its number is its address.

    Args:
        api: CUDA.
        nbytes: Size in bytes, above 0.
    """

    def __init__(self, api: DriverApi, nbytes: int) -> None:
        self._api = api
        self._address = api.call("cuMemAlloc", nbytes)

    def __int__(self) -> int:
        return int(self._address)

    def free(self) -> None:
        """Free the memory, in the context that allocated it."""
        self._api.call("cuMemFree", self._address)


class Context:
    """The primary context of a device.

    Args:
        api: CUDA.
        device: The device, as `cuDeviceGet` gives it.
    """

    def __init__(self, api: DriverApi, device: Any) -> None:
        self._api = api
        self._device = device
        self.handle = api.call("cuDevicePrimaryCtxRetain", device)

    def push(self) -> None:
        """Make the context current for this thread."""
        self._api.call("cuCtxPushCurrent", self.handle)

    def pop(self) -> None:
        """Make the previous context current again."""
        self._api.call("cuCtxPopCurrent")

    def detach(self) -> None:
        """Release it."""
        self._api.call("cuDevicePrimaryCtxRelease", self._device)


class _Contexts:
    """Methods of `pycuda.driver.Context` on the current context, whichever it is."""

    def __init__(self, api: DriverApi) -> None:
        self._api = api

    def synchronize(self) -> None:
        """Wait for all work of the current context."""
        self._api.call("cuCtxSynchronize")


class Device:
    """A device by its number.

    Args:
        api: CUDA.
        number: Counted from 0.
    """

    def __init__(self, api: DriverApi, number: int) -> None:
        self._api = api
        self._device = api.call("cuDeviceGet", number)

    def retain_primary_context(self) -> Context:
        """Return its primary context, which lives until it is detached."""
        return Context(self._api, self._device)


class _Devices:
    """Class methods of `pycuda.driver.Device`."""

    def __init__(self, api: DriverApi) -> None:
        self._api = api

    def __call__(self, number: int) -> Device:
        return Device(self._api, number)

    def count(self) -> int:
        """Count the devices."""
        return int(self._api.call("cuDeviceGetCount"))


class CudaStream:
    """A stream of the current context.

    Args:
        api: CUDA.

    Attributes:
        handle: Address of the stream, as TensorRT takes it.
    """

    def __init__(self, api: DriverApi) -> None:
        self._context = api.current_context()
        self.raw = api.call("cuStreamCreate", 0)
        self.handle = int(self.raw)
        self._wait = api.prepared("cuStreamSynchronize")
        weakref.finalize(self, _in_context, api, self._context, "cuStreamDestroy", self.raw)

    def synchronize(self) -> None:
        """Wait for all that it was given."""
        self._wait(self.raw)


class CudaEvent:
    """A moment in a stream.

    Args:
        api: CUDA.
    """

    def __init__(self, api: DriverApi) -> None:
        self._context = api.current_context()
        self._api = api
        self.raw = api.call("cuEventCreate", 0)
        self._record = api.prepared("cuEventRecord")
        weakref.finalize(self, _in_context, api, self._context, "cuEventDestroy", self.raw)

    def record(self, stream: CudaStream) -> None:
        """Record the event at the end of the work that a stream has queued."""
        self._record(self.raw, stream.raw)

    def time_since(self, earlier: CudaEvent) -> float:
        """Return the milliseconds since another event."""
        return float(self._api.call("cuEventElapsedTime", earlier.raw, self.raw))


class DriverApi:
    """Stands in place of the module `pycuda.driver`.

    Args:
        bindings: `cuda.bindings.driver`.
    """

    Error = Error
    MemoryError = MemoryError

    def __init__(self, bindings: ModuleType) -> None:
        self._bindings = bindings
        self._success = bindings.CUresult.CUDA_SUCCESS
        self.Context = _Contexts(self)
        self.Device = _Devices(self)
        self._copy_in = self.prepared("cuMemcpyHtoDAsync")
        self._copy_out = self.prepared("cuMemcpyDtoHAsync")

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of CUDA's driver and return its result, which is None for most.

        Raises:
            MemoryError: There is not enough memory.
            Error: It fails otherwise.
        """
        status, *values = getattr(self._bindings, name)(*arguments)
        self._check(name, status)
        return values[0] if values else None

    def prepared(self, name: str) -> Any:
        """Return a function of CUDA's driver that gives nothing, for calls that have to be quick."""
        function, success, check = getattr(self._bindings, name), self._success, self._check

        def call(*arguments: Any) -> None:
            status = function(*arguments)[0]
            if status is not success:
                check(name, status)

        return call

    def _check(self, name: str, status: Any) -> None:
        if status == self._success:
            return
        lookup_status, text = self._bindings.cuGetErrorString(status)
        why = text.decode() if lookup_status == self._success and isinstance(text, bytes) else status.name
        kind = MemoryError if status == self._bindings.CUresult.CUDA_ERROR_OUT_OF_MEMORY else Error
        raise kind(f"{name} failed: {why}")

    def init(self) -> None:
        """Start CUDA.

        Raises:
            Error: There is no driver, or none new enough.
        """
        try:
            self.call("cuInit", 0)
        except RuntimeError as error:  # the bindings load the driver's library at the first call
            raise Error(f"cuInit failed: {error}") from error

    def current_context(self) -> Any:
        """Return the handle of the current context."""
        return self.call("cuCtxGetCurrent")

    def Stream(self) -> CudaStream:  # noqa: N802  (pycuda's name)
        """Return a new stream of the current context."""
        return CudaStream(self)

    def Event(self) -> CudaEvent:  # noqa: N802  (pycuda's name)
        """Return a new event of the current context."""
        return CudaEvent(self)

    def mem_alloc(self, nbytes: int) -> DeviceAllocation:
        """Return new device memory."""
        return DeviceAllocation(self, nbytes)

    def mem_get_info(self) -> tuple[int, int]:
        """Return the free and the total memory of the device in bytes."""
        status, free, total = self._bindings.cuMemGetInfo()
        self._check("cuMemGetInfo", status)
        return int(free), int(total)

    def pagelocked_empty(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an uninitialised array in page-locked host memory."""
        dtype = np.dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.asarray(PagelockedHostAllocation(self, nbytes)).view(dtype).reshape(shape)

    def memcpy_htod_async(self, address: int, array: NDArray[Any], stream: CudaStream) -> None:
        """Copy a contiguous array to the device, in the order of a stream."""
        self._copy_in(address, array.ctypes.data, array.nbytes, stream.raw)

    def memcpy_dtoh_async(self, array: NDArray[Any], address: int, stream: CudaStream) -> None:
        """Copy from the device into a contiguous array, in the order of a stream."""
        self._copy_out(array.ctypes.data, address, array.nbytes, stream.raw)

    def memcpy_htod(self, address: int, array: NDArray[Any]) -> None:
        """Copy a contiguous array to the device."""
        self.call("cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)

    def memcpy_dtoh(self, array: NDArray[Any], address: int) -> None:
        """Copy from the device into a contiguous array."""
        self.call("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)

    def memcpy_dtod_async(self, target: int, source: int, nbytes: int, stream: CudaStream) -> None:
        """Copy within the device, in the order of a stream."""
        self.call("cuMemcpyDtoDAsync", target, source, nbytes, stream.raw)

    def memcpy_peer_async(
        self, target: int, source: int, nbytes: int, own: Context, other: Context, stream: CudaStream
    ) -> None:
        """Copy from one device to another, in the order of a stream."""
        self.call("cuMemcpyPeerAsync", target, own.handle, source, other.handle, nbytes, stream.raw)


def _in_context(api: DriverApi, context: Any, name: str, argument: Any) -> None:
    """Call what gives something back, in its own context; at the end of the process it may be gone already."""
    try:
        api.call("cuCtxPushCurrent", context)
    except Error:
        return
    try:
        api.call(name, argument)
    except Error:
        pass
    finally:
        api.call("cuCtxPopCurrent")

"""Device memory for programs that drive TensorRT themselves, without a CUDA package."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import DataError
from polycmp.tensors import format_shape
from polycmp_trt.run.cuda import DeviceBuffer, current, current_device, driver, errors_as
from polycmp_trt.run.stream import Stream
from polycmp_trt.run.views import DeviceView, host_bytes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

_LOG = logging.getLogger("polycmp.trt")


class DeviceArray(DeviceView):
    """An array in memory of its own on the device that is current.

    Args:
        shape: Dimensions; those of a single element by default.
        dtype: Element type; float32 by default.

    Raises:
        BackendError: There is no device, or not enough memory.
        PluginError: Neither cuda-bindings nor pycuda is installed.
    """

    __slots__ = ("_buffer", "_pending_copy")

    def __init__(self, shape: Iterable[int] | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(0, (), np.float32 if dtype is None else dtype, device=current_device())
        self._buffer = DeviceBuffer()
        self._pending_copy: Any = None
        self.resize(() if shape is None else shape)

    @staticmethod
    def raw(shape: Iterable[int] | None = None) -> DeviceArray:
        """Return an array of so many bytes, for what has no one element type."""
        return DeviceArray(shape, np.uint8)

    @property
    def allocated_nbytes(self) -> int:
        """Bytes that it holds, of which `shape` may use less."""
        return self._buffer.capacity

    def resize(self, shape: Iterable[int]) -> DeviceArray:
        """Change the shape and return the array; its content is lost where it has to grow.

        Raises:
            BackendError: There is not enough memory.
        """
        dims = tuple(int(dim) for dim in shape)
        nbytes = int(np.prod(dims, dtype=np.int64)) * self.dtype.itemsize
        with current(self.device or 0), errors_as(f"taking {nbytes} bytes on the device", "cuda"):
            self.ptr = self._buffer.reserve(nbytes)
        self.shape = dims
        return self

    def free(self) -> None:
        """Free the memory; may be called twice."""
        with current(self.device or 0), errors_as("giving device memory back", "cuda"):
            self._buffer.free()
        self.ptr, self.shape, self._pending_copy = 0, (), None

    def copy_from(self, host_buffer: Any, stream: Stream | None = None) -> DeviceArray:
        """Copy an array of the host here and return this one.

        Args:
            host_buffer: A contiguous NumPy array or torch tensor that is not larger than this array.
            stream: Copy in the order of this stream; the array must then stay as it is until the stream is done.

        Raises:
            DataError: It is not contiguous, or larger than this array.
        """
        raw, dtype = host_bytes(host_buffer)
        if raw.size > self.nbytes:
            raise DataError(
                f"{raw.size} bytes do not fit into the {self.nbytes} of a device array of {self.dtype.name}"
                f"{format_shape(self.shape)}",
                hint="array.resize(shape) first",
            )
        if self.dtype not in (dtype, np.uint8):
            _LOG.warning("an array of %s is copied into a device array of %s as it is", dtype, self.dtype)
        if not raw.size:
            return self
        with current(self.device or 0), errors_as("copying to the device", "cuda"):
            if stream is None:
                driver().memcpy_htod(self.ptr, raw)
            else:
                self._pending_copy = raw
                driver().memcpy_htod_async(self.ptr, raw, stream.handle)
        return self

    def view(self, shape: Iterable[int] | None = None, dtype: DTypeLike | None = None) -> DeviceView:
        """Return a view of the memory in another shape or element type.

        Raises:
            DataError: It would be larger than this array.
        """
        dims = self.shape if shape is None else tuple(shape)
        seen = DeviceView(self.ptr, dims, self.dtype if dtype is None else dtype, owner=self, device=self.device)
        if seen.nbytes > self.nbytes:
            raise DataError(f"a view of {seen.nbytes} bytes does not fit into the {self.nbytes} of its array")
        return seen

    def __enter__(self) -> DeviceArray:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name!r})"

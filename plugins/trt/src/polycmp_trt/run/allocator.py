"""Callbacks for TensorRT while it runs: memory for outputs of unknown size, and debug tensors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.tensors import is_low_bit
from polycmp_trt.features import has, import_tensorrt, supports
from polycmp_trt.run.cuda import DeviceBuffer, driver
from polycmp_trt.run.layout import numpy_dtype
from polycmp_trt.run.views import DeviceView, capsule_pointer

if TYPE_CHECKING:
    from types import ModuleType

    import tensorrt as trt
    from tensorrt import DataType, Dims, TensorLocation


@cache
def output_allocator_class() -> type[trt.IOutputAllocator]:
    """Return the class that gives memory to an output whose shape depends on the data."""
    trt = import_tensorrt()

    class OutputAllocator(trt.IOutputAllocator):  # type: ignore[misc,name-defined]
        """Keeps one buffer that grows; `shape` is the output's shape after a run, None before.

        An exception must not cross into TensorRT, so one that happens is kept in `error`.
        """

        def __init__(self, buffer: DeviceBuffer) -> None:
            trt.IOutputAllocator.__init__(self)
            self.buffer = buffer
            self.shape: tuple[int, ...] | None = None
            self.error: Exception | None = None

        def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int:
            try:
                return self.buffer.reserve(size)
            except Exception as error:  # noqa: BLE001  (TensorRT would end the process)
                self.error = error
                return 0

        def reallocate_output_async(self, tensor_name: str, memory: int, size: int, alignment: int, stream: int) -> int:
            return self.reallocate_output(tensor_name, memory, size, alignment)

        def notify_shape(self, tensor_name: str, shape: Dims) -> None:
            self.shape = tuple(int(dim) for dim in shape)

    return OutputAllocator


@cache
def debug_listener_class() -> type[trt.IDebugListener]:
    """Return the class that copies debug tensors to the host while an engine runs."""
    trt = import_tensorrt()

    class DebugListener(trt.IDebugListener):  # type: ignore[misc,name-defined]
        """Collects debug tensors by name in `tensors`; those of types that NumPy lacks are left out."""

        def __init__(self) -> None:
            trt.IDebugListener.__init__(self)
            self.tensors: dict[str, np.ndarray[Any, Any]] = {}
            self.error: Exception | None = None

        def process_debug_tensor(
            self,
            addr: int | object,
            location: TensorLocation,
            type: DataType,
            shape: Dims,
            name: str,
            stream: int,
        ) -> bool:
            try:
                array = _read(trt, addr, location, type, tuple(int(dim) for dim in shape), stream)
            except Exception as error:  # noqa: BLE001  (must not cross into TensorRT)
                self.error = error
                return False
            if array is not None:
                self.tensors[name] = array
            return True

    return DebugListener


def _read(
    trt: ModuleType,
    addr: int | object,
    location: trt.TensorLocation,
    dtype: trt.DataType,
    shape: tuple[int, ...],
    stream: int,
) -> np.ndarray[Any, Any] | None:
    kind = numpy_dtype(dtype)
    if is_low_bit(kind):
        return None
    address = addr if isinstance(addr, int) else capsule_pointer(addr, None)
    driver().Context.synchronize()  # what comes before on that stream, `stream`, is done then
    if location == trt.TensorLocation.HOST:
        import ctypes

        count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return np.array(np.frombuffer(ctypes.string_at(address, count), kind).reshape(shape))
    return DeviceView(address, shape, kind).numpy()


def listen(context: trt.IExecutionContext, listener: trt.IDebugListener | None = None) -> trt.IDebugListener | None:
    """Attach a listener for debug tensors to a context, and return it; None where the release has no debug tensors.

    Args:
        context: The execution context.
        listener: A `tensorrt.IDebugListener`; by default one that collects.
    """
    if not supports("debug_tensors"):
        return None
    listener = listener or debug_listener_class()()
    context.set_debug_listener(listener)
    context.set_all_tensors_debug_state(True)
    if has("IExecutionContext.unfused_tensors_debug_state="):
        context.unfused_tensors_debug_state = True
    return listener

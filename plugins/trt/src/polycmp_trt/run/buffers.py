"""One input or output of an engine: its memory on both sides, and the copies between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError
from polycmp_onnx.packing import pack, unpack
from polycmp_trt.features import import_tensorrt, supports
from polycmp_trt.run.cuda import DeviceBuffer, HostBuffer, driver
from polycmp_trt.run.layout import Layout, is_packed, numpy_dtype, storage_bytes
from polycmp_trt.run.views import DeviceView, is_pinned

if TYPE_CHECKING:
    from types import ModuleType

    import pycuda.driver as cuda
    import tensorrt as trt

#: Host arrays larger than this go to the device in pieces, so that staging one piece and copying another overlap.
PIECE = 4 << 20


@dataclass(frozen=True)
class TensorInfo:
    """Declaration of one input or output by an engine, read once.

    Attributes:
        name: Name of the tensor.
        dtype: Element type.
        shape: Dimensions in the engine, -1 where dynamic.
        on_host: TensorRT reads or writes it in host memory: a shape tensor.
        vectorized: The dimension that its format splits into vectors, -1 for none.
        components: Elements in a vector, 1 for none.
        linear: Whether its format is plain row-major.
        alias: For an output, the input whose memory it shares; empty if none.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    on_host: bool
    vectorized: int
    components: int
    linear: bool
    alias: str = ""

    @staticmethod
    def read(engine: trt.ICudaEngine, trt: ModuleType, name: str, alias: str = "") -> TensorInfo:
        """Read the properties of an engine's tensor."""
        vectorized = int(engine.get_tensor_vectorized_dim(name))
        components = int(engine.get_tensor_components_per_element(name))
        return TensorInfo(
            name,
            numpy_dtype(engine.get_tensor_dtype(name)),
            tuple(engine.get_tensor_shape(name)),
            engine.get_tensor_location(name) == trt.TensorLocation.HOST,
            vectorized,
            components if vectorized >= 0 and components > 0 else 1,
            engine.get_tensor_format(name) == trt.TensorFormat.LINEAR,
            alias,
        )


def read_bindings(engine: trt.ICudaEngine) -> tuple[list[Binding], list[Binding]]:
    """Return the inputs and the outputs of an engine, without memory yet."""
    trt = import_tensorrt()
    inputs: list[Binding] = []
    outputs: list[Binding] = []
    aliases = supports("aliased_io")
    for index in range(engine.num_io_tensors):
        name = engine.get_tensor_name(index)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            inputs.append(Binding(TensorInfo.read(engine, trt, name)))
        else:
            alias = engine.get_aliased_input_tensor(name) if aliases else None
            outputs.append(Binding(TensorInfo.read(engine, trt, name, alias or "")))
    return inputs, outputs


class Binding:
    """The memory of one tensor, ready for one shape at a time.

    Attributes:
        info: Name, type, shape and format of the tensor, as the engine declares them.
        shape: The present shape.
        view: The host array of that shape: staging for an input, the result for an output.
        raw: The same memory as bytes, what is copied to or from the device.
        layout: Layout of the elements on the device; None where it is the same as in NumPy.
        device: The memory on the device.
        host: The pinned memory.
        last_address: The address that TensorRT was given last.
    """

    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self.shape: tuple[int, ...] | None = None
        self.view: np.ndarray[Any, Any] = np.empty(0, info.dtype)
        self.raw: np.ndarray[Any, Any] = np.empty(0, np.uint8)
        self.layout: Layout | None = None
        self.device = DeviceBuffer()
        self.host = HostBuffer()
        self.last_address = 0
        self.packed = is_packed(info.dtype)

    @property
    def plain(self) -> bool:
        """Whether host and device hold the same bytes."""
        return self.layout is None and not self.packed

    def shape_for(self, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
        """Get memory ready for a shape.

        Args:
            shape: The dimensions, all known.
            strides: TensorRT's strides, needed where the format is not linear.
        """
        info = self.info
        self.layout = None
        if not info.linear and strides is not None:
            layout = Layout(shape, strides, info.vectorized, info.components)
            self.layout = None if layout.linear else layout
        nbytes = self.device_bytes(shape)
        if not info.on_host:
            self.device.reserve(nbytes)
        self.shape = shape
        self.raw = self.host.reserve(nbytes)
        self.view = self.raw.view(info.dtype).reshape(shape) if self.plain else np.empty(shape, info.dtype)

    def device_bytes(self, shape: tuple[int, ...]) -> int:
        """Return the bytes that a tensor of this shape takes on the device."""
        count = self.layout.count if self.layout is not None else int(np.prod(shape, dtype=np.int64))
        return storage_bytes(count, self.info.dtype)

    def upload(self, array: np.ndarray[Any, Any], stream: cuda.Stream) -> None:
        """Start copying a host array to the device; the array must stay as it is until the stream is done."""
        if not self.plain:
            self._stage(array)
        elif (
            array.base is not None and array.dtype == self.info.dtype and array.flags.c_contiguous and is_pinned(array)
        ):
            raw = array.reshape(-1).view(np.uint8)
            if raw.size:
                driver().memcpy_htod_async(self.device.address, raw, stream)
            return
        elif self.raw.size > PIECE and array.flags.c_contiguous:
            self._upload_pieces(array.reshape(-1).view(np.uint8), stream)
            return
        else:
            np.copyto(self.view, array)
        if self.raw.size:
            driver().memcpy_htod_async(self.device.address, self.raw, stream)

    def _upload_pieces(self, source: np.ndarray[Any, Any], stream: cuda.Stream) -> None:
        copy, raw, address = driver().memcpy_htod_async, self.raw, self.device.address
        for start in range(0, raw.size, PIECE):
            piece = raw[start : start + PIECE]
            np.copyto(piece, source[start : start + PIECE])
            copy(address + start, piece, stream)

    def _stage(self, array: np.ndarray[Any, Any]) -> None:
        if self.packed:
            if self.layout is not None:
                raise BackendError(f"{self.info.name!r} is 4-bit in a vectorised format", whose="trt")
            np.copyto(self.raw, pack(array, 4))
        elif self.layout is not None:
            self.layout.fill(self.raw.view(self.info.dtype), array)

    def download(self, address: int, stream: cuda.Stream) -> None:
        """Start copying the result to the host."""
        if self.raw.size:
            driver().memcpy_dtoh_async(self.raw, address, stream)

    def result(self) -> np.ndarray[Any, Any]:
        """Return the result as an ordinary array, once the copy is done."""
        if self.packed:
            return unpack(self.raw, 4, self.info.dtype, tuple(self.shape or ()))
        if self.layout is not None:
            return self.layout.extract(self.raw.view(self.info.dtype))
        return self.view

    def device_result(self, address: int, device: int) -> DeviceView:
        """Return the result where it lies on the device, vectors as a last dimension where the format has them."""
        shape, layout, size = self.shape or (), self.layout, self.info.dtype.itemsize
        if layout is None:
            return DeviceView(address, shape, self.info.dtype, owner=self, device=device)
        steps = tuple(stride * layout.components * size for stride in layout.strides)
        if layout.components == 1:
            return DeviceView(address, shape, self.info.dtype, steps, owner=self, device=device)
        shape, steps = (*layout.vectors, layout.components), (*steps, size)
        return DeviceView(address, shape, self.info.dtype, steps, owner=self, device=device)

    def free(self) -> None:
        """Free all memory."""
        self.device.free()
        self.host.free()
        self.shape, self.last_address = None, 0
        self.view, self.raw = np.empty(0, self.info.dtype), np.empty(0, np.uint8)

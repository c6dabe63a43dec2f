"""Inference for a feed with the shapes of the last one: nothing is set up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp_trt.run.buffers import Binding
from polycmp_trt.run.views import DeviceView

if TYPE_CHECKING:
    from types import ModuleType

    import pycuda.driver
    import tensorrt as trt

#: Above this many bytes the general path is not measurably slower, and need not stage pinned arrays.
LARGEST = 64 << 10


class FastPath:
    """Runs an engine again whose shapes, addresses and buffers are as they were.

    A tiny network takes about as long as Python takes for thirty calls, so this prepares everything beforehand and only
    copies, runs, copies, and waits.

    Args:
        cuda: `pycuda.driver`.
        primary: The CUDA context.
        context: TensorRT's execution context.
        stream: The stream.
        events: What is recorded before the first and after the last copy.
        inputs: The inputs, staged and ready.
        outputs: The outputs, ready.

    Attributes:
        arguments: The arguments of `infer` that it is for.
    """

    arguments: Mapping[str, bool] = {}

    def __init__(
        self,
        cuda: ModuleType,
        primary: pycuda.driver.Context,
        context: trt.IExecutionContext,
        stream: pycuda.driver.Stream,
        events: tuple[Any, Any],
        inputs: Sequence[Binding],
        outputs: Sequence[Binding],
    ) -> None:
        self._push, self._pop = primary.push, primary.pop
        self._to_device, self._to_host = cuda.memcpy_htod_async, cuda.memcpy_dtoh_async
        self._execute = context.execute_async_v3
        self._stream, self._handle = stream, int(stream.handle)
        self._start, self._stop = events
        self._checks = [(item.info.name, item.view.shape, item.info.dtype) for item in inputs]
        self._inputs = [(item.info.name, item.view, item.raw, item.device.address) for item in inputs]
        self._outputs = [(item.raw, item.device.address) for item in outputs if not item.info.on_host]
        self._results = {item.info.name: item.view for item in outputs}

    @staticmethod
    def possible(inputs: Sequence[Binding], outputs: Sequence[Binding]) -> bool:
        """Return whether all tensors are small, laid out as in NumPy, and in buffers of the runner's own."""
        return all(
            item.plain
            and not item.info.alias
            and 0 < item.raw.size <= LARGEST
            and (item.info.on_host or item.last_address == item.device.address)
            for item in (*inputs, *outputs)
        ) and not any(item.info.on_host for item in inputs)

    def takes(self, feed: Mapping[str, Any]) -> bool:
        """Return whether a feed has the names, types and shapes of the last one."""
        if len(feed) != len(self._checks):
            return False
        for name, shape, dtype in self._checks:
            value = feed.get(name)
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return False
        return True

    def run(self, feed: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the outputs by name; None if TensorRT refuses."""
        stream = self._stream
        self._push()
        try:
            self._start.record(stream)
            for name, view, raw, address in self._inputs:
                np.copyto(view, feed[name])
                self._to_device(address, raw, stream)
            if not self._execute(self._handle):
                return None
            for raw, address in self._outputs:
                self._to_host(raw, address, stream)
            self._stop.record(stream)
            stream.synchronize()
        finally:
            self._pop()
        return self._results.copy()


class DevicePath:
    """Runs an engine again whose inputs and outputs stay on the device, with shapes and buffers as they were.

    Args:
        primary: The CUDA context.
        context: TensorRT's execution context.
        stream: The stream.
        events: What is recorded before and after.
        inputs: The inputs, ready.
        outputs: The outputs by name, where they lie on the device.
        device: The number of the device.

    Attributes:
        arguments: The arguments of `infer` that it is for.
    """

    arguments: Mapping[str, bool] = {"copy_outputs_to_host": False}

    def __init__(
        self,
        primary: pycuda.driver.Context,
        context: trt.IExecutionContext,
        stream: pycuda.driver.Stream,
        events: tuple[Any, Any],
        inputs: Sequence[Binding],
        outputs: Mapping[str, DeviceView],
        device: int,
    ) -> None:
        self._push, self._pop = primary.push, primary.pop
        self._execute, self._set_address = context.execute_async_v3, context.set_tensor_address
        self._stream, self._handle = stream, int(stream.handle)
        self._start, self._stop = events
        self._inputs = [(item.info.name, item.shape, item.info.dtype, item) for item in inputs]
        self._results = dict(outputs)
        self._devices = (None, device)

    @staticmethod
    def possible(inputs: Sequence[Binding], outputs: Sequence[Binding]) -> bool:
        """Return whether no tensor lies on the host, in another layout, or in the memory of another."""
        return all(item.plain and not item.info.alias and not item.info.on_host for item in (*inputs, *outputs))

    def takes(self, feed: Mapping[str, Any]) -> bool:
        """Return whether a feed has views of the names, types and shapes of the last one, ready to be read."""
        if len(feed) != len(self._inputs):
            return False
        for name, shape, dtype, _ in self._inputs:
            value = feed.get(name)
            if type(value) is not DeviceView or value.shape != shape or value.dtype != dtype:
                return False
            if not value.ptr or value.stream not in {None, 1} or value.device not in self._devices:
                return False
        return True

    def run(self, feed: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return views of the outputs by name; None if TensorRT refuses."""
        stream = self._stream
        self._push()
        try:
            self._start.record(stream)
            for name, _, _, binding in self._inputs:
                address = feed[name].ptr
                if address != binding.last_address:
                    if not self._set_address(name, address):
                        return None
                    binding.last_address = address
            if not self._execute(self._handle):
                return None
            self._stop.record(stream)
            stream.synchronize()
        finally:
            self._pop()
        return self._results.copy()

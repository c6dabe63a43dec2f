"""Inference for a feed with the shapes of the last one: nothing is set up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polycmp_trt.run.buffers import Binding
from polycmp_trt.run.lane import Lane
from polycmp_trt.run.views import DeviceView

#: Above this many bytes the general path is not measurably slower, and need not stage pinned arrays.
LARGEST = 64 << 10


class Refused(Exception):  # noqa: N818  (no error of its own: the runner asks TensorRT why)
    """TensorRT did not take a run."""


class FastPath:
    """Runs an engine again whose shapes, addresses and buffers are as they were.

    A tiny network takes about as long as Python takes for thirty calls, so this prepares everything beforehand and only
    copies, runs, copies, and waits.

    Args:
        lane: Stream, context and events.
        inputs: The inputs, staged and ready.
        outputs: The outputs, ready.

    Attributes:
        arguments: The arguments of `infer` that it is for.
    """

    arguments: Mapping[str, bool] = {}

    def __init__(self, lane: Lane, inputs: Sequence[Binding], outputs: Sequence[Binding]) -> None:
        self._push, self._pop = lane.primary.push, lane.primary.pop
        self._to_device, self._to_host = lane.cuda.memcpy_htod_async, lane.cuda.memcpy_dtoh_async
        self._execute, self._wait = lane.execute, lane.stream.synchronize
        self._stream, self._handle = lane.stream, int(lane.stream.handle)
        self._start, self._stop = lane.start, lane.stop
        self._count = len(inputs)
        self._inputs = [
            (item.info.name, item.view.shape, item.info.dtype, item.view, item.raw, item.device.address)
            for item in inputs
        ]
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
        if len(feed) != self._count:
            return False
        for name, shape, dtype, *_ in self._inputs:
            value = feed.get(name)
            if type(value) is not np.ndarray or value.shape != shape:
                return False
            if value.dtype is not dtype and value.dtype != dtype:
                return False
        return True

    def run(self, feed: Mapping[str, Any], *, timed: bool) -> dict[str, Any]:
        """Return the outputs by name.

        Args:
            feed: Inputs by name.
            timed: Whether to record the events that tell how long it took.

        Raises:
            Refused: TensorRT does not take it.
        """
        stream = self._stream
        self._push()
        try:
            if timed:
                self._start.record(stream)
            for name, _, _, view, raw, address in self._inputs:
                view[...] = feed[name]  # in half the time of np.copyto
                self._to_device(address, raw, stream)
            if not self._execute(self._handle):
                raise Refused
            for raw, address in self._outputs:
                self._to_host(raw, address, stream)
            if timed:
                self._stop.record(stream)
            self._wait()
        finally:
            self._pop()
        return self._results.copy()


class DevicePath:
    """Runs an engine again whose inputs and outputs stay on the device, with shapes and buffers as they were.

    Args:
        lane: Stream, context and events.
        inputs: The inputs, ready.
        outputs: The outputs by name, where they lie on the device.

    Attributes:
        arguments: The arguments of `infer` that it is for.
    """

    arguments: Mapping[str, bool] = {"copy_outputs_to_host": False}

    def __init__(self, lane: Lane, inputs: Sequence[Binding], outputs: Mapping[str, DeviceView]) -> None:
        self._push, self._pop = lane.primary.push, lane.primary.pop
        self._execute, self._wait = lane.execute, lane.stream.synchronize
        self._set_address = lane.set_address
        self._stream, self._handle = lane.stream, int(lane.stream.handle)
        self._start, self._stop = lane.start, lane.stop
        self._count = len(inputs)
        self._inputs = [(item.info.name, item.shape, item.info.dtype, item) for item in inputs]
        self._results = dict(outputs)
        self._device = lane.device

    @staticmethod
    def possible(inputs: Sequence[Binding], outputs: Sequence[Binding]) -> bool:
        """Return whether no tensor lies on the host, in another layout, or in the memory of another."""
        return all(item.plain and not item.info.alias and not item.info.on_host for item in (*inputs, *outputs))

    def takes(self, feed: Mapping[str, Any]) -> bool:
        """Return whether a feed has views of the names, types and shapes of the last one, ready to be read."""
        if len(feed) != self._count:
            return False
        for name, shape, dtype, _ in self._inputs:
            value = feed.get(name)
            if type(value) is not DeviceView or not value.ptr or value.shape != shape:
                return False
            if value.dtype is not dtype and value.dtype != dtype:
                return False
            if value.stream is not None and value.stream != 1:
                return False
            if value.device is not None and value.device != self._device:
                return False
        return True

    def run(self, feed: Mapping[str, Any], *, timed: bool) -> dict[str, Any]:
        """Return views of the outputs by name.

        Args:
            feed: Inputs by name.
            timed: Whether to record the events that tell how long it took.

        Raises:
            Refused: TensorRT does not take it.
        """
        self._push()
        try:
            if timed:
                self._start.record(self._stream)
            for name, _, _, binding in self._inputs:
                address = feed[name].ptr
                if address != binding.last_address:
                    if not self._set_address(name, address):
                        raise Refused
                    binding.last_address = address
            if not self._execute(self._handle):
                raise Refused
            if timed:
                self._stop.record(self._stream)
            self._wait()
        finally:
            self._pop()
        return self._results.copy()


def fast_path(
    lane: Lane, inputs: Sequence[Binding], outputs: Sequence[Binding], made: Mapping[str, Any], *, on_host: bool
) -> FastPath | DevicePath | None:
    """Return the way to run again what has just been run; None if only the general way will do.

    Args:
        lane: Stream, context and events.
        inputs: The inputs, ready.
        outputs: The outputs, ready.
        made: Outputs that the run returned, by name.
        on_host: Whether its outputs were copied to the host.
    """
    if not on_host:
        return DevicePath(lane, inputs, made) if DevicePath.possible(inputs, outputs) else None
    return FastPath(lane, inputs, outputs) if FastPath.possible(inputs, outputs) else None

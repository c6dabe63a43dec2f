"""Streams for programs that drive TensorRT themselves, without a CUDA package."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from polycmp.errors import BackendError
from polycmp_trt.run.cuda import current, current_device, driver, errors_as


class Stream:
    """A CUDA stream on the device that is current, which TensorRT and torch take by its address.

    Attributes:
        ptr: Address of the stream; 0 once it is freed.
        device: Number of its CUDA device.

    Raises:
        BackendError: There is no device.
        PluginError: Neither cuda-bindings nor pycuda is installed.
    """

    __slots__ = ("_stream", "device", "ptr")

    def __init__(self) -> None:
        self.device = current_device()
        with current(self.device), errors_as("making a stream", "cuda"):
            self._stream: Any = driver().Stream()
        self.ptr = int(self._stream.handle)

    @property
    def handle(self) -> Any:
        """The stream as the CUDA package that is installed holds it.

        Raises:
            BackendError: It was freed.
        """
        if self._stream is None:
            raise BackendError("the stream was freed", whose="cuda", hint="make a new Stream()")
        return self._stream

    def synchronize(self) -> None:
        """Wait for all that the stream was given.

        Raises:
            BackendError: It was freed, or work on it failed.
        """
        stream = self.handle
        with current(self.device), errors_as("waiting for a stream", "cuda"):
            stream.synchronize()

    def free(self) -> None:
        """Destroy the stream; may be called twice."""
        self._stream, self.ptr = None, 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

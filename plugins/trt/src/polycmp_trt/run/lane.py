"""Resources that all runs of one engine share: context, stream, events; and inputs that are on a device already."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from polycmp_trt.run.buffers import Binding
from polycmp_trt.run.cuda import primary_context
from polycmp_trt.run.views import DeviceView

if TYPE_CHECKING:
    from types import ModuleType

    import pycuda.driver


@dataclass(frozen=True)
class Lane:
    """Resources that all runs of one engine share.

    Attributes:
        cuda: `pycuda.driver`.
        primary: The CUDA context.
        execute: Starts the inference on the stream of a handle; returns whether TensorRT takes it.
        set_address: Tells TensorRT where a tensor lies; returns whether TensorRT takes it.
        stream: The stream.
        start: The event recorded before everything.
        stop: The event recorded after everything.
        device: The number of the device.
    """

    cuda: ModuleType
    primary: pycuda.driver.Context
    execute: Callable[[int], bool]
    set_address: Callable[[str, int], bool]
    stream: pycuda.driver.Stream
    start: Any
    stop: Any
    device: int

    def place(self, binding: Binding, value: DeviceView, aliased: Collection[str]) -> int:
        """Return the address at which TensorRT finds an input that is on a device already.

        Args:
            binding: The input.
            value: The view of the input on the device.
            aliased: Inputs whose memory TensorRT writes outputs to.
        """
        if value.stream not in {None, 1}:  # CUDA orders the stream after the default stream by itself
            self.cuda.Context.synchronize()
        if not binding.plain:  # another layout is made on the host
            binding.upload(value.numpy(), self.stream)
        elif value.device not in {None, self.device}:
            if value.nbytes:
                contexts = self.primary, primary_context(value.device or 0)
                self.cuda.memcpy_peer_async(binding.device.address, value.ptr, value.nbytes, *contexts, self.stream)
        elif binding.info.name in aliased:  # what TensorRT writes here must not go to memory of the caller's
            if value.nbytes:
                self.cuda.memcpy_dtod_async(binding.device.address, value.ptr, value.nbytes, self.stream)
        else:
            return value.ptr or binding.device.address
        return binding.device.address

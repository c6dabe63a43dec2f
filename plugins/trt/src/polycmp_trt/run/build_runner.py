"""A backend that stops once its engine is built."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_trt.features import import_tensorrt
from polycmp_trt.run.cuda import current, errors_as

if TYPE_CHECKING:
    from collections.abc import Callable

    import tensorrt as trt


class BuildRunner(Runner):
    """Builds an engine when it is activated, with everything that is written on the way, and runs nothing.

    Args:
        engine: Makes the engine.
        name: The label in reports.
        device: The CUDA device.
    """

    def __init__(self, engine: Callable[[], trt.ICudaEngine], name: str = "", device: int = 0) -> None:
        super().__init__(name)
        self._engine = engine
        self.device = device

    def activate_impl(self) -> None:
        """Build the engine.

        Raises:
            BackendError: There is no device, or TensorRT cannot build it.
        """
        import_tensorrt()
        start = time.perf_counter()
        with errors_as("cannot build", self.name), current(self.device):
            self._engine()
        self.notes.append(f"built in {time.perf_counter() - start:.1f} s, and not run, as asked (build_only)")

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return nothing: it is fed with nothing."""
        return TensorMetadata()

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return nothing."""
        return {}

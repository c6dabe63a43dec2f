"""One backend in two runs: on its own state, and on the reference's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polycmp.runner import Runner, infer, input_metadata
from polycmp.runs import copy_feed
from polycmp.tensors import TensorMetadata


class Shared:
    """A runner that several handles have in common; it is active as long as one of them is.

    Args:
        make: Makes the runner.
    """

    def __init__(self, make: Callable[[], Runner]) -> None:
        self._make = make
        self._users = 0
        self.runner: Runner | None = None

    def acquire(self) -> Runner:
        """Return the runner, active."""
        if self.runner is None:
            runner = self._make()
            runner.activate()
            self.runner = runner
        self._users += 1
        return self.runner

    def release(self) -> None:
        """Release the runner."""
        self._users -= 1
        if self._users == 0 and self.runner is not None:
            runner, self.runner = self.runner, None
            runner.deactivate()


class Handle(Runner):
    """A runner that delegates to a shared one.

    Args:
        shared: The shared one.
        name: Label of the runner.
    """

    outputs_stay_valid = True

    def __init__(self, shared: Shared, name: str) -> None:
        super().__init__(name)
        self._shared = shared
        self._real: Runner | None = None

    def activate_impl(self) -> None:
        """Activate the shared runner, unless it is."""
        self._real = self._shared.acquire()
        self.backend_version = self._real.backend_version

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the shared runner's inputs."""
        assert self._real is not None
        return input_metadata(self._real)

    def infer_impl(self, feed_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Run the shared runner."""
        assert self._real is not None
        outputs = infer(self._real, feed_dict)
        self.inference_time = self._real.last_inference_time()
        if self._real.outputs_stay_valid:
            return outputs
        return dict(copy_feed(outputs))  # the other handle's call may overwrite them

    def deactivate_impl(self) -> None:
        """Release the shared runner."""
        assert self._real is not None
        self.notes = list(self._real.notes)
        self._real = None
        self._shared.release()

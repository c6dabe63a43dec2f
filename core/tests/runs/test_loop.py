"""One loop over the iterations of several runs."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import BackendRun
from polycmp.runs.loop import Pace, run_steps
from polycmp.tensors import TensorMetadata


class Constant(Runner):
    """Makes the same number of all inputs, and claims that a call took some seconds."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(name)
        self.seconds, self.calls = seconds, 0

    def activate_impl(self) -> None:
        pass

    def get_input_metadata_impl(self) -> TensorMetadata:
        return TensorMetadata().add("x", np.dtype(np.float32), (3,))

    def infer_impl(self, feed_dict):
        self.calls += 1
        self.inference_time = self.seconds
        return {"y": np.ones(1, np.float32)}

    def deactivate_impl(self) -> None:
        pass


@pytest.mark.parametrize(("sequential", "asked"), [(False, "fast"), (True, "slow")])
def test_one_run_alone_is_asked_whether_outputs_move_the_fastest_of_those_at_hand(sequential, asked):
    runners = [Constant("slow", 9.0), Constant("fast", 0.001)]
    runs = [BackendRun(BackendResult(item.name, "constant"), lambda item=item: item) for item in runners]

    def source(inputs):
        return [{"x": np.arange(3, dtype=np.float32)}]

    found = [step.find_still() for step in run_steps(runs, source, Pace(sequential=sequential, iterations=1))]
    assert found == [asked]
    assert {item.name: item.calls for item in runners} == {"slow": 1, "fast": 1, asked: 2}

"""One loop over the iterations of several runs."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import BackendRun
from polycmp.runs.loop import Schedule, run_steps
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


@pytest.mark.parametrize(("iterations", "calls"), [(1, {"slow": 1, "fast": 2}), (2, {"slow": 2, "fast": 2})])
def test_the_fastest_run_can_be_asked_again_alone_where_no_iteration_follows(iterations, calls):
    runners = [Constant("slow", 9.0), Constant("fast", 0.001)]
    runs = [BackendRun(BackendResult(item.name, "constant"), lambda item=item: item) for item in runners]

    def source(inputs):
        return [{"x": np.arange(3, dtype=np.float32)}]

    for step in run_steps(runs, source, Schedule(iterations=iterations)):
        assert step.fastest == "fast"
        assert step.again(step.feed)["y"] == 1
    assert {item.name: item.calls for item in runners} == calls


def test_the_last_run_of_a_sequence_can_be_asked_again_beside_the_first_iteration():
    runs = [BackendRun(BackendResult(label, "constant"), lambda: Constant("one", 1.0)) for label in ("one", "two")]
    feed = {"x": np.ones(3, np.float32)}
    steps = run_steps(runs, lambda _: [feed, feed], Schedule(sequential=True))
    step = next(steps)
    assert (step.fastest, [run.is_active for run in runs], list(step.again(feed))) == ("two", [False, True], ["y"])
    step = next(steps)
    assert (step.fastest, step.again(feed), runs[1].is_active) == ("", None, False)

"""One backend of a run: what its record holds while it is well and after it has failed."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import BackendError
from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import BackendRun
from polycmp.tensors import TensorMetadata

FEED = {"x": np.ones(4, np.float32)}


class Doubling(Runner):
    """Doubles its input, and fails in a call if it is told to; each call takes as many seconds as its number."""

    def __init__(self, fails_in=0):
        super().__init__("doubling")
        self.calls, self.fails_in = 0, fails_in

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", np.float32, (4,))

    def infer_impl(self, feed_dict):
        self.calls += 1
        if self.calls == self.fails_in:
            raise BackendError("no more")
        return {"y": feed_dict["x"] * 2}

    def last_inference_time(self):
        return float(self.calls)


@pytest.fixture
def run_with():
    """Return a run with an active runner."""

    def make(**options):
        result = BackendResult("doubling", "doubling", "1", {}, "", 0, None)
        run = BackendRun(result, lambda: Doubling(**options))
        run.activate()
        return run

    return make


def test_the_durations_are_those_of_all_calls(run_with):
    run = run_with()
    run.infer(FEED, measure=False)
    for _ in range(4):
        run.infer(FEED)
    run.deactivate()
    timing = run.result.timing
    assert (timing.first, timing.median, timing.mean, timing.count) == (1.0, 3.5, 3.5, 5)
    assert run.result.iterations == 4
    assert run.last_seconds == 5.0


def test_a_run_that_fails_keeps_the_durations_of_what_it_did(run_with):
    run = run_with(fails_in=3)
    outputs = [run.infer(FEED) for _ in range(3)]
    run.deactivate()
    assert [item is None for item in outputs] == [False, False, True]
    assert (run.result.timing.count, run.result.iterations) == (2, 2)
    assert run.result.error == "no more (in iteration 2)"


def test_a_run_that_never_ran_has_no_durations(run_with):
    run = run_with()
    run.deactivate()
    assert run.result.timing is None


def test_what_was_done_with_other_inputs_is_forgotten(run_with):
    run = run_with()
    run.infer(FEED)
    run.infer(FEED)
    run.start_again()
    assert (run.result.iterations, run.result.timing) == (0, None)
    run.infer(FEED)
    run.deactivate()
    assert (run.result.timing.first, run.result.timing.count) == (3.0, 1)


def test_beside_the_iterations_nothing_is_recorded_and_a_failure_is_none(run_with):
    run = run_with(fails_in=2)
    beside = run.infer_beside(FEED)
    assert np.array_equal(beside["y"], np.full(4, 2, np.float32))
    assert run.infer_beside(FEED) is None
    run.deactivate()
    assert (run.result.iterations, run.result.timing, run.result.error) == (0, None, "")

"""`Comparator.run(use_subprocess=True)`: each runner in a copy of this process."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from polycmp.builtin.workers.forked import ForkedRunner
from polycmp.comparator import Comparator
from polycmp.errors import BackendError, DataError, WorkerError
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata

FEEDS = [{"x": np.full((2, 3), value, np.float32)} for value in (1.0, 2.0, 3.0)]


class Calling(Runner):
    """Has an output that a function makes: a lambda, say, which nothing can pickle."""

    def __init__(self, name, function):
        super().__init__(name)
        self._function = function
        self.calls = 0

    def get_input_metadata_impl(self):
        return TensorMetadata().add("x", np.float32, (2, 3))

    def infer_impl(self, feed_dict):
        self.calls += 1
        return {"y": self._function(feed_dict["x"]), "process": np.array([os.getpid()]), "call": np.array([self.calls])}


class Session:
    """An object that refers to itself, and whose end takes its own process: a native library's waits for threads."""

    def __init__(self) -> None:
        self.session, self.process = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.process:
            os._exit(9)


def crash(_):
    os.kill(os.getpid(), signal.SIGKILL)


def complain(_):
    raise ValueError("no such weather")


def children() -> set[str]:
    """Return the numbers of this process's children on Linux, those included that ended and were not waited for."""
    return {number for listed in Path("/proc/self/task").glob("*/children") for number in listed.read_text().split()}


@pytest.fixture(autouse=True)
def _nothing_is_left():
    before = children()  # of tests that ran in this process before
    yield
    assert children() <= before


@pytest.mark.parametrize("streaming", [False, True])
def test_each_runner_has_a_process_and_all_iterations(streaming):
    runners = [Calling("double", lambda x: 2 * x), Calling("half", lambda x: x / 2)]
    results = Comparator.run(runners, FEEDS, use_subprocess=True, streaming=streaming)
    if streaming:
        steps = list(results)
        results = {name: [step[name][0] for step in steps] for name in ("double", "half")}
    for name, factor in (("double", 2.0), ("half", 0.5)):
        made = [iteration["y"].copy() for iteration in results[name]]
        assert [float(array[0, 0]) for array in made] == [factor, 2 * factor, 3 * factor]
        assert all(array.shape == (2, 3) and array.dtype == np.float32 for array in made)
    processes = {int(iteration["process"][0]) for name in ("double", "half") for iteration in results[name]}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert [runner.calls for runner in runners] == [0, 0]


def test_warm_up_runs_there_too_and_inputs_and_outputs_are_saved(tmp_path):
    path = str(tmp_path / "outputs.json")
    results = Comparator.run(
        [Calling("double", lambda x: 2 * x)], FEEDS, use_subprocess=True, warm_up=2, save_outputs_path=path
    )
    assert [int(iteration["call"][0]) for iteration in results["double"]] == [3, 4, 5]
    assert os.path.getsize(path)


def leave(_):
    print("the licence has expired")
    os._exit(3)


def test_what_it_prints_last_says_why_it_ended(capsys):
    with pytest.raises(WorkerError, match="ended with exit status 3") as told:
        Comparator.run([Calling("licensed", leave)], FEEDS, use_subprocess=True)
    assert "the licence has expired" in str(told.value)
    assert capsys.readouterr().err == "the licence has expired\n"


def test_it_outlives_the_thread_that_started_it():
    runner = ForkedRunner(Calling("double", lambda x: 2 * x))
    thread = threading.Thread(target=runner.activate)
    thread.start()
    thread.join()
    try:
        assert float(runner.infer(FEEDS[2])["y"][0, 0]) == 6.0
    finally:
        runner.deactivate()


def test_it_is_compared_as_anything_else():
    runners = [Calling("double", lambda x: 2 * x), Calling("sum", lambda x: x + x), Calling("half", lambda x: x / 2)]
    results = Comparator.run(runners, FEEDS, use_subprocess=True)
    for name in ("double", "sum", "half"):
        for iteration in results[name]:
            del iteration["process"]
    assert bool(Comparator.compare_accuracy(results, comparisons=[(0, 1)]))
    assert not bool(Comparator.compare_accuracy(results, comparisons=[(0, 2)]))


def test_a_crash_names_the_runner_and_the_signal():
    with pytest.raises(WorkerError, match=r"unlucky.*SIGKILL"):
        Comparator.run([Calling("unlucky", crash)], FEEDS, use_subprocess=True)


class CrashingAtItsStart(Calling):
    def activate_impl(self):
        crash(None)


def test_a_crash_while_it_loads_is_the_runners_and_the_program_goes_on():
    with pytest.raises(WorkerError, match=r"unlucky.*SIGKILL"):
        Comparator.run([CrashingAtItsStart("unlucky", lambda x: x)], FEEDS, use_subprocess=True)


def crash_in_the_copy_at_its_end(x):
    atexit.register(crash, x)
    return x


def test_a_crash_at_the_end_takes_no_results_back():
    results = Comparator.run([Calling("late", crash_in_the_copy_at_its_end)], FEEDS, use_subprocess=True)
    assert len(results["late"]) == len(FEEDS)


def test_a_runner_that_hangs_is_ended():
    start = time.monotonic()
    with pytest.raises(WorkerError, match=r"slow.*hung") as caught:
        Comparator.run([Calling("slow", lambda _: time.sleep(600))], FEEDS, use_subprocess=True, subprocess_timeout=0.5)
    assert time.monotonic() - start < 300
    assert "subprocess_timeout" in caught.value.hint


@pytest.mark.parametrize(
    ("function", "text"), [(complain, "no such weather"), (lambda _: sys.exit(0), "SystemExit")], ids=["error", "exit"]
)
def test_what_a_runner_raises_there_is_told_here(function, text):
    with pytest.raises(BackendError, match=text):
        Comparator.run([Calling("complaining", function)], FEEDS, use_subprocess=True)


def test_a_data_loader_that_fails_leaves_no_process():
    def feeds():
        yield FEEDS[0]
        raise OSError("the disk is gone")

    with pytest.raises(DataError, match="the disk is gone"):
        list(Comparator.run([Calling("double", lambda x: 2 * x)], feeds(), use_subprocess=True, streaming=True))


def test_the_runner_is_used_here_afterwards():
    runner = Calling("double", lambda x: 2 * x)
    Comparator.run([runner], FEEDS, use_subprocess=True)
    with runner:
        assert int(runner.infer(FEEDS[0])["process"][0]) == os.getpid()


def test_a_copy_collects_nothing_that_waited_for_it_in_this_process():
    def double(x):
        gc.collect()
        return 2 * x

    gc.disable()
    try:
        Session()
        with ForkedRunner(Calling("double", double)) as runner:
            made = runner.infer(FEEDS[0])
    finally:
        gc.enable()
    np.testing.assert_array_equal(made["y"], 2 * FEEDS[0]["x"])

"""Workers that wait for the next part: taken while they run, closed when nobody can ask for them any more."""

from __future__ import annotations

import gc

from polycmp.runs.waiting import WaitingWorkers


class Worker:
    def __init__(self, *, is_running=True):
        self.is_running, self.closed = is_running, 0

    def close(self):
        self.closed += 1


def test_a_worker_that_runs_is_taken_once_by_its_kind():
    waiting, one, other = WaitingWorkers(), Worker(), Worker()
    waiting.put("python", one)
    waiting.put(("board", "polycmp-onnxrt"), other)
    assert waiting.take("another") is None
    assert waiting.take("python") is one
    assert waiting.take("python") is None
    assert waiting.take(("board", "polycmp-onnxrt")) is other
    assert one.closed == other.closed == 0


def test_one_that_has_ended_is_closed_and_the_next_is_taken():
    waiting, first, ended = WaitingWorkers(), Worker(), Worker(is_running=False)
    waiting.put("python", first)
    waiting.put("python", ended)
    assert waiting.take("python") is first
    assert (first.closed, ended.closed) == (0, 1)


def test_those_that_nobody_can_ask_for_are_closed():
    waiting, worker = WaitingWorkers(), Worker()
    waiting.put("python", worker)
    del waiting
    gc.collect()
    assert worker.closed == 1

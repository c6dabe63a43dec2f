"""Calls for several backends at the same time, each backend's one after the other."""

from __future__ import annotations

import threading

import pytest

from polycmp._cores import all_cores, usable_cores
from polycmp.builtin.layerwise.parallel import ParallelCalls

two_cores = pytest.mark.skipif(all_cores() < 2, reason="calls overlap where there are two cores")


@pytest.mark.parametrize("concurrent", [False, True])
def test_results_come_in_the_order_of_the_items(concurrent):
    calls = ParallelCalls(3, concurrent=concurrent)
    assert list(calls.map(lambda item: item * 2, [3, 1, 2])) == [6, 2, 4]
    assert calls.begin(lambda item: item + 1, [5, 6])() == [6, 7] if calls.is_concurrent else True
    calls.close()
    assert calls.busy == []


def test_without_that_permission_they_take_turns_in_this_thread():
    calls = ParallelCalls(2, concurrent=False)
    assert not calls.is_concurrent
    here = threading.current_thread()
    assert [thread is here for thread in calls.map(lambda _: threading.current_thread(), "ab")] == [True, True]


@two_cores
def test_two_meet_while_they_run_and_each_has_its_part_of_the_cores():
    calls, meeting, cores = ParallelCalls(2, concurrent=True), threading.Barrier(2), []

    def meet(_item):
        meeting.wait(60)
        cores.append(usable_cores())

    calls.map(meet, "ab")
    calls.close()
    assert cores == [max(1, all_cores() // 2)] * 2


@two_cores
def test_calls_for_one_item_come_one_after_the_other():
    calls, order, first_may_end = ParallelCalls(2, concurrent=True), [], threading.Event()
    item = object()

    def first(_item):
        first_may_end.wait(60)
        order.append("first")

    wait_first = calls.begin(first, [item])
    wait_second = calls.begin(lambda _: order.append("second"), [item])
    first_may_end.set()
    wait_first(), wait_second()
    calls.close()
    assert order == ["first", "second"]


@two_cores
def test_an_error_is_raised_and_leaves_nobody_running():
    calls = ParallelCalls(2, concurrent=True)

    def fail(item):
        if item == "b":
            raise ZeroDivisionError(item)
        return item

    with pytest.raises(ZeroDivisionError):
        calls.map(fail, "ab")
    calls.close()
    assert calls.busy == []


@two_cores
def test_who_does_not_end_after_an_interruption_is_named(monkeypatch):
    monkeypatch.setattr("polycmp.builtin.layerwise.parallel._GRACE", 0.05)
    calls, may_end = ParallelCalls(2, concurrent=True), threading.Event()

    def work(item):
        if item == "here":
            raise KeyboardInterrupt
        may_end.wait(60)

    with pytest.raises(KeyboardInterrupt):
        calls.map(work, ["here", "stuck"])
    assert calls.busy == ["stuck"]
    may_end.set()
    calls.close()

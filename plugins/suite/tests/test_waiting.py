"""The cases that wait: in which order they are handed out, and what comes before them."""

from __future__ import annotations

from polycmp_suite.running.waiting import WaitingCases
from polycmp_suite.spec import Job


def waiting(*names):
    """Return cases that wait, and the names of those that were begun."""
    begun = []

    def make(case, attempt):
        return Job(case, (), "", "", attempt=attempt, gpus=int(case == "gpu"))

    return WaitingCases(names, make, lambda job: begun.append(job.case)), begun


def test_cases_are_handed_out_in_their_order_and_only_then_begun():
    queue, begun = waiting("a", "b")
    assert (len(queue), begun) == (2, [])
    assert [queue.take().case, queue.take().case, queue.take()] == ["a", "b", None]
    assert (len(queue), begun) == (0, ["a", "b"])


def test_a_case_that_does_not_fit_waits_and_keeps_its_place():
    queue, begun = waiting("gpu", "b")
    assert queue.take(lambda job: not job.gpus).case == "b"
    assert queue.take(lambda job: not job.gpus) is None
    assert (queue.take().case, begun) == ("gpu", ["b", "gpu"])


def test_another_attempt_comes_before_all_others_and_a_further_job_before_that():
    queue, begun = waiting("a", "b")
    assert queue.take().attempt == 1
    queue.put_back("a", 2)
    queue.put_job(Job("search of a", (), "", ""))
    assert len(queue) == 3
    assert [(job.case, job.attempt) for job in (queue.take(), queue.take(), queue.take())] == [
        ("search of a", 1), ("a", 2), ("b", 1),
    ]  # fmt: skip
    assert begun == ["a", "a", "b"]  # the folder of a case is not begun again for its search

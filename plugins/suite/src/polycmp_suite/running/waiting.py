"""The cases that wait to be run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from polycmp_suite.spec import Job
from polycmp_suite.suitefile.case import Case


def _any(_: Job) -> bool:
    return True


class WaitingCases:
    """Cases in their order; jobs are made lazily, so that many cases take little memory.

    Args:
        cases: The cases.
        make: Makes a job of a case, for an attempt counted from 1.
        begin: Called before a job is handed out.
    """

    def __init__(self, cases: Iterable[Case], make: Callable[[Case, int], Job], begin: Callable[[Job], None]) -> None:
        self._waiting = deque((case, 1) for case in cases)
        self._jobs: deque[Job] = deque()
        self._make, self._begin = make, begin

    def __len__(self) -> int:
        return len(self._jobs) + len(self._waiting)

    def take(self, fits: Callable[[Job], bool] = _any) -> Job | None:
        """Return the first job that fits, which waits no longer; None if none does."""
        for index, job in enumerate(self._jobs):
            if fits(job):
                del self._jobs[index]
                return job
        for index, (case, attempt) in enumerate(self._waiting):
            job = self._make(case, attempt)
            if fits(job):
                del self._waiting[index]
                self._begin(job)
                return job
        return None

    def put_back(self, case: Case, attempt: int) -> None:
        """Queue a case again, before all others."""
        self._waiting.appendleft((case, attempt))

    def put_job(self, job: Job) -> None:
        """Queue a job before all others, in the unchanged folder of its case."""
        self._jobs.append(job)

"""The cases that wait to be run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from polycmp_suite.spec import Job
from polycmp_suite.suitefile.case import Case


def _any(_: Job) -> bool:
    return True


class WaitingCases:
    """Cases in their order; a job is made of one when it is looked at, so that many cases take little memory.

    Args:
        cases: The cases.
        make: Makes a job of a case, for an attempt counted from 1.
        begin: Called before a job is handed out.
    """

    def __init__(self, cases: Iterable[Case], make: Callable[[Case, int], Job], begin: Callable[[Job], None]) -> None:
        self._waiting = deque((case, 1) for case in cases)
        self._made: deque[Job] = deque()
        self._make, self._begin = make, begin

    def __len__(self) -> int:
        return len(self._made) + len(self._waiting)

    def take(self, fits: Callable[[Job], bool] = _any) -> Job | None:
        """Return the first job that fits, which waits no longer; None if none does."""
        for index, job in enumerate(self._made):
            if fits(job):
                del self._made[index]
                return job
        for index, (case, attempt) in enumerate(self._waiting):
            job = self._make(case, attempt)
            if fits(job):
                del self._waiting[index]
                self._begin(job)
                return job
        return None

    def put_back(self, case: Case, attempt: int) -> None:
        """Have a case run again, before all others."""
        self._waiting.appendleft((case, attempt))

    def put_job(self, job: Job) -> None:
        """Have a job run before all others, in the folder of its case as it is."""
        self._made.append(job)

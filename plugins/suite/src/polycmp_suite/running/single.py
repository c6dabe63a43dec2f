"""One case alone, for callers with a place of their own for its result: pytest."""

from __future__ import annotations

import datetime
from contextlib import closing
from pathlib import Path

from polycmp_suite.result import CaseResult
from polycmp_suite.running.local import LocalExecutor
from polycmp_suite.running.outcome import REPORT, result_of, search_job, wants_search, with_search
from polycmp_suite.running.waiting import WaitingCases
from polycmp_suite.spec import Ended, Job, Resources
from polycmp_suite.suitefile.case import Case


def run_case(case: Case, folder: str, output: Path, resources: Resources) -> CaseResult:
    """Run a case, again where it could not be compared and may be retried, and return its result.

    Args:
        case: The case.
        folder: Folder in which the case is started.
        output: An existing folder for its report and log.
        resources: Resources that the case may use.
    """

    def make(case: Case, attempt: int) -> Job:
        words = (*case.words, "--report", str(output / REPORT))
        limits = {"timeout": case.timeout, "memory": case.memory, "gpus": case.gpus}
        return Job(case.id, words, folder, str(output), case.files, attempt=attempt, **limits)  # type: ignore[arg-type]

    waiting = WaitingCases([case], make, lambda _: None)
    result: CaseResult | None = None
    events = LocalExecutor(resources).run(waiting)
    with closing(events):  # type: ignore[type-var]  # it is a generator
        for event in events:
            if isinstance(event, Ended) and result is not None and wants_search(case, result):
                result = with_search(result, event)
            elif isinstance(event, Ended):
                result = result_of(case, event, datetime.date.today())
                if wants_search(case, result):
                    waiting.put_job(search_job(case, event.job, (REPORT,)))
                if result.state == "error" and event.job.attempt <= case.retries:
                    waiting.put_back(case, event.job.attempt + 1)
    assert result is not None
    return result

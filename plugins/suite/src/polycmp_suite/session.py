"""One run of a suite: cases go to the executor, results to the disk, and Ctrl-C loses nothing that has ended."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from polycmp_suite.drift import Comparison, Drift
from polycmp_suite.progress import Progress
from polycmp_suite.result import BAD, CaseResult
from polycmp_suite.running.outcome import REPORT, of_case, result_of, search_job, wants_search, with_search
from polycmp_suite.running.waiting import WaitingCases
from polycmp_suite.spec import Ended, Event, Executor, Job, Started
from polycmp_suite.store import Run
from polycmp_suite.suitefile.case import Case, Suite

#: The page of a case, written by its own command where the package for it is installed.
PAGE = "report.html"


def fingerprint(case: Case, folder: str) -> str:
    """Return a digest of what a result depends on: words, sizes and times of files, versions of backends."""
    files = []
    for name in case.files:
        with suppress(OSError):
            status = (Path(folder) / name).stat()
            files.append((name, status.st_size, status.st_mtime_ns))
    limits = [case.timeout, case.memory, case.gpus, *([case.locate] if case.locate else [])]
    known = json.dumps([case.words, files, case.versions, *limits])
    return hashlib.sha256(known.encode("utf-8", "backslashreplace")).hexdigest()


class Session:
    """Runs the cases of a suite.

    Args:
        suite: The suite.
        run: The run that results are stored in.
        executor: The executor of the cases.
        pages: Whether each case writes a page.
        stop_early: Whether the first failure ends it.
        today: The day, for failures that are expected until one.
        drift: Compares cases that passed with their last pass; None for not.

    Attributes:
        interrupted: Whether it was ended before every case had.
    """

    def __init__(
        self,
        suite: Suite,
        run: Run,
        executor: Executor,
        *,
        pages: bool = True,
        stop_early: bool = False,
        today: datetime.date | None = None,
        drift: Drift | None = None,
    ) -> None:
        self._suite, self._run, self._executor = suite, run, executor
        self._pages, self._stop_early = pages, stop_early
        self._today = today or datetime.date.today()
        self._searched: dict[str, CaseResult] = {}
        self._drift = drift
        self._compared: dict[str, Comparison] = {}
        self.interrupted = False

    def run(self, cases: Iterable[Case], skipped: Mapping[str, str], progress: Progress) -> None:
        """Run cases and write the result of each.

        Args:
            cases: The cases.
            skipped: Reasons for skipping cases, by name.
            progress: Is told.

        Raises:
            FileError: A result cannot be written.
            KeyboardInterrupt: The user or a signal ended it; every case that had ended is on disk.
        """
        cases = list(cases)
        by_id = {case.id: case for case in cases}
        for case in cases:
            if case.id in skipped:
                progress.ended(self._skip(case, skipped[case.id]))
        waiting = WaitingCases((case for case in cases if case.id not in skipped), self._job, self._clean(by_id))
        try:
            events = self._executor.run(waiting)
            with closing(events):  # type: ignore[type-var]  # an executor's iterator is a generator
                for event in events:
                    if self._handle(event, by_id, waiting, progress):
                        return
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        finally:
            progress.close()

    def _job(self, case: Case, attempt: int) -> Job:
        folder = self._run.case_folder(case)
        reports = ["--report", str(folder / REPORT), *([str(folder / PAGE)] if self._pages else [])]
        saved = self._drift.words(case, folder) if self._drift is not None else ()
        return Job(
            case=case.id,
            words=(*case.words, *saved, *reports),
            folder=self._suite.folder,
            output=str(folder),
            files=case.files,
            timeout=case.timeout,
            memory=case.memory,
            gpus=case.gpus,
            resources=case.resources,
            attempt=attempt,
            shares_process=not (case.names_code or case.memory or case.gpus or attempt > 1),
        )

    def _clean(self, by_id: Mapping[str, Case]) -> Callable[[Job], None]:
        def clean(job: Job) -> None:
            self._run.fresh_case_folder(by_id[job.case])

        return clean

    def _handle(self, event: Event, by_id: Mapping[str, Case], waiting: WaitingCases, progress: Progress) -> bool:
        """Handle an event; return whether nothing more is to be run."""
        if isinstance(event, Started):
            progress.started(event.job.case)
        elif isinstance(event, Ended):
            case = by_id[event.job.case]
            if case.id in self._searched:
                return self._write(case, with_search(self._searched.pop(case.id), event), progress)
            if case.id in self._compared:
                return self._take_comparison(case, event, waiting, progress)
            result = self._complete(case, result_of(case, event, self._today))
            # A difference is a result, however often one looks; what could not be compared may be bad luck.
            if result.verdict == "error" and result.state == "error" and event.job.attempt <= case.retries:
                progress.ended(result, again=True)
                waiting.put_back(case, event.job.attempt + 1)
                return False
            if wants_search(case, result):
                self._run.write(case, result)  # it stands, whatever becomes of the search
                self._searched[case.id] = result
                waiting.put_job(search_job(case, event.job, (REPORT, *([PAGE] if self._pages else []))))
                return False
            if self._drift is not None and result.verdict == result.state == "passed":
                comparison = self._drift.begin(case, result, event.job)
                return self._go_on_comparing(case, comparison, waiting, progress)
            return self._write(case, result, progress)
        else:
            progress.show()
        return False

    def _take_comparison(self, case: Case, ended: Ended, waiting: WaitingCases, progress: Progress) -> bool:
        """Take the comparison of one backend with the case's last pass."""
        assert self._drift is not None
        comparison = self._compared.pop(case.id)
        self._drift.take(comparison, result_of(case, ended, self._today))
        return self._go_on_comparing(case, comparison, waiting, progress)

    def _go_on_comparing(self, case: Case, comparison: Comparison, waiting: WaitingCases, progress: Progress) -> bool:
        """Queue the next comparison with a case's last pass; after the last one, write the result."""
        assert self._drift is not None
        job = comparison.next_job
        if job is not None:
            self._compared[case.id] = comparison
            waiting.put_job(job)
            return False
        return self._write(case, self._drift.conclude(comparison), progress)

    def _write(self, case: Case, result: CaseResult, progress: Progress) -> bool:
        """Write a result that is complete; return whether nothing more is to be run."""
        progress.ended(result)
        self._run.write(case, result)
        return self._stop_early and result.state in BAD

    def _complete(self, case: Case, result: CaseResult) -> CaseResult:
        return dataclasses.replace(
            result,
            command_line=shlex.join(["polycmp", *case.words]),
            fingerprint=fingerprint(case, self._suite.folder),
        )

    def _skip(self, case: Case, reason: str) -> CaseResult:
        self._run.fresh_case_folder(case)
        result = CaseResult(**of_case(case), state="skipped", verdict="skipped", reason=reason, started=time.time())
        self._run.write(case, self._complete(case, result))
        return result

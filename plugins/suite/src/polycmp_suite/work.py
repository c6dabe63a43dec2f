"""Work of `polycmp suite SUITE.toml` and `polycmp suite FOLDER`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import BackendError, PolycmpError, UsageError
from polycmp.plan import LogSection
from polycmp.runs import open_environments
from polycmp.terminal import echo, visible
from polycmp_report.identity import identify
from polycmp_suite.executors import make_executor
from polycmp_suite.history import append, compare_with, describe
from polycmp_suite.page import write_index
from polycmp_suite.progress import Progress
from polycmp_suite.result import BAD, CaseResult
from polycmp_suite.running.local import available_cores
from polycmp_suite.sections import ChoiceSection, FolderSection, HistorySection, RunningSection, TrustSection
from polycmp_suite.select import choose, failed_first, find_gpus, lacking
from polycmp_suite.session import Session, fingerprint
from polycmp_suite.spec import Resources
from polycmp_suite.store import Run, default_folder, new_run, remove_old_runs, runs_in
from polycmp_suite.suitefile.case import Case, Suite
from polycmp_suite.suitefile.read import read_folder, read_suite
from polycmp_suite.suitefile.rules import Rules
from polycmp_suite.summary import summarize

if TYPE_CHECKING:
    from polycmp.command import Invocation


def run_suite(call: Invocation) -> int:
    """Run a suite, or show its cases, and return the exit status.

    Raises:
        PolycmpError: The suite is wrong, nothing fits, this system cannot run cases, or a result cannot be written.
        KeyboardInterrupt: It was interrupted; reports of what has ended are written.
    """
    choice, suite = call.section(ChoiceSection), _read(call)
    cases = choose(suite.cases, choice.select, choice.tag)
    if choice.list or choice.dry_run:
        return _show(cases, commands=choice.dry_run)
    if not hasattr(os, "fork"):
        raise BackendError(
            "a suite cannot run on this system",
            why="its cases are processes that are ended with all that they start, which Windows does not do",
            hint="use Linux, macOS or WSL; --dry-run shows the commands of the cases",
        )
    return _Work(call, suite, cases).run()


def _read(call: Invocation) -> Suite:
    path, trust, how = call.params["suite"], call.section(TrustSection), call.section(FolderSection)
    rules = Rules(scripts=not trust.no_scripts, writes=trust.allow_writes)
    if Path(path).is_dir():
        call.begin(reads=[("FOLDER", path)])
        return read_folder(path, how.pattern, call.options.backends, how.settings, call.registry, rules)
    call.begin(reads=[("SUITE.toml", path)])
    if Path(path).exists() and (call.options.backends or how != FolderSection()):
        raise UsageError(
            f"-b, --pattern and --settings are for a folder, and {path} is none",
            hint=f'write backends = ["onnxrt", "onnx"] into {path}',
        )
    return read_suite(path, call.registry, rules)


def _show(cases: list[Case], *, commands: bool) -> int:
    import shlex

    for case in cases:
        tags = f"  ({', '.join(case.tags)})" if case.tags else ""
        echo(visible(shlex.join(["polycmp", *case.words])) if commands else f"{visible(case.id)}{visible(tags)}")
    echo(f"{len(cases)} case{'' if len(cases) == 1 else 's'}", err=True)
    return 0


class _Work:
    def __init__(self, call: Invocation, suite: Suite, cases: list[Case]) -> None:
        self._call, self._suite, self._cases = call, suite, cases
        self._choice, self._how = call.section(ChoiceSection), call.section(RunningSection)
        self._history = call.section(HistorySection)
        if self._history.max_slowdown and not self._history.baseline:
            raise UsageError("--max-slowdown needs past runs", hint="--baseline FILE-OR-FOLDER")
        self._gpus = find_gpus(self._how.gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
        self._baseline = None if self._begins_history() else describe(self._history.baseline)

    def _begins_history(self) -> bool:
        """Return whether there is nothing to compare with: not asked for, or this run is the first in its history."""
        past, history = self._history.baseline, self._history.history
        return not past or (
            bool(history) and Path(past).absolute() == Path(history).absolute() and not Path(past).exists()
        )

    def _first(self) -> tuple[str, ...]:
        """Return notes for a run that was not compared with past ones."""
        return (f"the first run of {self._history.history}: nothing to compare with",) if self._history.baseline else ()

    def run(self) -> int:
        begun = time.monotonic()
        where = Path(self._history.results) if self._history.results else default_folder(self._suite)
        executor = make_executor(self._how.executor, self._resources())
        run, kept = self._open(where)
        last = _last_results(where, run)
        waiting = [case for case in self._cases if case.id not in kept]
        if self._choice.failed_first:
            bad = {result.case for result in last.values() if result.state in BAD}
            waiting = list(failed_first(waiting, bad))
        session = Session(
            self._suite, run, executor, pages="html" in self._call.registry.reports, stop_early=self._choice.exitfirst
        )
        self._tell(run, finished=False)
        skipped = self._skipped(waiting)
        try:
            self._make_environments(case for case in waiting if case.id not in skipped)
        except KeyboardInterrupt:
            session.interrupted = True
            self._report(run, session, begun)
            raise
        progress = Progress(len(waiting), silent=self._silent, jobs=self._jobs or available_cores())
        try:
            session.run(waiting, skipped, progress)
        except KeyboardInterrupt:
            self._report(run, session, begun)
            raise
        return self._report(run, session, begun)

    def _make_environments(self, cases: Iterable[Case]) -> None:
        """Make the environments that cases need, before their time counts; what cannot be made is theirs to tell."""
        if self._how.executor != "local":  # each machine has its own
            return
        wanted = dict.fromkeys(pair for case in cases for pair in case.environments)
        if not wanted:
            return
        environments = open_environments(self._call.registry, "version=")
        for backend, release in wanted:
            if not self._silent:
                echo(visible(f"environment of {backend}:version={release}"), err=True)
            with suppress(PolycmpError):
                environments(backend, release)

    @property
    def _silent(self) -> bool:
        return self._call.section(LogSection).silent or bool(self._call.params.get("quiet"))

    @property
    def _jobs(self) -> int:
        """The number of cases that run at the same time; 0 leaves it to the executor."""
        if self._how.jobs == "auto" or (not self._how.jobs and self._how.executor != "local"):
            return 0
        return int(self._how.jobs or 1)

    def _resources(self) -> Resources:
        return Resources(self._jobs, self._how.memory, self._gpus, self._how.address)

    def _open(self, where: Path) -> tuple[Run, set[str]]:
        """Return the run, and the names of the cases that need not be run again."""
        if not self._choice.resume:
            return new_run(where), set()
        runs = runs_in(where)
        if not runs:
            raise UsageError(f"there is no run to resume in {where}", hint="leave --resume out")
        run, kept = runs[-1], set()
        for case in self._cases:
            result = run.result(case)
            if (
                result is not None
                and result.state != "skipped"
                and result.fingerprint == fingerprint(case, self._suite.folder)
            ):
                kept.add(case.id)
        return run, kept

    def _skipped(self, cases: list[Case]) -> dict[str, str]:
        if self._how.executor != "local":  # the machines of a cluster have what they have
            return {}
        lacks = {case.id: lacking(case, self._how.provide, self._gpus) for case in cases}
        hint = "which is not here (--provide says what is)"
        return {name: f"needs {need}, {hint}" for name, need in lacks.items() if need}

    def _tell(self, run: Run, *, finished: bool, verdict: str = "") -> None:
        run.write_about(
            {
                "suite": self._suite.name,
                "command": self._call.options.command,
                "time": time.time(),
                "finished": finished,
                "verdict": verdict,
                "cases": [case.id for case in self._cases],
            }
        )

    def _report(self, run: Run, session: Session, begun: float) -> int:
        """Write and show what was found, and return the exit status."""
        found = [(case, run.result(case)) for case in self._cases]
        results = [result for _, result in found if result is not None]
        missing = len(found) - len(results)
        changes = compare_with(self._baseline, results, self._history.max_slowdown) if self._baseline else None
        models = identify((result.model for result in results), self._call.registry, Path(self._suite.folder))
        result = summarize(
            self._suite.name,
            results,
            models,
            missing=missing,
            interrupted=session.interrupted,
            regressions=changes.regressions if changes else (),
            notes=(*self._baseline.notes, *changes.notes) if self._baseline and changes else self._first(),
            page=str(run.folder / "index.html"),
            command_line=self._call.options.command,
            seconds=time.monotonic() - begun,
            places={case.id: (self._suite.path, case.line) if case.line else (case.model, 1) for case in self._cases},
            document={"run": str(run.folder), **({"changes": changes.to_json()} if changes else {})},
        )
        self._tell(run, finished=not missing and not session.interrupted, verdict=result.verdict)
        write_index(run, result, results, models)
        if self._history.history and not session.interrupted:
            append(Path(self._history.history), run, self._suite.name, results)
        if self._history.keep:
            remove_old_runs(run, self._history.keep)
        return self._call.present(result)


def _last_results(where: Path, current: Run) -> Mapping[str, CaseResult]:
    """Load the results of the previous run."""
    before = [run for run in runs_in(where) if run.folder != current.folder]
    return {result.case: result for result in before[-1].results()} if before else {}

"""Work of `polycmp suite SUITE.toml` and `polycmp suite FOLDER`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, PolycmpError, UsageError
from polycmp.plan import LogSection
from polycmp.results import device_here
from polycmp.runner import all_cores
from polycmp.runs import open_environments
from polycmp.sentences import counted
from polycmp.terminal import echo, visible
from polycmp_suite.concluding import Concluded, PastRuns, conclude, tell
from polycmp_suite.drift import Drift
from polycmp_suite.executors import make_executor
from polycmp_suite.progress import Progress
from polycmp_suite.result import BAD, CaseResult
from polycmp_suite.sections import ChoiceSection, FolderSection, HistorySection, RunningSection, TrustSection
from polycmp_suite.select import changed_since, choose, failed_first, find_gpus, lacking
from polycmp_suite.session import Session, fingerprint
from polycmp_suite.shards import Shard, find_shard
from polycmp_suite.spec import Resources
from polycmp_suite.store import Run, default_folder, new_run, runs_in
from polycmp_suite.suitefile.case import Case, Suite
from polycmp_suite.suitefile.permissions import Permissions
from polycmp_suite.suitefile.read import read_folder, read_suite

if TYPE_CHECKING:
    from polycmp.command import Invocation


def run_suite(call: Invocation) -> int:
    """Run a suite, or show its cases, and return the exit status.

    Raises:
        PolycmpError: The suite is wrong, nothing fits, this system cannot run cases, or a result cannot be written.
        KeyboardInterrupt: It was interrupted; reports of what has ended are written.
    """
    choice, suite = call.section(ChoiceSection), _read(call)
    if choice.json and not choice.list:
        raise UsageError("--json is how --list shows the cases", hint="--list --json, or --report FILE.json")
    cases = choose(suite.cases, choice.select, choice.tag)
    if choice.changed_since:
        cases = changed_since(choice.changed_since, suite, cases)
        if not cases and not choice.shard:
            echo(f"no file of a case has changed since {visible(choice.changed_since)}", err=True)
            return 0
    shard = find_shard(choice.shard, os.environ) if choice.shard else None
    if choice.list or choice.dry_run:
        chosen = cases if shard is None else shard.of(cases)
        return _matrix(chosen) if choice.json else _show(chosen, commands=choice.dry_run)
    if not hasattr(os, "fork"):
        raise BackendError(
            "a suite cannot run on this system",
            why="its cases are processes that are ended with all that they start, which Windows does not do",
            hint="use Linux, macOS or WSL; --dry-run shows the commands of the cases",
        )
    return _Work(call, suite, cases, shard).run()


def _read(call: Invocation) -> Suite:
    path, trust, how = call.params["suite"], call.section(TrustSection), call.section(FolderSection)
    permissions = Permissions(scripts=not trust.no_scripts, writes=trust.allow_writes)
    if Path(path).is_dir():
        call.begin(reads=[("FOLDER", path)])
        return read_folder(path, how.pattern, call.options.backends, how.settings, call.registry, permissions)
    call.begin(reads=[("SUITE.toml", path)])
    if Path(path).exists() and (call.options.backends or how != FolderSection()):
        raise UsageError(
            f"-b, --pattern and --settings are for a folder, and {path} is none",
            hint=f'write backends = ["onnxrt", "onnx"] into {path}',
        )
    return read_suite(path, call.registry, permissions)


def _show(cases: list[Case], *, commands: bool) -> int:
    import shlex

    for case in cases:
        tags = f"  ({', '.join(case.tags)})" if case.tags else ""
        echo(visible(shlex.join(["polycmp", *case.words])) if commands else f"{visible(case.id)}{visible(tags)}")
    echo(counted(len(cases), "case"), err=True)
    return 0


def _matrix(cases: list[Case]) -> int:
    """Print the cases as the matrix of a CI: a job for each."""
    jobs = [
        {"case": case.id, "shard": str(Shard(place, len(cases))), "model": case.model, "tags": list(case.tags)}
        for place, case in enumerate(cases, 1)
    ]
    echo(json.dumps({"include": jobs}))
    return 0


class _Work:
    def __init__(self, call: Invocation, suite: Suite, cases: list[Case], shard: Shard | None) -> None:
        self._call, self._suite, self._shard = call, suite, shard
        self._cases = cases if shard is None else shard.of(cases)
        self._all_cases = [case.id for case in cases]
        self._choice, self._how = call.section(ChoiceSection), call.section(RunningSection)
        self._history = call.section(HistorySection)
        self._gpus = find_gpus(self._how.gpus, os.environ.get("CUDA_VISIBLE_DEVICES"))
        self._past = PastRuns(self._history)

    def run(self) -> int:
        begun = time.monotonic()
        where = Path(self._history.results) if self._history.results else default_folder(self._suite)
        if not self._cases:
            return self._nothing(where)
        executor = make_executor(self._how.executor, self._resources())
        run, done = self._open(where)
        last = _last_results(where, run)
        waiting = [case for case in self._cases if case.id not in done]
        if self._choice.failed_first:
            bad = {result.case for result in last.values() if result.state in BAD}
            waiting = list(failed_first(waiting, bad))
        session = Session(
            self._suite,
            run,
            executor,
            pages="html" in self._call.registry.reports,
            stop_early=self._choice.exitfirst,
            drift=self._drift,
        )
        about = {"finished": False, "cases": [case.id for case in self._cases], **self._about}
        tell(self._call, run, self._suite.name, about)
        skipped = self._skipped(waiting)
        try:
            self._make_environments(case for case in waiting if case.id not in skipped)
        except KeyboardInterrupt:
            session.interrupted = True
            self._report(run, session, begun)
            raise
        progress = Progress(len(waiting), silent=self._silent, jobs=self._jobs or all_cores())
        try:
            session.run(waiting, skipped, progress)
        except KeyboardInterrupt:
            self._report(run, session, begun)
            raise
        return self._report(run, session, begun)

    def _make_environments(self, cases: Iterable[Case]) -> None:
        """Create the environments of the cases before their time counts; a case reports an environment that fails."""
        if self._how.executor != "local":  # each machine has its own
            return
        releases = dict.fromkeys(pair for case in cases for pair in case.environments)
        if not releases:
            return
        environments = open_environments(self._call.registry, "version=")
        for backend, release in releases:
            if not self._silent:
                echo(visible(f"environment of {backend}:version={release}"), err=True)
            with suppress(PolycmpError):
                environments(backend, release)

    @property
    def _drift(self) -> Drift | None:
        """What compares cases with their last pass; None where that was not asked for."""
        if self._past.store is None:
            return None
        machine = device_here() if self._how.executor == "local" else self._how.executor
        rolls = not self._history.baseline_read_only
        return Drift(self._past.store, self._suite.folder, machine, self._call.registry, rolls=rolls)

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
        run, done = runs[-1], set()
        for case in self._cases:
            result = run.result(case)
            if (
                result is not None
                and result.state != "skipped"
                and result.fingerprint == fingerprint(case, self._suite.folder)
            ):
                done.add(case.id)
        return run, done

    def _skipped(self, cases: list[Case]) -> dict[str, str]:
        if self._how.executor != "local":  # the machines of a cluster have what they have
            return {}
        lacks = {case.id: lacking(case, self._how.provide, self._gpus) for case in cases}
        hint = "which is not here (--provide says what is)"
        return {name: f"needs {need}, {hint}" for name, need in lacks.items() if need}

    @property
    def _about(self) -> dict[str, Any]:
        """Facts about a shard for `merge`."""
        if self._shard is None:
            return {}
        return {"shard": list(self._shard), "all_cases": self._all_cases, "device": device_here()}

    def _nothing(self, where: Path) -> int:
        """Leave a run without cases, for `merge`: there are more shards than cases."""
        tell(self._call, new_run(where), self._suite.name, {"finished": True, "cases": [], **self._about})
        echo(f"no case for shard {self._shard}: {len(self._all_cases)} were chosen", err=True)
        return 0

    def _report(self, run: Run, session: Session, begun: float) -> int:
        """Write and show the results, and return the exit status."""
        concluded = Concluded(
            self._suite.name,
            Path(self._suite.folder),
            {case.id: run.result(case) for case in self._cases},
            begun,
            "interrupted" if session.interrupted else "",
            {case.id: (self._suite.path, case.line) if case.line else (case.model, 1) for case in self._cases},
            self._about,
        )
        return conclude(self._call, run, concluded, self._past)


def _last_results(where: Path, current: Run) -> Mapping[str, CaseResult]:
    """Load the results of the previous run."""
    before = [run for run in runs_in(where) if run.folder != current.folder]
    return {result.case: result for result in before[-1].results()} if before else {}

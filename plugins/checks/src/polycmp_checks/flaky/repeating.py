"""Repeated runs of a plan's backends on the same inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polycmp.errors import DataError
from polycmp.layerwise import open_partitioned_runs
from polycmp.plan import Plan
from polycmp.runs import BackendRun, Resolved, ResolvedBackend, copy_feed, open_feeds, resolve
from polycmp.session import check_names
from polycmp.tensors import Feed
from polycmp_checks.flaky.findings import FlakyBackend, FlakyFindings, Repeats
from polycmp_checks.flaky.inside import find_first
from polycmp_checks.flaky.tally import Tally

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Stage = Callable[[str], None]


@dataclass(frozen=True)
class Repetitions:
    """Settings of the runs.

    Attributes:
        runs: Number of runs.
        restart: Whether to run as often with the backend started anew for each run, too.
    """

    runs: int = 100
    restart: bool = False


def find_flaky(
    plan: Plan, registry: Registry, settings: Repetitions, on_stage: Stage = lambda _: None
) -> FlakyFindings:
    """Run each backend of a plan again and again on the same inputs, and count its different results.

    Args:
        plan: Model, backends and inputs; the first of several inputs is taken.
        registry: The plugins.
        settings: How often, and how.
        on_stage: Told in words what happens next.

    Returns:
        The findings; a backend that failed is part of them.

    Raises:
        PolycmpError: Nothing could be run: wrong names, no model, no data.
    """
    findings = FlakyFindings(command=plan.command)
    for backend in plan.backends:
        resolved = resolve(replace(plan, backends=(backend,)), registry)
        check_names(plan.data, plan.compare, resolved)
        findings.subjects.append(_Repetition(resolved, settings, on_stage).subject())
    return findings


class _Repetition:
    """Runs one backend again and again.

    Args:
        resolved: The backend, with its model and inputs.
        settings: How often, and how.
        on_stage: Told in words what happens next.
    """

    def __init__(self, resolved: Resolved, settings: Repetitions, on_stage: Stage) -> None:
        self._resolved, self._settings, self._on_stage = resolved, settings, on_stage
        [self._backend] = resolved.backends
        self._findings = FlakyBackend(self._backend.label, self._backend.plan.backend)
        self._feed: Feed = {}

    def subject(self) -> FlakyBackend:
        """Run the backend and return the findings."""
        findings = self._findings
        tally = Tally()
        findings.runs = self._in_one_session(self._backend, tally)
        if findings.runs is not None and self._settings.restart:
            findings.restarts = self._restarted(Tally(tally.first))
        if findings.error or not findings.differs:
            return findings
        assert findings.runs is not None
        if not findings.runs.same:
            findings.one_thread = self._with_one_thread()
        self._look_inside(restart=findings.runs.same)
        return findings

    def _in_one_session(self, backend: ResolvedBackend, tally: Tally) -> Repeats | None:
        """Return the results of one session; None if it failed."""
        run = backend.make_run()
        self._on_stage(f"activating {backend.label}")
        run.activate()
        try:
            self._feed = self._feed or self._first_feed(run)
            for number in range(self._settings.runs):
                self._on_stage(f"{backend.label}: run {number + 1} of {self._settings.runs}")
                outputs = run.infer(self._feed)
                if outputs is None:
                    break
                tally.add(outputs)
        finally:
            run.deactivate()
        return None if self._failed(run) else tally.result()

    def _restarted(self, tally: Tally) -> Repeats | None:
        """Return the results of many sessions, of one run each; None if one failed."""
        for number in range(self._settings.runs):
            self._on_stage(f"{self._backend.label}: session {number + 1} of {self._settings.runs}")
            run = self._backend.make_run()
            run.activate()
            try:
                outputs = run.infer(self._feed)
                if outputs is not None:
                    tally.add(outputs)
            finally:
                run.deactivate()
            if self._failed(run):
                return None
        return tally.result()

    def _first_feed(self, run: BackendRun) -> Feed:
        """Return the first inputs of the data source; none where the backend failed."""
        inputs = run.inputs()
        if inputs is None:
            return {}
        source = self._resolved.source
        feeds = open_feeds(source, inputs)
        feed = next(feeds, None)
        if feed is None:
            raise DataError("the data loader gave no input", whose=run.label)
        feed = copy_feed(feed)
        self._findings.notes += [f"inputs: {note}" for note in source.notes]
        if next(feeds, None) is not None:
            self._findings.notes.append("inputs: only the first of several is run, again and again")
        return feed

    def _failed(self, run: BackendRun) -> bool:
        """Copy a run's record to the findings; return whether it failed."""
        findings, result = self._findings, run.result
        findings.version = findings.version or result.version
        findings.notes += [note for note in result.notes if note not in findings.notes]
        if result.error and not findings.error:
            findings.error, findings.hint = result.error, result.hint
        return bool(result.error)

    def _with_one_thread(self) -> Repeats | None:
        """Return the results with one thread; None where the backend has no option for that, or has one already."""
        threads = self._backend.tools.threads
        single = self._backend.with_option(threads, 1) if threads else None
        if single is None or single.plan.options == self._backend.plan.options:
            return None
        return self._in_one_session(single, Tally())

    def _look_inside(self, *, restart: bool) -> None:
        """Find the first tensor that differs, where the backend shows tensors inside the model."""
        findings, backend = self._findings, self._backend
        if backend.contribution is None or backend.inside in {"none", "elsewhere"}:
            findings.no_first_reason = "shows no tensors inside the model"
            return
        if isinstance(backend.inside, str) and backend.model.graph() is None:
            findings.no_first_reason = f"the loader of {backend.model.kind} models does not show their operators"
            return
        [run] = open_partitioned_runs(self._resolved)
        runs, memory = self._settings.runs, self._resolved.plan.max_memory
        findings.first = find_first(run, self._feed, runs, memory, self._on_stage, restart=restart)
        if not run.is_well:
            findings.no_first_reason = f"fails with the tensors inside shown: {run.result.error}"
        elif findings.first is None:
            findings.no_first_reason = "makes the same bits in all runs with the tensors inside shown"

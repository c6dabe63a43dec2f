"""Drift of cases since their last pass: whose outputs changed, by how much, and whether that is rounding."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError, PolycmpError, describe_exception
from polycmp.files import digest_of
from polycmp.report import figure
from polycmp.sentences import counted
from polycmp_suite.baseline_store import BaselineStore
from polycmp_suite.result import CaseResult
from polycmp_suite.running.outcome import REPORT
from polycmp_suite.spec import Job
from polycmp_suite.suitefile.case import Case

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.results.files import SavedRun

#: The outputs of a case in its folder, and the folder in which they are compared with those of the last pass.
OUTPUTS, _COMPARED = "outputs.npz", "baseline"
_NOW, _THEN = "now.npz", "then.npz"
#: What is said of a case whose bits are those of its last pass, of one that passed for the first time, and of one whose
#: pass is not kept.
SAME_BITS, NEW, MISSING = "same bits as the last pass", "the first pass", "no last pass to compare with"


@dataclass
class Comparison:
    """A case that passed, on its way through the comparisons with its last pass: one for each backend that changed.

    Attributes:
        result: Its result, so far.
        entry: Name of its baseline.
        job: The job that ran it.
        waiting: The comparisons to come: label of the backend, and job.
        largest: The largest difference found.
        remarks: What else differs between then and now, in words.
        changed: Whether the baseline is to be replaced if the case passes.
    """

    result: CaseResult
    entry: str
    job: Job
    waiting: deque[tuple[str, Job]] = field(default_factory=deque)
    largest: float = 0.0
    remarks: tuple[str, ...] = ()
    changed: bool = True

    @property
    def file(self) -> Path:
        """The outputs of this run."""
        return Path(self.job.output) / OUTPUTS

    @property
    def next_job(self) -> Job | None:
        """The comparison to run next; None if there is no more."""
        return self.waiting[0][1] if self.waiting else None


class Drift:
    """Compares cases that passed with their last pass, and makes what passed the baseline.

    Args:
        store: The baselines.
        folder: The suite's folder.
        machine: The kind of machine that runs the cases.
        registry: The plugins, which bring formats of files.
        rolls: Whether passes become the baseline.
    """

    def __init__(self, store: BaselineStore, folder: str, machine: str, registry: Registry, *, rolls: bool) -> None:
        self._store, self._folder, self._machine, self._rolls = store, folder, machine, rolls
        self._registry = registry
        self._failure = ""
        self._digests: dict[str, str] = {}  # of files that no case may write

    def words(self, case: Case, folder: Path) -> tuple[str, ...]:
        """Return the words that have a case save its outputs; none for a case that has no baseline."""
        return ("--save-outputs", str(folder / OUTPUTS)) if case.has_baseline else ()

    def begin(self, case: Case, result: CaseResult, job: Job) -> Comparison:
        """Look what a case's last pass gave, and return what is left to compare."""
        comparison = Comparison(result, self._entry(case), job)
        if not comparison.file.exists():  # it has no baseline, or gave no outputs
            comparison.changed = False
            return comparison
        then = comparison.file.with_name(f"{_COMPARED}.npz")
        if not self._failure:
            try:
                if not self._store.fetch(comparison.entry, then):
                    comparison.result = dataclasses.replace(result, drift=NEW if self._rolls else MISSING)
                    return comparison
            except PolycmpError as error:
                self._failure = describe_exception(error)
        if self._failure:  # the place would not be another one for the cases that follow
            return _failed(comparison, self._failure)
        try:
            self._prepare(case, comparison, then)
        except (PolycmpError, OSError) as error:
            place = self._store.place_of(comparison.entry)
            return _failed(comparison, f"the baseline {place} cannot be compared: {describe_exception(error)}")
        return comparison

    def _entry(self, case: Case) -> str:
        """Name the baseline of a case: after what it computes, and where; versions are in it, and differ on purpose."""
        for name in case.files:
            if name not in self._digests:
                with suppress(OSError):
                    self._digests[name] = digest_of(Path(self._folder) / name)
        digests = {name: self._digests[name] for name in case.files if name in self._digests}
        known = json.dumps([[digests.get(word, word) for word in case.words], sorted(digests.values()), self._machine])
        readable = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(case.model).stem).strip("-.")[:40] or "case"
        return f"{readable}-{hashlib.sha256(known.encode('utf-8', 'backslashreplace')).hexdigest()[:24]}.npz"

    def _prepare(self, case: Case, comparison: Comparison, then: Path) -> None:
        """Compare the bits, and make jobs of those backends whose bits differ.

        Raises:
            FileError: A file is damaged.
            OSError: A folder cannot be made.
        """
        from polycmp.results.files import open_runs  # few suites have a baseline

        pairs = _paired(*(open_runs(path, self._registry) for path in (comparison.file, then)))
        looks = [_look(*pair) for pair in pairs]
        comparison.remarks = tuple(dict.fromkeys(text for _, remarks in looks for text in remarks))
        changed = [pair for pair, (is_same, _) in zip(pairs, looks, strict=True) if not is_same]
        jobs = [self._job(case, comparison, place, *pair) for place, pair in enumerate(changed)]
        comparison.waiting.extend(jobs)
        comparison.changed = bool(jobs or comparison.remarks)
        then.unlink(missing_ok=True)
        if not jobs:
            comparison.result = dataclasses.replace(comparison.result, drift=_sentence(SAME_BITS, comparison.remarks))

    def _job(self, case: Case, comparison: Comparison, place: int, now: SavedRun, then: SavedRun) -> tuple[str, Job]:
        """Return the job of comparing one backend's outputs, each in a file of its own, with the case's tolerances."""
        from polycmp.results.files import OutputsWriter

        folder = Path(comparison.job.output) / _COMPARED / str(place)
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, run, label in ((_NOW, now, now.label), (_THEN, then, "the last pass")):
            with OutputsWriter(folder / name, self._registry, lasting=False) as writer:
                for outputs in run.iterations:
                    writer.add(label, outputs, outputs.runtime)
            paths.append(os.path.relpath(folder / name, self._folder))
        words = ("compare", *paths, *case.comparing, "--report", str(folder / REPORT))
        files = (*comparison.job.files, *paths)
        return now.label, dataclasses.replace(comparison.job, words=words, output=str(folder), files=files)

    def take(self, comparison: Comparison, judged: CaseResult) -> None:
        """Take the verdict on one backend's outputs; the first that is no pass is the case's."""
        label, _ = comparison.waiting.popleft()
        comparison.largest = max(comparison.largest, judged.max_error or 0.0)
        if judged.verdict != "passed":
            comparison.waiting.clear()
            text = _sentence(f"{label} differs from the last pass: {judged.reason}", comparison.remarks)
            place = self._store.place_of(comparison.entry)
            comparison.result = dataclasses.replace(
                comparison.result,
                state=judged.state,
                verdict=judged.verdict,
                reason=f"{text}; if that is meant, remove {place}",
                drift=text,
                max_error=judged.max_error,
            )
        elif not comparison.waiting:
            text = f"differs from the last pass by {figure(comparison.largest)}, within tolerance"
            comparison.result = dataclasses.replace(comparison.result, drift=_sentence(text, comparison.remarks))

    def conclude(self, comparison: Comparison) -> CaseResult:
        """Make a case that passed the baseline, and return its result."""
        result = comparison.result
        if result.state != "passed":
            return result
        if self._rolls and comparison.changed:
            try:
                self._store.keep(comparison.entry, comparison.file)
            except PolycmpError as error:
                self._failure = describe_exception(error)
                return _failed(comparison, self._failure).result
        comparison.file.unlink(missing_ok=True)  # the store has it
        return result


def _failed(comparison: Comparison, why: str) -> Comparison:
    comparison.waiting.clear()
    comparison.result = dataclasses.replace(comparison.result, state="error", verdict="error", reason=why)
    return comparison


def _sentence(text: str, remarks: Iterable[str]) -> str:
    return "; ".join((text, *remarks))


def _paired(now: Iterable[SavedRun], then: Iterable[SavedRun]) -> list[tuple[SavedRun, SavedRun]]:
    """Return the runs of the same backends.

    Raises:
        FileError: Those of the last pass are others.
    """
    old = {run.label: run for run in then}
    pairs = [(run, old[run.label]) for run in now if run.label in old]
    if not pairs or len(pairs) != len(old):
        raise FileError("it holds other backends", why=", ".join(old))
    return pairs


def _look(now: SavedRun, then: SavedRun) -> tuple[bool, Sequence[str]]:
    """Return whether two runs have the same bits, and in words what differs in their environments, in one reading."""
    from polycmp.runs import environment_differences

    remarks = list[str]()
    for index, (one, other) in enumerate(zip_longest(now.iterations, then.iterations)):
        if one is None or other is None:
            return False, remarks
        if not index:
            remarks += environment_differences(one.environment, other.environment, ("this run", "the last pass"))
        if not _equal(one, other):
            return False, remarks
    return True, remarks


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether arrays have the same names, types, shapes and bits."""
    from polycmp.tensors import same_bits, to_numpy

    return list(one) == list(other) and all(same_bits(to_numpy(one[name]), to_numpy(other[name])) for name in one)


def summary(results: Iterable[CaseResult]) -> tuple[str, ...]:
    """Return a remark on how many cases drifted; none where no case was compared with its last pass."""
    drifts = [(result.state, result.drift) for result in results if result.drift]
    if not drifts:
        return ()
    counts = {
        "with the same bits": sum(text.startswith(SAME_BITS) for _, text in drifts),
        "within tolerance": sum(state == "passed" and "differs from" in text for state, text in drifts),
        "not": sum(state != "passed" for state, _ in drifts),
        "new": sum(text == NEW for _, text in drifts),
        "without one": sum(text == MISSING for _, text in drifts),
    }
    words = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    return (f"{counted(len(drifts), 'case')} compared with the last pass: {words}",)

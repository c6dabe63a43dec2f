"""The end of a run of a suite: its pages, its reports, its place in the history, and the exit status."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError, hide_passwords
from polycmp_report.identity import identify
from polycmp_suite.baseline_store import BaselineStore, is_uri
from polycmp_suite.drift import summary
from polycmp_suite.history import Baseline, append, compare_with, describe
from polycmp_suite.page import write_index
from polycmp_suite.result import CaseResult
from polycmp_suite.sections import HistorySection
from polycmp_suite.store import Run, remove_old_runs
from polycmp_suite.summary import summarize

if TYPE_CHECKING:
    from polycmp.command import Invocation


class PastRuns:
    """Past runs that a run is compared with and stored beside.

    Args:
        history: The options.

    Attributes:
        baseline: The past runs; None where there are none to compare with.
        store: The last passes of cases; None where none are kept.

    Raises:
        FileError: There are none where some are named.
        PluginError: What opens the place of last passes is not installed.
        UsageError: The options have no meaning.
    """

    def __init__(self, history: HistorySection) -> None:
        self.history = history
        keeps_passes = is_uri(history.baseline)
        if history.max_slowdown and (not history.baseline or keeps_passes):
            raise UsageError("--max-slowdown needs past runs", hint="--baseline FILE-OR-FOLDER")
        if history.baseline_read_only and not keeps_passes:
            raise UsageError(
                "--baseline-read-only is about the last passes at a URI", hint="--baseline file://baseline"
            )
        self.store: BaselineStore | None = BaselineStore(history.baseline) if keeps_passes else None
        self.baseline: Baseline | None = None if keeps_passes or self._begins() else describe(history.baseline)

    def _begins(self) -> bool:
        """Return whether there is nothing to compare with: not asked for, or this run is the first in its history."""
        past, history = self.history.baseline, self.history.history
        return not past or (
            bool(history) and Path(past).absolute() == Path(history).absolute() and not Path(past).exists()
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on past runs: what could not be read of them, or that there are none."""
        if self.baseline is not None:
            return self.baseline.notes
        if self.store is not None:
            begins = "" if self.store.exists else f"there is no baseline in {self.store.uri} yet"
            remark = "" if self.history.baseline_read_only else ": it is made of the cases that pass"
            return (f"{begins}{remark}",) if begins else ()
        return (f"the first run of {self.history.history}: nothing to compare with",) if self.history.baseline else ()


@dataclass(frozen=True)
class Concluded:
    """A run of a suite that is over, complete or not.

    Attributes:
        name: Name of the suite.
        folder: The folder that paths of models are relative to.
        cases: Results by name of the case, in the order of the suite; None of those that have not ended.
        begun: When it began, by `time.monotonic`.
        incomplete: Why it is not the whole suite, in words; empty where it is.
        places: File and line of each case in the suite, by its name.
        about: More facts about the run as a whole, to be written.
    """

    name: str
    folder: Path
    cases: Mapping[str, CaseResult | None]
    begun: float
    incomplete: str = ""
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def results(self) -> Sequence[CaseResult]:
        """The results there are."""
        return [result for result in self.cases.values() if result is not None]


def tell(call: Invocation, run: Run, name: str, about: Mapping[str, Any]) -> None:
    """Write facts about a run as a whole.

    Args:
        call: The command.
        run: The run.
        name: Name of the suite.
        about: What else is known.

    Raises:
        FileError: That cannot be written.
    """
    run.write_about({"suite": name, "command": hide_passwords(call.options.command), "time": time.time(), **about})


def conclude(call: Invocation, run: Run, concluded: Concluded, past: PastRuns) -> int:
    """Write and show the results of a run, and return the exit status.

    Args:
        call: The command.
        run: Where results lie.
        concluded: The run.
        past: Past runs.

    Raises:
        FileError: Something cannot be written.
    """
    results, baseline = concluded.results, past.baseline
    missing = len(concluded.cases) - len(results)
    changes = compare_with(baseline, results, past.history.max_slowdown) if baseline else None
    models = identify((result.model for result in results), call.registry, concluded.folder)
    result = summarize(
        concluded.name,
        results,
        models,
        missing=missing,
        incomplete=concluded.incomplete,
        regressions=changes.regressions if changes else (),
        notes=(*past.notes, *(changes.notes if changes else ()), *summary(results)),
        page=str(run.folder / "index.html"),
        command_line=hide_passwords(call.options.command),
        seconds=time.monotonic() - concluded.begun,
        places=concluded.places,
        document={"run": str(run.folder), **({"changes": changes.to_json()} if changes else {})},
    )
    finished = not missing and not concluded.incomplete
    about = {"finished": finished, "verdict": result.verdict, "cases": list(concluded.cases), **concluded.about}
    tell(call, run, concluded.name, about)
    write_index(run, result, results, models)
    if past.history.history and not concluded.incomplete:
        append(Path(past.history.history), run, concluded.name, results)
    if past.history.keep:
        remove_old_runs(run, past.history.keep)
    return call.present(result)

"""Releases of a runtime since which a model differs: the results of cases that differ in the release alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from polycmp.report import Fact, Facts, State
from polycmp_suite.result import CaseResult

#: The axis under which a result names its release.
RELEASE = "release"
#: Verdicts that tell something of a release, in words, and the state of a row that ends with one.
_VERDICT_WORDS: Mapping[str, str] = {"passed": "right", "failed": "differs", "error": "not compared"}
_STATES: Mapping[str, State] = {"passed": "passed", "failed": "failed", "error": "error"}


@dataclass(frozen=True)
class ReleaseRow:
    """Results of a case with each release, in the order of the suite.

    Attributes:
        name: Name of the case without the release.
        results: The results, by release.
    """

    name: str
    results: Mapping[str, CaseResult]

    @property
    def known_verdicts(self) -> Mapping[str, str]:
        """Verdict of each release with a conclusive result.

        Where another release differs, one that is blind is right: the comparison could fail, and did.
        """
        verdicts = {name: item.verdict for name, item in self.results.items()}
        if "failed" in verdicts.values():
            verdicts = {name: "passed" if verdict == "blind" else verdict for name, verdict in verdicts.items()}
        return {name: verdict for name, verdict in verdicts.items() if verdict in _VERDICT_WORDS}

    @property
    def turns(self) -> Sequence[tuple[str, str]]:
        """Pairs of releases between which the verdict changes; releases without a conclusive result are skipped."""
        verdicts = self.known_verdicts
        return [(old, new) for old, new in pairwise(verdicts) if verdicts[old] != verdicts[new]]

    @property
    def state(self) -> State:
        """State of the last release with a conclusive result."""
        return _STATES[[*self.known_verdicts.values()][-1]] if self.known_verdicts else "skipped"

    @property
    def since(self) -> str:
        """Description of the release since which it differs."""
        verdicts = self.known_verdicts
        if self.turns:
            return "; ".join(
                f"{_VERDICT_WORDS[verdicts[new]]} since {new}, {_VERDICT_WORDS[verdicts[old]]} with {old}"
                for old, new in self.turns
            )
        if not verdicts:
            return "nothing is told of any"
        now, silent = _VERDICT_WORDS[[*verdicts.values()][-1]], [name for name in self.results if name not in verdicts]
        return (
            f"{now} with {', '.join(verdicts)}; nothing is told of {', '.join(silent)}" if silent else f"{now} with all"
        )


def rows_of(cases: Iterable[CaseResult]) -> list[ReleaseRow]:
    """Return a row for each case that was run with several releases."""
    results_by_series: dict[str, dict[str, CaseResult]] = {}
    for case in cases:
        if case.series:
            results_by_series.setdefault(case.series, {})[case.axes[RELEASE]] = case
    return [ReleaseRow(name, results) for name, results in results_by_series.items()]


def facts_of(rows: Sequence[ReleaseRow]) -> list[Facts]:
    """Return the rows for reports; empty if there are none."""
    items = tuple(Fact(row.name, row.since, row.state) for row in rows)
    return [Facts("Since which release", items)] if items else []


def document_of(rows: Sequence[ReleaseRow]) -> list[dict[str, Any]]:
    """Return the rows for the JSON report."""
    return [
        {
            "case": row.name,
            "since": row.since,
            "turns": [list(turn) for turn in row.turns],
            "releases": {
                name: {"case": item.case, "verdict": item.verdict, "max_error": item.max_error}
                for name, item in row.results.items()
            },
        }
        for row in rows
    ]

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
_NOW: Mapping[str, str] = {"passed": "right", "failed": "differs", "error": "not compared"}
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
    def told(self) -> Mapping[str, str]:
        """Verdict of each release that tells something.

        Where another release differs, one that is blind is right: the comparison could fail, and did.
        """
        found = {name: item.verdict for name, item in self.results.items()}
        if "failed" in found.values():
            found = {name: "passed" if verdict == "blind" else verdict for name, verdict in found.items()}
        return {name: verdict for name, verdict in found.items() if verdict in _NOW}

    @property
    def turns(self) -> Sequence[tuple[str, str]]:
        """Pairs of releases between which the verdict changes; those that tell nothing are passed over."""
        told = self.told
        return [(old, new) for old, new in pairwise(told) if told[old] != told[new]]

    @property
    def state(self) -> State:
        """State of the last release of which something is known."""
        return _STATES[[*self.told.values()][-1]] if self.told else "skipped"

    @property
    def since(self) -> str:
        """Since which release it differs, in words."""
        told = self.told
        if self.turns:
            return "; ".join(f"{_NOW[told[new]]} since {new}, {_NOW[told[old]]} with {old}" for old, new in self.turns)
        if not told:
            return "nothing is told of any"
        now, silent = _NOW[[*told.values()][-1]], [name for name in self.results if name not in told]
        return f"{now} with {', '.join(told)}; nothing is told of {', '.join(silent)}" if silent else f"{now} with all"


def rows_of(cases: Iterable[CaseResult]) -> list[ReleaseRow]:
    """Return a row for each case that was run with several releases."""
    found: dict[str, dict[str, CaseResult]] = {}
    for case in cases:
        if case.series:
            found.setdefault(case.series, {})[case.axes[RELEASE]] = case
    return [ReleaseRow(name, results) for name, results in found.items()]


def facts_of(rows: Sequence[ReleaseRow]) -> list[Facts]:
    """Return the rows as every report shows them; nothing if there are none."""
    items = tuple(Fact(row.name, row.since, row.state) for row in rows)
    return [Facts("Since which release", items)] if items else []


def document_of(rows: Sequence[ReleaseRow]) -> list[dict[str, Any]]:
    """Return the rows as the JSON report holds them."""
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

"""Since which release of a runtime a model differs: the results of cases that differ in the release alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from polycmp.report import Fact, Facts, State
from polycmp_suite.result import CaseResult

#: The axis under which a result names its release.
RELEASE = "release"


@dataclass(frozen=True)
class Row:
    """What became of a case with each release, in the order of the suite.

    Attributes:
        name: Name of the case without the release.
        results: The results, by release.
    """

    name: str
    results: Mapping[str, CaseResult]

    @property
    def turns(self) -> Sequence[tuple[str, str]]:
        """The releases between which the verdict changes; those that were not compared are passed over."""
        judged = [name for name, item in self.results.items() if item.verdict in {"passed", "failed"}]
        return [(old, new) for old, new in pairwise(judged) if self.results[old].verdict != self.results[new].verdict]

    @property
    def state(self) -> State:
        """How the last release that was compared does."""
        verdicts = [item.verdict for item in self.results.values() if item.verdict in {"passed", "failed"}]
        return "skipped" if not verdicts else "passed" if verdicts[-1] == "passed" else "failed"

    @property
    def since(self) -> str:
        """Since which release it differs, in words."""
        if self.turns:
            return "; ".join(self._turn(old, new) for old, new in self.turns)
        words = {"passed": "right with all", "failed": "differs with all", "skipped": "not compared with any"}
        missing = [name for name, item in self.results.items() if item.verdict not in {"passed", "failed"}]
        apart = f" but {', '.join(missing)}, not compared" if missing and self.state != "skipped" else ""
        return f"{words[self.state]}{apart}"

    def _turn(self, old: str, new: str) -> str:
        if self.results[old].verdict == "passed":
            return f"differs since {new}, right with {old}"
        return f"right since {new}, not with {old}"


def rows_of(cases: Iterable[CaseResult]) -> list[Row]:
    """Return a row for each case that was run with several releases."""
    found: dict[str, dict[str, CaseResult]] = {}
    for case in cases:
        if case.series:
            found.setdefault(case.series, {})[case.axes[RELEASE]] = case
    return [Row(name, results) for name, results in found.items()]


def facts_of(rows: Sequence[Row]) -> list[Facts]:
    """Return the rows as every report shows them; nothing if there are none."""
    items = tuple(Fact(row.name, row.since, row.state) for row in rows)
    return [Facts("Since which release", items)] if items else []


def document_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
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

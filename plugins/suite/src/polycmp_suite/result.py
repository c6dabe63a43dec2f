"""Result of a case, as stored in its JSON file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from polycmp.options import parse_json

State: TypeAlias = Literal["passed", "failed", "undecided", "blind", "error", "skipped"]
#: States that make a run of a suite fail.
BAD: frozenset[str] = frozenset({"failed", "undecided", "blind", "error"})

SCHEMA = 1


@dataclass(frozen=True)
class CaseResult:
    """Result of a case.

    Attributes:
        case: Name of the case.
        state: `passed`, `failed`, `undecided` or `blind` (the comparison tells nothing), `error` (it could not be
            compared), or `skipped`. A failure that was expected is `passed`, one that was expected and did not come is
            `failed`.
        verdict: Verdict of the command itself, or `skipped`.
        reason: Reason for the verdict, in one sentence.
        located: The sentence of the search for the first wrong tensor; empty where there was none.
        drift: How the outputs of a case that passed differ from those of its last pass; empty if that was not asked.
        known: Reason why a failure was expected; empty if none was.
        command: The command's words.
        command_line: The command line that runs it alone.
        model: The model as the suite names it.
        backends: The labels of the backends.
        axes: The settings that the matrix chose.
        series: Name without the release, of cases that differ in the release of a backend's runtime alone; else empty.
        tags: Tags of the case.
        status: The exit status; negative for a signal.
        seconds: Duration of the last attempt in seconds.
        attempts: Number of attempts.
        memory: The most that one of its processes took, in bytes.
        where: The machine, where that is another one.
        max_error: The largest absolute difference; None if nothing was compared.
        times: Median seconds of one inference by backend.
        versions: Versions by backend.
        folder: Folder of the case among the results.
        fingerprint: Stands for everything that the result depends on, as far as the suite knows.
        started: When the last attempt began, in seconds since 1970.
    """

    case: str
    state: State
    verdict: str
    reason: str = ""
    located: str = ""
    drift: str = ""
    known: str = ""
    command: str = "run"
    command_line: str = ""
    model: str = ""
    backends: tuple[str, ...] = ()
    axes: Mapping[str, str] = field(default_factory=dict)
    series: str = ""
    tags: tuple[str, ...] = ()
    status: int = 0
    seconds: float = 0.0
    attempts: int = 1
    memory: int = 0
    where: str = ""
    max_error: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    fingerprint: str = ""
    started: float = 0.0

    @property
    def explanation(self) -> str:
        """The first wrong tensor, where it was looked for, and the reason."""
        return "; ".join(filter(None, (self.located and f"locate: {self.located}", self.reason)))

    @property
    def versioned(self) -> str:
        """The backends, each with its version where that is known."""
        return " · ".join(" ".join(filter(None, (label, self.versions.get(label)))) for label in self.backends)

    @property
    def mark(self) -> str:
        """The word for the result: also `expected` and `unexpected`."""
        if self.known and self.state == "passed":
            return "known"
        return self.state

    def to_json(self) -> dict[str, Any]:
        """Return it as its JSON file holds it."""
        return {"schema": SCHEMA, **dataclasses.asdict(self)}


_FIELDS = {item.name for item in dataclasses.fields(CaseResult)}


def result_from_json(document: Mapping[str, Any]) -> CaseResult:
    """Read a result from JSON; keys of later versions are left out.

    Raises:
        ValueError: It is no result of a case.
    """
    if document.get("schema") != SCHEMA or not {"case", "state", "verdict"} <= set(document):
        raise ValueError("it is not the result of a case")
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in document.items() if key in _FIELDS
    }
    error = values.get("max_error")
    if isinstance(error, str):  # JSON has no infinity
        values["max_error"] = float(error)
    return CaseResult(**values)


def read_result(path: Path) -> CaseResult | None:
    """Return the result in a file; None if there is none, or it is not whole.

    Its folder is the one that the file is in, not the one that the file names: pages are written there.
    """
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
        return dataclasses.replace(result_from_json(document), folder=path.parent.name)
    except (OSError, ValueError, TypeError, AttributeError):
        return None

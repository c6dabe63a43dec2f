"""Findings of the checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK

Status = Literal["passed", "failed", "skipped", "error"]


@dataclass(frozen=True)
class Check:
    """One invariant of one backend.

    Attributes:
        name: The check.
        status: `passed`, `failed`, `skipped` (it does not apply, the reason says why) or `error` (could not be done).
        reason: Description of the finding.
        max_error: Largest absolute difference; None where nothing was compared.
    """

    name: str
    status: Status
    reason: str = ""
    max_error: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the check as plain values."""
        return {"status": self.status, "reason": self.reason, "max_error": self.max_error}


@dataclass
class BackendFindings:
    """All checks of one backend.

    Attributes:
        label: Label of the backend in reports.
        backend: The backend's name.
        version: Version of the library underneath, as far as known.
        batch: Description of the batch that was used.
        error: Reason why nothing could be checked; empty if it could.
        hint: The next step for the user after that; empty for none.
        checks: The checks in the order in which they were made.
    """

    label: str
    backend: str
    version: str = ""
    batch: str = ""
    error: str = ""
    hint: str = ""
    checks: list[Check] = field(default_factory=list)


@dataclass
class InvariantFindings:
    """Findings of the checks on every backend.

    Attributes:
        subjects: One per backend.
        command: The command line, for reports.
    """

    subjects: list[BackendFindings] = field(default_factory=list)
    command: str = ""

    @property
    def exit_code(self) -> int:
        """The exit status: 0 all hold, 1 one does not, 3 a backend failed or nothing could be checked."""
        checks = [check for subject in self.subjects for check in subject.checks]
        if any(subject.error for subject in self.subjects) or any(check.status == "error" for check in checks):
            return EXIT_FAILED
        if any(check.status == "failed" for check in checks):
            return EXIT_DIFFERENT
        return EXIT_OK if any(check.status == "passed" for check in checks) else EXIT_FAILED

    @property
    def verdict(self) -> str:
        """`passed`, `failed` or `error`."""
        return {EXIT_OK: "passed", EXIT_DIFFERENT: "failed"}.get(self.exit_code, "error")

    def to_json(self) -> dict[str, Any]:
        """Return the findings as plain values."""
        return {
            "schema": 1,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "command": self.command,
            "invariants": {
                subject.label: {
                    "backend": subject.backend,
                    "version": subject.version,
                    "batch": subject.batch,
                    "error": subject.error or None,
                    "hint": subject.hint or None,
                    "checks": {check.name: check.to_json() for check in subject.checks},
                }
                for subject in self.subjects
            },
        }

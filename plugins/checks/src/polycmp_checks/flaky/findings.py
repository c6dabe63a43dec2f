"""Findings on backends that are run repeatedly on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK


@dataclass(frozen=True)
class Repeated:
    """One tensor over many runs.

    Attributes:
        name: The tensor.
        different: Number of different results.
        most_frequent: Number of runs that gave the most frequent one.
        largest: Largest absolute difference from the first result; None where that is no number.
    """

    name: str
    different: int
    most_frequent: int
    largest: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"different": self.different, "most_frequent": self.most_frequent, "max_difference": self.largest}


@dataclass(frozen=True)
class Repeats:
    """The outputs of many runs.

    Attributes:
        runs: Number of runs.
        different: Number of different results, all outputs of a run taken together.
        outputs: Each output.
    """

    runs: int
    different: int
    outputs: tuple[Repeated, ...]

    @property
    def same(self) -> bool:
        """Whether all runs returned the same bits."""
        return self.different == 1

    def to_json(self) -> dict[str, Any]:
        """Return them as plain values."""
        outputs = {item.name: item.to_json() for item in self.outputs}
        return {"runs": self.runs, "different": self.different, "outputs": outputs}


@dataclass(frozen=True)
class FirstDiffering:
    """The first tensor in model order that differs.

    Attributes:
        op_type: Type of the operator that makes it.
        operator: Name of the operator; may be empty.
        tensor: The tensor over all runs.
    """

    op_type: str
    operator: str
    tensor: Repeated

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"tensor": self.tensor.name, "op_type": self.op_type, "name": self.operator, **self.tensor.to_json()}


@dataclass
class FlakyBackend:
    """Findings on one backend.

    Attributes:
        label: Label of the backend in reports.
        backend: The backend's name.
        version: Version of the library underneath, as far as known.
        error: Reason why it could not be run; empty if it could.
        hint: The next step for the user after that; empty for none.
        runs: Runs of one session.
        restarts: Runs of a session each; None if they were not asked for.
        one_thread: Runs of one session with one thread, where several threads made different results.
        first: The first tensor that differs; None where nothing does, or none could be found.
        no_first_reason: Reason why `first` could not be found, in words.
        notes: Remarks for the reader.
    """

    label: str
    backend: str
    version: str = ""
    error: str = ""
    hint: str = ""
    runs: Repeats | None = None
    restarts: Repeats | None = None
    one_thread: Repeats | None = None
    first: FirstDiffering | None = None
    no_first_reason: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        """Whether any two runs returned different bits."""
        return any(item is not None and not item.same for item in (self.runs, self.restarts))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        parts = {
            "runs": self.runs, "restarts": self.restarts, "one_thread": self.one_thread, "first_differing": self.first
        }  # fmt: skip
        return {
            "backend": self.backend,
            "version": self.version,
            "error": self.error or None,
            "hint": self.hint or None,
            **{key: item.to_json() if item is not None else None for key, item in parts.items()},
            "notes": self.notes,
        }


@dataclass
class FlakyFindings:
    """Findings on all backends.

    Attributes:
        subjects: One per backend.
        command: The command line, for reports.
    """

    subjects: list[FlakyBackend] = field(default_factory=list)
    command: str = ""

    @property
    def exit_code(self) -> int:
        """The exit status: 0 all the same bits, 1 different ones, 3 a backend failed."""
        if any(subject.error for subject in self.subjects):
            return EXIT_FAILED
        return EXIT_DIFFERENT if any(subject.differs for subject in self.subjects) else EXIT_OK

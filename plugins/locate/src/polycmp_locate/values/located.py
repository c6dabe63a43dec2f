"""Values from the last stage: the verdict in words, and all that a report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, PolycmpError
from polycmp.report import Verdict, verdict_of
from polycmp.results import BackendResult
from polycmp.tensors import Feed
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.values.judged import BENIGN, NOT_JUDGED, UNDECIDED, Judged


@dataclass
class Located:
    """Everything that one search found.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        judged: The verdict, and the tensors and operators that it names.
        backends: The runs.
        sentence: The verdict as a sentence.
        explain: The figures behind it.
        notes: Further remarks for the reader.
        odd_one_out: With three or more backends, the one that disagrees with the others.
        feed: The iteration in which it shows, or the step.
        inputs: Inputs of that iteration.
        step: The step in which was searched; None where outputs do not go back as inputs.
        command: The command line.
        seconds: Wall-clock duration.
        saved: Folder of the saved case that repeats it.
        precision: Backends that may calculate in a coarser type than the model's, and the type, in words; else empty.
        pairing: Pairs of tensors of two different models; None where both have the same operators.
        looks: Data for reports from observers on tensors that differ, by report, then by the candidate and the tensor.
        errors: Errors of observers while the search went on: the verdict holds.
    """

    candidate: str
    reference: str
    judged: Judged = field(default_factory=Judged)
    backends: list[BackendResult] = field(default_factory=list)
    sentence: str = ""
    explain: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    odd_one_out: str = ""
    feed: int = 0
    inputs: Feed = field(default_factory=dict, repr=False)
    step: int | None = None
    command: str = ""
    seconds: float = 0.0
    saved: str = ""
    precision: str = ""
    pairing: Pairing | None = None
    looks: Mapping[str, Mapping[tuple[str, str], Any]] = field(default_factory=dict, repr=False)
    errors: Sequence[PolycmpError] = field(default=(), repr=False)

    @property
    def failed_backends(self) -> list[BackendResult]:
        """The runs that ended with an error."""
        return [backend for backend in self.backends if backend.error]

    @property
    def exit_code(self) -> int:
        """The exit status: 0 nothing found, 1 found, 3 could not compare or undecided."""
        judged = self.judged
        if judged.verdict == UNDECIDED:
            return EXIT_FAILED
        if judged.first_bad is not None or judged.verdict not in BENIGN:
            return EXIT_DIFFERENT
        return EXIT_FAILED if self.failed_backends or judged.verdict == NOT_JUDGED else EXIT_OK

    @property
    def status(self) -> Verdict:
        """The verdict that reports render: `undecided` only where nothing else kept the search from one."""
        if self.judged.verdict == UNDECIDED and not self.failed_backends:
            return "undecided"
        return verdict_of(self.exit_code)

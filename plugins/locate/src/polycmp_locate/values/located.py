"""Values from the last stage: the verdict in words, and all that a report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polycmp.compare import OutputComparison
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK, PolycmpError
from polycmp.graph import GraphNode
from polycmp.report import Verdict, verdict_of
from polycmp.results import BackendResult
from polycmp.tensors import Feed
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.values.judged import BENIGN, EQUAL, NOT_JUDGED, UNDECIDED, Cause, Fused, Probe
from polycmp_locate.values.measured import Row


@dataclass
class Located:
    """Everything that one search found.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        backends: The runs.
        rows: The tensors in the order of the graph; with bisection only those that were looked at.
        finals: The model's outputs without probes.
        first_bad: The first tensor that is wrong; None if none is.
        last_good: The last one before it that is not.
        origin: The tensor where the error comes from, if it is not `first_bad` itself.
        turning: The first tensor in which rounding alone makes a difference that the outputs show.
        absorbed: Infinite or saturated tensors that harm nothing after them, with the readers that absorb them.
        harmless: Tensors whose operators are wrong alone, which the outputs do not show.
        probe: Effect of the probes.
        cause: Cause of the fault where it is no single operator's arithmetic; None where it is.
        verdict: One of the verdicts.
        sentence: The verdict as a sentence.
        explain: The figures behind it.
        notes: Further remarks for the reader.
        odd_one_out: With three or more backends, the one that disagrees with the others.
        feed: The iteration in which it shows, or the step.
        inputs: Inputs of that iteration.
        step: The step in which was searched; None where outputs do not go back as inputs.
        mode: `full` or `bisect`.
        command: The command line.
        seconds: Wall-clock duration.
        saved: Folder of the saved case that repeats it.
        precision: Backends that may calculate in a coarser type than the model's, and the type, in words; else empty.
        pairing: Pairs of tensors of two different models; None where both have the same operators.
        looks: Data for reports from observers on tensors that differ, by report, then by the candidate and the tensor.
        errors: Errors of observers while the search went on: the verdict holds.
        fused: The operators that are wrong together, or do not run together; None where it is not that.
        usual_type: In which type the rest of the model is calculated, where the first bad tensor's is coarser.
    """

    candidate: str
    reference: str
    backends: list[BackendResult] = field(default_factory=list)
    rows: Sequence[Row] = ()
    finals: Sequence[OutputComparison] = ()
    first_bad: Row | None = None
    last_good: Row | None = None
    origin: Row | None = None
    turning: Row | None = None
    absorbed: Sequence[tuple[Row, Sequence[GraphNode]]] = ()
    harmless: Sequence[Row] = ()
    probe: Probe | None = None
    cause: Cause | None = None
    verdict: str = EQUAL
    sentence: str = ""
    explain: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    odd_one_out: str = ""
    feed: int = 0
    inputs: Feed = field(default_factory=dict, repr=False)
    step: int | None = None
    mode: str = "full"
    command: str = ""
    seconds: float = 0.0
    saved: str = ""
    precision: str = ""
    pairing: Pairing | None = None
    looks: Mapping[str, Mapping[tuple[str, str], Any]] = field(default_factory=dict, repr=False)
    errors: Sequence[PolycmpError] = field(default=(), repr=False)
    usual_type: str = ""
    fused: Fused | None = None

    @property
    def failed_backends(self) -> list[BackendResult]:
        """The runs that ended with an error."""
        return [backend for backend in self.backends if backend.error]

    @property
    def exit_code(self) -> int:
        """The exit status: 0 nothing found, 1 found, 3 could not compare or undecided."""
        if self.verdict == UNDECIDED:
            return EXIT_FAILED
        if self.first_bad is not None or self.verdict not in BENIGN:
            return EXIT_DIFFERENT
        return EXIT_FAILED if self.failed_backends or self.verdict == NOT_JUDGED else EXIT_OK

    @property
    def status(self) -> Verdict:
        """The verdict that reports render: `undecided` only where nothing else kept the search from one."""
        if self.verdict == UNDECIDED and not self.failed_backends:
            return "undecided"
        return verdict_of(self.exit_code)

"""What `locate` ends with: a row per tensor, the operator at fault, a verdict in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polycmp.compare import ErrorStats, OutputComparison
from polycmp.errors import EXIT_DIFFERENT, EXIT_FAILED, EXIT_OK
from polycmp.graph import GraphNode
from polycmp.report import Verdict, verdict_of
from polycmp.results import BackendResult
from polycmp.tensors import Feed
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.switches import Cure

#: The verdicts, each a key in reports.
EQUAL = "equal"
WITHIN_ROUNDING = "within rounding"
WORSE = "worse than this precision explains"
WRONG = "wrong"
ILL_CONDITIONED = "ill-conditioned model"
NOT_FINITE = "NaN/Inf born here"
CONSTANT = "suspiciously constant"
FUSION = "probing removes the fault"
FAILS = "the backend fails here"
UNDECIDED = "undecided"
DRAWN = "random numbers"
UNSTEADY = "other numbers in each run"
NARROWED = "calculated in a coarser type than the rest"
NOT_JUDGED = "not judged"
#: Operators of a group that are named before the rest is counted.
_NAMED = 5
#: Verdicts of which nobody is accused.
BENIGN = frozenset({EQUAL, WITHIN_ROUNDING, ILL_CONDITIONED, DRAWN, NOT_JUDGED})


@dataclass(frozen=True)
class Standalone:
    """What an operator does wrong by itself, fed with the reference's tensors.

    Attributes:
        max_abs: Largest absolute error of its output.
        relative: That, divided by the scale of the reference's output.
        passed: Whether it is within the tolerances.
        floor: How much of `relative` rounding explains: what the reference itself is off from float64 as far as the
            condition allows, or how far one unit in the last place of the inputs moves it; None if not measured.
        floor_from: Where `floor` comes from, in words.
        reference: How far the reference itself is from float64, relative; None if that was not measured.
        candidate: How far the candidate is from float64, relative.
        share: Which share of the elements differs.
        count: Elements.
        is_nan: Whether it makes NaN.
        same_if_rounded: Whether the reference makes the same of inputs rounded to the type that was allowed.
        are_ties: Whether the reference makes each of the candidate's steps of inputs a few units away; fewer where
            all steps go in one direction.
        one_sided: Whether all steps that differ do so in one direction.
        in_place: How far the candidate's tensor in the model is from what the reference makes of the candidate's own
            inputs, relative; None if that was not measured.
        in_place_steps: The same, largest absolute difference.
        steps: What rounding to steps did, for parts that do so; None for others.
        gain: By which share a whole row is off alike; only for coarse types.
        in_place_gain: The same of what `in_place` compares.
    """

    max_abs: float
    relative: float
    passed: bool
    floor: float | None = None
    floor_from: str = ""
    reference: float | None = None
    candidate: float | None = None
    share: float = 0.0
    count: int = 0
    is_nan: bool = False
    same_if_rounded: bool = False
    are_ties: bool = False
    one_sided: bool = False
    in_place: float | None = None
    in_place_steps: float = 0.0
    steps: StepError | None = None
    gain: float = 0.0
    in_place_gain: float = 0.0

    @property
    def is_drowned(self) -> bool:
        """Whether steps made for masks leave nothing of the numbers beside them."""
        return self.steps is not None and bool(self.steps.drowned)


@dataclass
class Row:
    """One tensor of the model.

    Attributes:
        tensor: Its name.
        node: The operator that makes it.
        type: Element type and shape, as text.
        unit: Unit roundoff of its type, or of a coarser one that a side may calculate in.
        passed: Whether it is within the tolerances.
        reason: Why not.
        max_abs: Largest absolute error, accumulated on the way through the model.
        mean_abs: Mean absolute error.
        relative: `max_abs` divided by the largest magnitude in the reference.
        gain: By which share a whole row is off alike, and no input's by half of that; only for coarse types.
        jump: `relative` divided by that of the operator's worst input; infinite if those are equal.
        candidate: What the candidate's tensor holds.
        reference: What the reference's holds.
        standalone: The operator's own error; None if it was not measured.
        was_tried: Whether it was tried to measure that.
        was_postponed: Whether it should have been, but others had been before it, as many as one pass runs alone.
        is_borrowed: Whether the candidate made it for both sides, as the reference lacks the operator.
        truth_passed: Whether float64 is within the tolerance of the reference; None if that was not asked.
        in_steps: Whether the tensor holds steps of a scale.
        path_unit: Unit roundoff of the coarsest type on the way from the inputs; of 8 bits where that was quantised.
        input_unit: Unit roundoff of what the operator read, or of a coarser type that a side may calculate in.
        saturates: Whether the candidate's integer operator is exact with half of the activations.
        is_matched: Whether both sides are alike, the positions of NaN and infinities included.
        is_saturated: Whether one side holds values that the other's type cannot.
        truth: How far candidate and reference are from float64, relative; None if that was not measured.
        stats: The figures of the compare function.
        inputs: What the operator read in the reference, by name; only for rows of interest.
        inputs_finite: Whether everything the operator read in the candidate is finite.
    """

    tensor: str
    node: GraphNode
    type: str
    unit: float = 0.0
    passed: bool = True
    reason: str = ""
    max_abs: float = 0.0
    mean_abs: float = 0.0
    relative: float = 0.0
    gain: float = 0.0
    jump: float = 0.0
    candidate: Figures | None = None
    reference: Figures | None = None
    standalone: Standalone | None = None
    was_tried: bool = False
    was_postponed: bool = False
    is_borrowed: bool = False
    truth_passed: bool | None = None
    in_steps: bool = False
    path_unit: float = 0.0
    input_unit: float = 0.0
    saturates: bool = False
    is_matched: bool = False
    is_saturated: bool = False
    truth: tuple[float, float] | None = None
    stats: ErrorStats | None = None
    inputs: Mapping[str, Figures] = field(default_factory=dict)
    inputs_finite: bool = True


@dataclass
class Probe:
    """What looking inside did to the result.

    Attributes:
        moved: How far the candidate's final outputs with probes are from those without, largest absolute difference.
        relative: That, divided by the largest magnitude.
        error: The error of the final outputs without probes, relative: what the verdict rests on.
        probed_error: The error of the final outputs where both sides are probed, relative.
        plain_passed: Whether the final outputs pass without probes.
        probed_passed: Whether they pass with probes.
        kept: Tensors whose probing alone makes the fault go away, and the operators around the first of them.
        trusted: Whether the tensors seen may stand for those of the unprobed model.
        sentence: All that in words.
    """

    moved: float = 0.0
    relative: float = 0.0
    error: float = 0.0
    probed_error: float = 0.0
    plain_passed: bool = True
    probed_passed: bool = True
    kept: tuple[str, ...] = ()
    trusted: bool = True
    sentence: str = ""


@dataclass(frozen=True)
class Fused:
    """Operators that are right one by one and not together.

    Attributes:
        nodes: The operators, in the order of the model.
        replaced_by: The types of the operators that the backend computes in their place; none if it does not tell.
        cure: The switch of the backend with which they are right; None if none is known.
    """

    nodes: tuple[GraphNode, ...]
    replaced_by: tuple[str, ...] = ()
    cure: Cure | None = None

    @property
    def labels(self) -> str:
        """The operators for people."""
        names = [node.label for node in self.nodes]
        if len(names) > _NAMED:
            names = [*names[: _NAMED - 2], f"{len(names) - _NAMED + 1} more", names[-1]]
        return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]

    @property
    def hangs_on(self) -> str:
        """What a backend does on its own account that makes them wrong, in brackets; empty if that has no name."""
        return f" ({', '.join(self.cure.names)})" if self.cure is not None and self.cure.names else ""

    @property
    def way_round(self) -> str:
        """What to type until that is mended, as the end of a sentence; empty if nothing helps."""
        return f"; a way round: {self.cure.words}" if self.cure is not None and self.cure.words else ""


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
        probe: What probing did.
        verdict: One of the verdicts above.
        sentence: The verdict as a sentence.
        explain: The figures behind it.
        notes: What else a reader should know.
        odd_one_out: With three or more backends, the one that disagrees with the others.
        feed: The iteration in which it shows, or the step.
        inputs: What was fed in it.
        step: The step in which was searched; None where outputs do not go back as inputs.
        mode: `full` or `bisect`.
        command: The command line.
        seconds: Wall-clock duration.
        saved: Where the case that repeats it was saved.
        precision: Who may calculate in a coarser type than the model's, and in which, in words; empty if nobody.
        pairing: Which tensors of two different models belong together; None where both have the same operators.
        looks: What reports saw of tensors that differ, by the report's name; then by the candidate and the tensor.
        fused: The operators that are wrong together, or do not run together; None where it is not that.
        usual_type: In which type the rest of the model is calculated, where the first bad tensor's is coarser.
    """

    candidate: str
    reference: str
    backends: list[BackendResult] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    finals: list[OutputComparison] = field(default_factory=list)
    first_bad: Row | None = None
    last_good: Row | None = None
    origin: Row | None = None
    turning: Row | None = None
    probe: Probe | None = None
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
    usual_type: str = ""
    fused: Fused | None = None

    @property
    def failed_backends(self) -> list[BackendResult]:
        """The runs that ended with an error."""
        return [backend for backend in self.backends if backend.error]

    @property
    def status(self) -> Verdict:
        """The verdict that reports render: `undecided` only where nothing else kept the search from one."""
        if self.verdict == UNDECIDED and not self.failed_backends:
            return "undecided"
        return verdict_of(self.exit_code)

    @property
    def exit_code(self) -> int:
        """The exit status: 0 nothing found, 1 found, 3 could not compare or undecided."""
        if self.verdict == UNDECIDED:
            return EXIT_FAILED
        if self.first_bad is not None or self.verdict not in BENIGN:
            return EXIT_DIFFERENT
        return EXIT_FAILED if self.failed_backends or self.verdict == NOT_JUDGED else EXIT_OK

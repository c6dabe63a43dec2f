"""Values from the third stage: the verdict, the tensors and operators that it names, and its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from polycmp.compare import OutputComparison
from polycmp.graph import GraphNode
from polycmp.spec import Switch
from polycmp_locate.values.measured import Extent, Row

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
LEFT_OPEN = "left open"
OTHER_INPUTS = "other inputs"
NARROWED = "calculated in a coarser type than the rest"
NOT_JUDGED = "not judged"
LACKING = "an output is missing"
BEYOND = "beyond rounding"
OTHER_NETWORK = "another network"
#: Verdicts that accuse no operator.
BENIGN = frozenset({EQUAL, WITHIN_ROUNDING, ILL_CONDITIONED, DRAWN, LEFT_OPEN, OTHER_INPUTS, NOT_JUDGED})
#: End of the sentence of a fault that the outputs do not show.
OUTPUTS_AGREE = "; even so, the outputs are within tolerance"
#: Operators of a group that are named before the rest is counted.
_NAMED = 5


@dataclass(frozen=True)
class Probe:
    """Effect of probing on the result.

    Attributes:
        moved: Largest absolute difference of the candidate's final outputs with probes from those without.
        relative: That, divided by the largest magnitude.
        error: The error of the final outputs without probes, relative: what the verdict rests on.
        probed_error: The error of the final outputs where both sides are probed, relative.
        plain_passed: Whether the final outputs pass without probes.
        probed_passed: Whether they pass with probes.
        cures: Tensors whose probing alone makes the fault go away, and the operators around the first of them.
        trusted: Whether the tensors seen may be taken for those of the unprobed model.
        sentence: All that in words.
    """

    moved: float = 0.0
    relative: float = 0.0
    error: float = 0.0
    probed_error: float = 0.0
    plain_passed: bool = True
    probed_passed: bool = True
    cures: tuple[str, ...] = ()
    trusted: bool = True
    sentence: str = ""


@dataclass(frozen=True)
class Cure:
    """A switch that makes a fault go away.

    Attributes:
        switch: The switch.
        value: Value for the switch: a tuple of as few values as help, or the one that leaves out least.
        words: Text to type for the backend with it; empty if no text means that.
        others: Other values of a switch that takes several, which help as well; which of them is wrong no trial shows.
    """

    switch: Switch
    value: Any
    words: str
    others: tuple[Any, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the optimisations that are left out; none where it is a setting for all."""
        return tuple(map(str, self.value)) if isinstance(self.value, tuple) else ()


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
        """Optimisations of a backend that make them wrong, in brackets; empty if they have no name."""
        if self.cure is None or not self.cure.names:
            return ""
        others = " and ".join(map(str, self.cure.others))
        return f" ({', '.join(self.cure.names)}{f', and right without {others} as well' if others else ''})"

    @property
    def way_round(self) -> str:
        """The command to type until that is mended, as the end of a sentence; empty if nothing helps."""
        return f"; workaround: {self.cure.words}" if self.cure is not None and self.cure.words else ""


@dataclass(frozen=True)
class Reason:
    """Why an operator is wrong, and remedies.

    Attributes:
        words: The reason.
        is_cause: Whether it explains the error, and is no remark on what else may.
        is_as_defined: Whether it is that the candidate computes what its file says.
    """

    words: str
    is_cause: bool = True
    is_as_defined: bool = False

    def __str__(self) -> str:
        return f"cause: {self.words}" if self.is_cause else self.words


class Cause(Protocol):
    """Cause of a fault that is no single operator's arithmetic; each is in a file of its own in `causes`."""

    def sentence(self, judged: Judged, candidate: str, reference: str, /) -> str:
        """Return the verdict as a sentence.

        Args:
            judged: The verdict.
            candidate: Label of the candidate.
            reference: Label of the reference.
        """
        ...


@dataclass(frozen=True)
class Judgement:
    """The part of a verdict that follows from the rows.

    Attributes:
        verdict: One of the verdicts.
        first_bad: The first tensor that is wrong; None if none is.
        origin: The tensor where the error comes from.
        last_good: The last one before `first_bad` that is not wrong.
        turning: The first tensor in which rounding alone makes a difference that the outputs show.
        absorbed: Infinite or saturated tensors that harm nothing after them, with the readers that absorb them.
        harmless: Tensors whose operators are wrong alone, which the outputs do not show.
    """

    verdict: str = EQUAL
    first_bad: Row | None = None
    origin: Row | None = None
    last_good: Row | None = None
    turning: Row | None = None
    absorbed: tuple[tuple[Row, tuple[GraphNode, ...]], ...] = ()
    harmless: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Judged(Judgement):
    """The verdict on one search.

    Attributes:
        rows: The tensors in the order of the graph.
        finals: The model's outputs without probes.
        probe: Effect of the probes; None where nothing tells.
        is_probed: Whether any output was seen while probing.
        fused: The operators that are wrong together, or do not run together; None where it is not that.
        cause: Cause of the fault where it is no single operator's arithmetic; None where it is.
        unseen: Tensors that could not be looked at.
        borrowed: Operators that the reference lacks, of whose own errors nothing is known.
        reasons: Why the accused operators are wrong, as trials confirm.
        is_whole: Whether all tensors of the model were looked at, and not only a few.
        open_until: Operators to measure again before this verdict is final; None if it is.
    """

    rows: tuple[Row, ...] = ()
    finals: Sequence[OutputComparison] = ()
    probe: Probe | None = None
    is_probed: bool = False
    fused: Fused | None = None
    cause: Cause | None = None
    unseen: tuple[str, ...] = ()
    borrowed: tuple[GraphNode, ...] = ()
    reasons: tuple[Reason, ...] = ()
    is_whole: bool = True
    open_until: Extent | None = None

    @property
    def accused(self) -> Row | None:
        """The tensor whose operator is to blame; None if none is."""
        return self.origin or self.first_bad

    @property
    def even_so(self) -> str:
        """End of the sentence of a fault that the outputs do not show; empty if they do."""
        return OUTPUTS_AGREE if self.finals and all(item.passed for item in self.finals) else ""

    @property
    def seen_probe(self) -> Probe | None:
        """Effect of the probes; None where no output was seen while probing."""
        return self.probe if self.is_probed else None

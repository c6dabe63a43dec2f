"""Values from the first stage: every tensor of the candidate beside the reference's, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polycmp.compare import ErrorStats
from polycmp.graph import GraphNode
from polycmp_locate.rounding.figures import Figures


@dataclass(frozen=True)
class SweptRow:
    """One tensor of the model, as both sides made it.

    Attributes:
        tensor: Name of the tensor.
        node: The operator that makes it.
        type: Element type and shape, as text.
        unit: Unit roundoff of its type, or of a coarser one that a side may calculate in.
        passed: Whether it is within the tolerances.
        reason: Reason why it does not pass.
        max_abs: Largest absolute error, accumulated on the way through the model.
        mean_abs: Mean absolute error.
        relative: `max_abs` divided by the largest magnitude in the reference.
        gain: By which share a whole row is off alike, and no input's by half of that; only for coarse types.
        jump: `relative` divided by that of the operator's worst input; infinite if those are equal.
        candidate: Figures of the candidate's tensor.
        reference: Figures of the reference's tensor.
        is_borrowed: Whether the candidate made it for both sides, as the reference lacks the operator.
        truth: Distances of candidate and reference from float64, relative; None if that was not measured.
        truth_passed: Whether float64 is within the tolerance of the reference; None if that was not asked.
        in_steps: Whether the tensor holds steps of a scale.
        path_unit: Unit roundoff of the coarsest type on the way from the inputs; of 8 bits where that was quantised.
        input_unit: Unit roundoff of what the operator read, or of a coarser type that a side may calculate in.
        is_matched: Whether both sides are alike, the positions of NaN and infinities included.
        is_saturated: Whether one side holds values that the other's type cannot.
        stats: The figures of the compare function.
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
    is_borrowed: bool = False
    truth: tuple[float, float] | None = None
    truth_passed: bool | None = None
    in_steps: bool = False
    path_unit: float = 0.0
    input_unit: float = 0.0
    is_matched: bool = False
    is_saturated: bool = False
    stats: ErrorStats | None = None
    inputs_finite: bool = True


class SweptWindow(NamedTuple):
    """Some tensors that follow each other, with both sides' tensors at hand.

    Attributes:
        rows: The tensors that both sides computed, by name in the order of the graph.
        reference: Tensors of the reference, by name; empty once the next window was asked for.
        candidate: Tensors of the candidate, likewise.
        finals: Copies of those of the model's outputs that are among them, as the candidate made them.
        expected: The same of the reference.
        chosen: Tensors whose operators are measured in any case, and no others; None to decide by the rows.
    """

    rows: Mapping[str, SweptRow]
    reference: dict[str, Any]
    candidate: dict[str, Any]
    finals: Mapping[str, Any]
    expected: Mapping[str, Any]
    chosen: frozenset[str] | None = None


@dataclass(frozen=True)
class Swept:
    """One way through the model.

    Attributes:
        windows: The windows in the order of the graph, each computed when it is asked for.
        static: Tensors that weights alone decide.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        memory: Bytes that the tensors of one window may take.
        unseen: Tensors that could not be looked at; complete when the windows are through.
        borrowed: Operators that the reference lacks, so that the candidate runs them for both.
        is_whole: Whether all tensors of the model are looked at, and not only a few.
    """

    windows: Iterator[SweptWindow]
    static: frozenset[str] = frozenset()
    groups: tuple[tuple[str, ...], ...] = ()
    memory: int = 0
    unseen: list[str] = field(default_factory=list)
    borrowed: tuple[GraphNode, ...] = ()
    is_whole: bool = True

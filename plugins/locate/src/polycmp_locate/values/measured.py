"""Values from the second stage: the tensors, and the measured errors of their operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from polycmp.graph import GraphNode
from polycmp_locate.rounding.figures import Figures
from polycmp_locate.rounding.quantised import StepError
from polycmp_locate.values.swept import SweptRow

#: Operators to run alone: those of suspicious tensors, or of all with an error; as many as one pass may, or any
#: number.
Extent = Literal["suspects", "all", "all, any number"]


@dataclass(frozen=True)
class Standalone:
    """Error of an operator by itself, fed with the reference's tensors, or with those that it read itself.

    Attributes:
        max_abs: Largest absolute error of its output.
        relative: That, divided by the scale of the reference's output.
        passed: Whether it is within the tolerances.
        floor: Part of `relative` that rounding explains: the reference's own distance from float64 as far as the
            condition allows, or how far one unit in the last place of the inputs moves it; None if not measured.
        floor_from: Origin of `floor`, in words.
        reference: Distance of the reference from float64, relative; None if that was not measured.
        candidate: Distance of the candidate from float64, relative.
        share: Share of the elements that differ.
        count: Elements.
        is_nan: Whether it makes NaN.
        same_if_rounded: Whether the reference makes the same of inputs rounded to the type that was allowed.
        are_ties: Whether the reference makes each of the candidate's steps of inputs a few units away; fewer where
            all steps go in one direction.
        one_sided: Whether all steps that differ do so in one direction.
        in_place: Distance of the candidate's tensor in the model from the reference's result for the candidate's own
            inputs, relative; None if that was not measured.
        in_place_steps: The same, largest absolute difference.
        is_decided_otherwise: Whether what differs in its place are decisions between numbers that one unit in the last
            place of a coarse type tells apart.
        steps: Error of rounding to steps, for parts that do so; None for others.
        gain: By which share a whole row is off alike; only for coarse types.
        in_place_gain: The same of what `in_place` compares.
        saturates: Whether the candidate's integer operator is exact with half of the activations.
        on_own: Whether it was fed with the candidate's own tensors, since the candidate computes nothing on others.
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
    is_decided_otherwise: bool = False
    steps: StepError | None = None
    gain: float = 0.0
    in_place_gain: float = 0.0
    saturates: bool = False
    on_own: bool = False

    @property
    def is_drowned(self) -> bool:
        """Whether steps made for masks leave nothing of the numbers beside them."""
        return self.steps is not None and bool(self.steps.drowned)


@dataclass(frozen=True)
class Row(SweptRow):
    """One tensor of the model, with what was measured of its operator.

    Attributes:
        standalone: The operator's own error; None if it was not measured.
        was_tried: Whether it was tried to measure that.
        was_postponed: Whether it should have been, but others had been before it, as many as one pass runs alone.
        inputs: Figures of the operator's inputs in the reference, by name; only for rows of interest.
    """

    standalone: Standalone | None = None
    was_tried: bool = False
    was_postponed: bool = False
    inputs: Mapping[str, Figures] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """All tensors of a model that were looked at.

    Attributes:
        rows: The tensors in the order of the graph.
        finals: The model's outputs as the candidate made them while it was looked inside.
        expected: The same of the reference.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        unseen: Tensors that could not be looked at.
        borrowed: Operators that the reference lacks, so that the candidate ran them for both.
        is_whole: Whether all tensors of the model were looked at, and not only a few.
    """

    rows: tuple[Row, ...]
    finals: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[tuple[str, ...], ...] = ()
    unseen: tuple[str, ...] = ()
    borrowed: tuple[GraphNode, ...] = ()
    is_whole: bool = True

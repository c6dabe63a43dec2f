"""Result of pairing two graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from polycmp.data import InputPairs
from polycmp.graph import GraphNode

#: Methods by which two tensors are matched.
GIVEN = "--map-output"
SAME_NAME = "name"
CONVERTED_NAME = "converter's name"
THROUGH = "rounding of another"
SAME_WEIGHT = "weight"
STRUCTURE = "structure"


@dataclass(frozen=True)
class Match:
    """A tensor of one model and its counterpart in the other.

    Attributes:
        candidate: Name in the candidate's model.
        reference: Name in the reference's model.
        method: Method by which the match was found: one of the methods of this module.
    """

    candidate: str
    reference: str
    method: str


@dataclass(frozen=True)
class Pairing:
    """Pairs of tensors of two models.

    Several tensors of the candidate may have one counterpart: a tensor and what is left of it after it was
    quantised.

    Attributes:
        matches: In the order of the candidate's graph; without the models' inputs, which have the same names.
        candidate_floats: Tensors of real numbers that the candidate's operators make, the scales and steps inside
            quantised operators left out, each with its operator.
        reference_floats: The same of the reference; a saved run knows no operators.
        recorded: Whether the reference is a saved run.
        inputs: Pairs of inputs that have different names, and inputs that only one model has.
        absorbed: Remarks on activations that have an operator in one model only.
        uncut: The reference's tensor before an activation, by the candidate's tensor of codes that one operator makes
            of the same numbers and cuts as the activation does.
        codes: Tensors of the candidate that hold whole numbers and are compared as the real ones that they represent.
    """

    matches: tuple[Match, ...]
    candidate_floats: Mapping[str, GraphNode | None] = field(default_factory=dict)
    reference_floats: Mapping[str, GraphNode | None] = field(default_factory=dict)
    recorded: bool = False
    inputs: InputPairs = field(default_factory=InputPairs)
    absorbed: tuple[str, ...] = ()
    codes: frozenset[str] = frozenset()
    uncut: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def to_reference(self) -> Mapping[str, str]:
        """The reference's names by the candidate's."""
        return {match.candidate: match.reference for match in self.matches}

    @cached_property
    def methods(self) -> Mapping[str, str]:
        """Method by which each tensor was matched, by the candidate's name."""
        return {match.candidate: match.method for match in self.matches}

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of tensors matched by each method, the most frequent first."""
        return dict(Counter(match.method for match in self.matches).most_common())

    @property
    def unmatched_candidate(self) -> tuple[str, ...]:
        """Real tensors that only the candidate has."""
        return tuple(name for name in self.candidate_floats if name not in self.to_reference)

    @property
    def unmatched_reference(self) -> tuple[str, ...]:
        """Real tensors that only the reference has."""
        known = set(self.to_reference.values())
        return tuple(name for name in self.reference_floats if name not in known)

    @property
    def share(self) -> float:
        """Share of the real tensors that is matched, on the side where that is more.

        A model with fused operators has fewer tensors than the other, so not all of the other's can have one.
        """
        counts = [(len(self.unmatched_candidate), len(self.candidate_floats))]
        counts.append((len(self.unmatched_reference), len(self.reference_floats)))
        return max((1.0 - missing / count for missing, count in counts if count), default=1.0)

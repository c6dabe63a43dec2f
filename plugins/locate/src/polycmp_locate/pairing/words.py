"""Notes on the pairing of the tensors of two models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polycmp.data import InputPairs
from polycmp.graph import GraphNode
from polycmp.layerwise import a_few
from polycmp.runs import renamed_input_notes, unmatched_input_notes
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.result import Pairing

#: So many activations that codes do are named.
_SHOWN_ABSORBED = 3
#: Operators of a group that are named; of more the first few and the last are.
_SHOWN_OPERATORS = 8


def input_notes(pairs: InputPairs, candidate: str, reference: str) -> Iterator[str]:
    """Yield notes on inputs that are fed the same under different names, and on inputs without a counterpart.

    Args:
        pairs: The pairs.
        candidate: Label of the candidate.
        reference: Label of the reference.
    """
    for note in (
        *renamed_input_notes(pairs, candidate, reference),
        *unmatched_input_notes(pairs, candidate, reference),
    ):
        yield f"inputs: {note}"


def pairing_notes(pairing: Pairing | None, candidate: str, reference: str) -> Iterator[str]:
    """Yield notes on the pairing of the tensors of two different models, and on tensors without a counterpart.

    Args:
        pairing: The pairs; None for models with the same operators, of which there is nothing to say.
        candidate: Label of the candidate.
        reference: Label of the reference.
    """
    if pairing is None:
        return
    yield from input_notes(pairing.inputs, candidate, reference)
    how = ", ".join(f"{count} by {method}" for method, count in pairing.counts.items())
    what = "of the saved run" if pairing.recorded else "the models differ:"
    yield f"{what} {len(pairing.matches)} tensors were paired ({how})"
    if pairing.absorbed:
        more = len(pairing.absorbed) - _SHOWN_ABSORBED
        last = f"; {more} more likewise" if more > 0 else ""
        yield "; ".join(pairing.absorbed[:_SHOWN_ABSORBED]) + last
    if pairing.codes:
        yield f"{len(pairing.codes)} tensors of {candidate} hold codes and are compared as the numbers they stand for"
    for label, unmatched, real in (
        (candidate, pairing.unmatched_candidate, pairing.candidate_floats),
        (reference, pairing.unmatched_reference, pairing.reference_floats),
    ):
        if unmatched:
            yield f"{len(unmatched)} of {len(real)} real tensors of {label} have no counterpart: {a_few(unmatched)}"


def reads_otherwise(node: GraphNode, candidate: str, reference: str) -> str:
    """Describe the tensors that the reference reads and the candidate does not; empty if there are none.

    Args:
        node: Operator that represents those of both models.
        candidate: The candidate's label.
        reference: The reference's.
    """
    if not isinstance(node, PartNode) or not node.only_reference:
        return ""
    others = a_few(node.only_reference)
    if node.only_candidate:
        return f"; it reads {a_few(node.only_candidate)} in {candidate}, {others} in {reference}"
    guess = ": was it frozen to the example inputs of the export?" if node.may_be_frozen else ""
    return f"; {reference} reads {others} for it and {candidate} does not{guess}"


def all_of(operators: Sequence[str]) -> str:
    """Name several operators, of many those at both ends."""
    if len(operators) > _SHOWN_OPERATORS:
        operators = [
            *operators[: _SHOWN_OPERATORS // 2],
            f"{len(operators) - _SHOWN_OPERATORS // 2 - 1} more",
            operators[-1],
        ]
    return f"{', '.join(operators[:-1])} and {operators[-1]}"

"""Causes of a fault that is no single operator's arithmetic, as a sentence."""

from __future__ import annotations

import math

from polycmp.graph import GraphNode
from polycmp.layerwise import a_few
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.values.judged import (
    FAILS,
    FUSION,
    UNSTEADY,
    WITHIN_ROUNDING,
    Failure,
    Fused,
    LeftOut,
    Ties,
    Together,
    Turned,
    Unsteady,
)
from polycmp_locate.values.located import Located

#: Text that the core adds to the error of a backend that fails before its first run.
_ACTIVATED = " (while it was activated)"


def cause_sentence(found: Located) -> str:
    """Return the cause of a fault as a sentence; empty if the sentence is about a single operator.

    Args:
        found: The search.
    """
    judged = found.judged
    cause = judged.cause
    if isinstance(cause, Unsteady):
        return _unsteady(found, cause)
    if isinstance(cause, Turned | Ties):
        return f"{WITHIN_ROUNDING}: no operator is wrong; where {cause.label} fuses operators, {_turned(cause)}"
    if isinstance(cause, LeftOut) and judged.fused is not None:
        them = "both" if len(cause.nodes) == 2 else "them"
        return (
            f"{FUSION}: with {judged.fused.labels} together, {cause.made!r} is {cause.read!r} to the last bit: "
            f"{cause.label} leaves {them} out"
        )
    if isinstance(cause, Together):
        return _together(found, cause.label)
    return _failure(found, cause) if isinstance(cause, Failure) else ""


def _unsteady(found: Located, unsteady: Unsteady) -> str:
    row = found.judged.first_bad
    who = f"{unsteady.label}{', the reference,' if unsteady.label == found.reference else ''}"
    where = "though no tensor inside that can be looked at is another one"
    if row is not None:
        where = f"first in {row.tensor!r}, which {row.node.label} makes, {_by(unsteady.error)}"
    return (
        f"{UNSTEADY}: {who} computes the same inputs twice and differs from itself, {where}; its outputs then differ "
        f"{_by(unsteady.moved)}"
    )


def _by(error: float) -> str:
    return f"by {error:.2g} relative" if math.isfinite(error) else "in NaN or infinities"


def _turned(turned: Turned | Ties) -> str:
    """Describe the tensor that a fused kernel rounds, and the consequence."""
    made = f"{turned.row.tensor!r}, which {turned.row.node.label} makes,"
    if isinstance(turned, Ties):
        return (
            f"{turned.count} of {turned.elements} elements of {made} are one step off, each at a tie of rounding, and "
            "the outputs differ from there"
        )
    return (
        f"{made} is off by {turned.error:.2g} relative, where rounding explains {turned.limit:.2g}; what follows "
        "decides between nearly equal values, and the outputs differ from there"
    )


def _together(found: Located, label: str) -> str:
    """Describe the fused operators that are wrong, and how to prevent it."""
    judged = found.judged
    probe, fused = judged.seen_probe, judged.fused
    if probe is None:
        return ""
    was, is_now = f"the outputs' error, {probe.error:.2g} relative,", f"{probe.probed_error:.2g}"
    hangs_on, way_round = (fused.hangs_on, fused.way_round) if fused is not None else ("", "")
    if not probe.kept:
        labels = fused.labels if fused is not None and fused.nodes else "the operators"
        return (
            f"{FUSION}: {was} is {is_now} once {label} computes the model in parts; {labels} are right one by one, and "
            f"wrong together{hangs_on}{way_round}"
        )
    right = f"{label} is right once {a_few(probe.kept)} {'is an output' if len(probe.kept) == 1 else 'are outputs'}"
    fused = fused or Fused(())
    if fused.replaced_by:
        return (
            f"{FUSION}: {label} computes {fused.labels} as one {' and '.join(fused.replaced_by)}{hangs_on}, which is "
            f"wrong: {was} is {is_now} with probes, and {right}{way_round}"
        )
    apart = " and ".join(node.label for node in fused.nodes)
    more = "" if len(probe.kept) == 1 else f" and {len(probe.kept) - 1} more"
    return (
        f"{FUSION}: {right}; that keeps apart {apart}{more}, so computing them together (a fused operator, or shared "
        f"memory) is wrong{hangs_on}: {was} is {is_now} with probes{way_round}"
    )


def _failure(found: Located, failure: Failure) -> str:
    """Return on which operators a candidate fails."""
    judged = found.judged
    row, fused = judged.first_bad, judged.fused
    if row is None:
        return ""
    if fused is None:
        error = " ".join(failure.error.removesuffix(_ACTIVATED).split())
        says = not row.reason or (row.node.name and row.node.name in error)
        why = f", and says: {error}" if error and says else ""
        why += frozen(row.node, found.candidate, found.reference) or failure.frozen_sizes
        what = f"with {row.node.label} alone, it {row.reason}" if row.reason else f"{row.node.label}, not even alone"
        return f"{FAILS}: {found.candidate} cannot run {'the model; ' if row.reason else ''}{what}{why}"
    error = " ".join(failure.error.removesuffix(_ACTIVATED).split())
    what = f"{fused.labels} run one by one, together they do not"
    if len(fused.nodes) == 1:
        what = f"{fused.labels} is where it fails"
    return f"{FAILS}: {found.candidate} cannot run the model: {error}; {what}{fused.hangs_on}{fused.way_round}"


def frozen(node: GraphNode, candidate: str, reference: str) -> str:
    """Describe the tensors that the reference reads and the candidate does not; empty if there are none.

    Args:
        node: Operator that represents those of both models.
        candidate: The candidate's label.
        reference: The reference's.
    """
    if not isinstance(node, PartNode) or not node.only_reference:
        return ""
    read = a_few(node.only_reference)
    if node.only_candidate:
        return f"; it reads {a_few(node.only_candidate)} in {candidate}, {read} in {reference}"
    guess = ": frozen to what the export was tried with?" if node.may_be_frozen else ""
    return f"; {reference} reads {read} for it and {candidate} does not{guess}"

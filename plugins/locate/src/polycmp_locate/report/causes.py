"""Causes of a fault that is no single operator's arithmetic, as a sentence."""

from __future__ import annotations

import math

from polycmp.graph import GraphNode
from polycmp.layerwise import a_few
from polycmp_locate import sentences as say
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.values.judged import (
    FAILS,
    FUSION,
    OTHER_NETWORK,
    UNSTEADY,
    WITHIN_ROUNDING,
    Failure,
    Fused,
    LeftOut,
    OtherNetwork,
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
    if isinstance(cause, OtherNetwork):
        first, *more = cause.findings
        agree = all(item.passed for item in judged.finals)
        return f"{OTHER_NETWORK}: {say.other_network(first.words, len(more))}{say.OUTPUTS_AGREE if agree else ''}"
    if isinstance(cause, Turned | Ties):
        return f"{WITHIN_ROUNDING}: {say.where_fused(cause.label, _turned(cause))}"
    if isinstance(cause, LeftOut) and judged.fused is not None:
        them = "both" if len(cause.nodes) == 2 else "them"
        return f"{FUSION}: {say.left_out(judged.fused.labels, cause.made, cause.read, cause.label, them)}"
    if isinstance(cause, Together):
        return _together(found, cause.label)
    return _failure(found, cause) if isinstance(cause, Failure) else ""


def _unsteady(found: Located, unsteady: Unsteady) -> str:
    row = found.judged.first_bad
    who = f"{unsteady.label}{', the reference,' if unsteady.label == found.reference else ''}"
    where = say.UNSEEN if row is None else say.first_in(row.tensor, row.node.label, _by(unsteady.error))
    return f"{UNSTEADY}: {say.unsteady(who, where, _by(unsteady.moved))}"


def _by(error: float) -> str:
    return f"by {error:.2g} relative" if math.isfinite(error) else "in NaN or infinities"


def _turned(turned: Turned | Ties) -> str:
    """Describe the tensor that a fused kernel rounds, and the consequence."""
    row = turned.row
    if isinstance(turned, Ties):
        return say.ties(turned.count, turned.elements, row.tensor, row.node.label)
    return say.decided_after(row.tensor, row.node.label, turned.error, turned.limit)


def _together(found: Located, label: str) -> str:
    """Describe the fused operators that are wrong, and how to prevent it."""
    judged = found.judged
    probe, fused = judged.seen_probe, judged.fused
    if probe is None:
        return ""
    moves = say.error_moves(
        probe.error, probe.probed_error, "with probes" if probe.kept else f"once {label} computes the model in parts"
    )
    hangs_on, way_round = (fused.hangs_on, fused.way_round) if fused is not None else ("", "")
    if not probe.kept:
        labels = fused.labels if fused is not None and fused.nodes else "the operators"
        return f"{FUSION}: {say.wrong_together(moves, labels, hangs_on)}{way_round}"
    right = say.right_as_output(label, a_few(probe.kept), len(probe.kept))
    fused = fused or Fused(())
    if fused.replaced_by:
        kinds = " and ".join(fused.replaced_by)
        return f"{FUSION}: {say.fused_wrongly(label, fused.labels, kinds, hangs_on, moves, right)}{way_round}"
    apart = " and ".join(node.label for node in fused.nodes)
    more = "" if len(probe.kept) == 1 else f" and {len(probe.kept) - 1} more"
    return f"{FUSION}: {say.kept_apart(right, f'{apart}{more}', hangs_on, moves)}{way_round}"


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
        members = row.node.members if isinstance(row.node, PartNode) and not row.reason else ()
        node = say.with_nothing_between(members) if len(members) > 1 else row.node.label
        return f"{FAILS}: {say.fails_alone(found.candidate, node, row.reason)}{why}"
    error = " ".join(failure.error.removesuffix(_ACTIVATED).split())
    what = say.fails_together(found.candidate, error, fused.labels, is_one=len(fused.nodes) == 1)
    return f"{FAILS}: {what}{fused.hangs_on}{fused.way_round}"


def frozen(node: GraphNode, candidate: str, reference: str) -> str:
    """Describe the tensors that the reference reads and the candidate does not; empty if there are none.

    Args:
        node: Operator that represents those of both models.
        candidate: The candidate's label.
        reference: The reference's.
    """
    if not isinstance(node, PartNode) or not node.only_reference:
        return ""
    mine = a_few(node.only_candidate) if node.only_candidate else ""
    others = a_few(node.only_reference)
    return say.reads_otherwise(candidate, mine, reference, others, may_be_frozen=node.may_be_frozen)

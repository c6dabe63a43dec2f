"""The figures of one tensor of the candidate beside the reference's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polycmp.compare import ErrorStats, OutputComparison
from polycmp.graph import GraphNode
from polycmp.judging import MASKING
from polycmp.precision import UNITS
from polycmp.tensors import dtype_of, to_numpy
from polycmp_locate.pairing.parts import unit_inside
from polycmp_locate.rounding.difference import coarser, relative_to
from polycmp_locate.rounding.figures import Figures, figures, rounding
from polycmp_locate.rounding.thresholds import STEP_TYPES, least_scale
from polycmp_locate.rounding.uneven import gain_of, parts_of
from polycmp_locate.row_rules import may_have_gain
from polycmp_locate.values.swept import SweptRow


def make_row(node: GraphNode, item: OutputComparison, candidate: Any, reference: Any, allowed: str = "") -> SweptRow:
    """Return the row of one tensor that both sides computed.

    Args:
        node: Operator that makes the tensor.
        item: The verdict on it.
        candidate: The candidate's tensor.
        reference: The reference's.
        allowed: The coarsest type that the two may calculate in; empty for the model's own.
    """
    row = SweptRow(
        item.output,
        node,
        item.candidate_type,
        coarser(rounding(dtype_of(candidate)), max(UNITS.get(allowed, 0.0), unit_inside(node))),
        item.passed,
        "" if item.passed else item.reason,
        candidate=figures(candidate),
        reference=figures(reference),
        in_steps=dtype_of(candidate).name in STEP_TYPES,
        stats=item.stats,
    )
    if item.stats is None:
        return row
    row = replace(row, **_errors(row, item.stats, candidate, reference, allowed))
    actual, expected = to_numpy(candidate), to_numpy(reference)
    return replace(row, gain=gain_of(actual, expected, node.op_type)) if may_have_gain(row) else row


def _errors(row: SweptRow, stats: ErrorStats, candidate: Any, reference: Any, allowed: str) -> dict[str, Any]:
    """Return the fields of a tensor's error; tolerances for infinities and masking values speak of outputs only."""
    # A NaN that only one side has is no finite error.
    largest = math.inf if stats.nan_mismatched else stats.max_abs
    plain = {"max_abs": largest, "mean_abs": stats.mean_abs, "relative": relative_to(largest, _scale(row))}
    actual, expected = to_numpy(candidate), to_numpy(reference)
    if row.candidate is None or row.reference is None or actual.shape != expected.shape:
        return plain
    if not _is_uneven(row, row.candidate, row.reference):
        return plain
    parts = parts_of(actual, expected, row.node.op_type, row.type, row.unit, allowed)
    return {
        **plain,
        "max_abs": parts.max_abs,
        "relative": parts.relative,
        "is_saturated": parts.is_saturated,
        "is_matched": parts.relative == 0.0 and not parts.is_saturated,
    }


def _scale(row: SweptRow) -> float:
    """Return the scale of an error in a tensor: its largest magnitude, or more where readers see less."""
    largest = row.reference.scale if row.reference is not None else 0.0
    return max(largest, least_scale(row.node.op_type, row.type)) if largest or row.unit else largest


def _is_uneven(row: SweptRow, *sides: Figures) -> bool:
    """Return whether a tensor holds infinities or NaN, or values as large as those that mask others."""
    if any(not side.is_finite for side in sides):
        return True
    return bool(row.unit) and max(side.scale for side in sides) >= MASKING


def after_inputs(row: SweptRow, before: list[SweptRow], fed: list[Any], coarsest: float, borrowed: bool) -> SweptRow:
    """Return a row with what follows from what its operator read.

    Args:
        row: The tensor.
        before: The rows of what the operator read, as far as operators made it.
        fed: The candidate's tensors of what else it read: inputs and weights.
        coarsest: Unit roundoff of the coarsest type that a side may calculate in; 0 for the model's own.
        borrowed: Whether the candidate made the tensor for both sides.
    """
    changes: dict[str, Any] = {"is_borrowed": borrowed}
    if any(item.gain >= row.gain / 2 for item in before):
        changes["gain"] = 0.0
    if row.relative:
        changes["jump"] = _growth(row.relative, max((item.relative for item in before), default=0.0))
    finite = all(item.candidate is None or item.candidate.is_finite for item in before)
    if finite and row.candidate is not None and not row.candidate.is_finite:
        input_figures = [figures(array) for array in fed]
        finite = all(item is None or item.is_finite for item in input_figures)
    changes["inputs_finite"] = finite
    units = [rounding(dtype_of(array)) for array in fed]
    if row.in_steps:
        changes["input_unit"] = max(coarsest, UNITS["float32"], *(item.unit for item in before), *units, 0.0)
    on_the_way = max((row.unit, *(item.path_unit for item in before), *units))
    changes["path_unit"] = max(on_the_way, UNITS["int8"]) if row.in_steps else on_the_way
    return replace(row, **changes)


def _growth(after: float, before: float) -> float:
    if math.isinf(before):
        return 1.0
    return math.inf if before == 0.0 else after / before


def in_order(rows: Mapping[str, SweptRow], position: Mapping[str, int]) -> dict[str, SweptRow]:
    """Return rows in the order of the graph.

    Args:
        rows: The rows by name.
        position: The position of the operator that makes a tensor, by name.
    """
    return {name: rows[name] for name in sorted(rows, key=position.__getitem__)}

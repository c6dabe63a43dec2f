"""Measuring one tensor against the reference's, and one operator by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.statistics import differences
from polycmp.compare.verdicts import ErrorStats, OutputComparison
from polycmp.graph import GraphNode
from polycmp.layerwise.partitioned_run import Lane
from polycmp.precision import UNITS, granted
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_locate.figures import figures, rounding
from polycmp_locate.result import Own, Row
from polycmp_locate.words import MARGIN

Tensors = Mapping[str, Any]
#: Elements up to which a whole model, or one operator, is also calculated in float64 by a slow evaluator.
AFFORDABLE = 1 << 22
_AFFORDABLE_ALONE = 1 << 20
_PIECE = 1 << 16


def make_row(node: GraphNode, item: OutputComparison, candidate: Any, reference: Any, unit: float = 0.0) -> Row:
    """Return the row of one tensor that both sides computed.

    Args:
        node: Its operator.
        item: The verdict on it.
        candidate: The candidate's tensor.
        reference: The reference's.
        unit: Unit roundoff of the coarsest type that the two may calculate in.
    """
    mine, other = figures(candidate), figures(reference)
    stats = item.stats
    row = Row(
        item.output,
        node,
        item.candidate_type,
        coarser(rounding(dtype_of(candidate)), unit),
        item.passed,
        "" if item.passed else item.reason,
        candidate=mine,
        reference=other,
        stats=stats,
    )
    if stats is not None:
        row.max_abs, row.mean_abs = _largest(stats), stats.mean_abs
        row.relative = relative_to(row.max_abs, other.scale if other is not None else 0.0)
    return row


def coarser(of_type: float, allowed: float) -> float:
    """Return the unit roundoff to judge by; types that hold exact numbers are not rounded, whatever is allowed."""
    return max(of_type, allowed) if of_type else 0.0


def unit_of(*lanes: Lane) -> float:
    """Return the unit roundoff of the coarsest type that some backends may calculate in; 0 for the model's own."""
    return max(UNITS.get(lane.result.precision, 0.0) for lane in lanes)


def _largest(stats: ErrorStats) -> float:
    """Return the largest error; a NaN that only one side has is no finite one."""
    return math.inf if stats.nan_mismatched else stats.max_abs


def relative_to(error: float, scale: float) -> float:
    """Return an error divided by a scale; 0 stays 0 whatever the scale."""
    if error == 0.0:
        return 0.0
    return error / scale if scale > 0.0 else math.inf


def distance(one: Any, two: Any) -> float:
    """Return the largest difference of two tensors over the largest magnitude of the second; infinite if unlike.

    Where both are not finite in the same way they agree.
    """
    a, b = to_numpy(one), to_numpy(two)
    if a.shape != b.shape:
        return math.inf
    if not a.size or a.dtype == object:
        return 0.0
    flat, other = a.reshape(-1), b.reshape(-1)
    pieces = [_gap(flat[at : at + _PIECE], other[at : at + _PIECE]) for at in range(0, a.size, _PIECE)]
    return relative_to(max(gap for gap, _ in pieces), max(scale for _, scale in pieces))


def _gap(one: NDArray[Any], two: NDArray[Any]) -> tuple[float, float]:
    """Return the largest difference in a piece of two tensors, and the largest finite magnitude in the second."""
    a, b = one.astype(np.float64), two.astype(np.float64)
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
    gap[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    gap[np.isnan(gap)] = np.inf
    finite = np.abs(b[np.isfinite(b)])
    return float(gap.max()), float(finite.max()) if finite.size else 0.0


def nudged(tensors: Tensors) -> dict[str, Any]:
    """Return tensors with every real number moved by one unit in the last place, up and down in turn."""
    return {name: _nudge(to_numpy(array)) for name, array in tensors.items()}


def _nudge(array: NDArray[Any]) -> NDArray[Any]:
    if not is_floating(array.dtype) or array.dtype.kind != "f":
        return array
    moved = np.array(array.reshape(-1))
    with np.errstate(all="ignore"):
        for start, direction in ((0, np.inf), (1, -np.inf)):
            every_other = moved[start::2]
            np.nextafter(
                every_other, every_other.dtype.type(direction), out=every_other, where=np.isfinite(every_other)
            )
    return moved.reshape(array.shape)


class NodeProbe:
    """Runs single operators of the candidate on the reference's tensors.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.
        precise: A backend that calculates in float64; None if there is none.
    """

    def __init__(self, candidate: Lane, reference: Lane, precise: Lane | None = None) -> None:
        self.candidate = candidate
        self.reference = reference
        self.precise = precise

    def own_error(self, row: Row, inputs: Tensors, expected: Any, kind: np.dtype[Any], passed: Any) -> Own | None:
        """Return what an operator does wrong by itself; None if the candidate cannot run it alone.

        Args:
            row: The tensor in question.
            inputs: What its operator reads, from the reference.
            expected: The reference's tensor.
            kind: The candidate's element type for real numbers.
            passed: Says of a tensor pair whether it is within the tolerances.
        """
        feed = {name: _as_kind(array, kind) for name, array in inputs.items()}
        made = self.candidate.run_part(feed, [row.tensor])
        if made is None or made[row.tensor].shape != expected.shape:
            return None
        own = to_numpy(made[row.tensor])
        error = _largest(differences(own, to_numpy(expected)))
        scale = row.reference.scale if row.reference is not None else 0.0
        result = Own(error, relative_to(error, scale), bool(passed(own, expected)))
        if result.relative <= MARGIN * granted(row.unit):
            return result  # so small an error needs no explanation
        return self._with_floor(result, row, inputs, own, expected)

    def _with_floor(self, result: Own, row: Row, inputs: Tensors, own: Any, expected: Any) -> Own:
        size = expected.size + sum(to_numpy(array).size for array in inputs.values())
        if self.precise is not None and size <= _AFFORDABLE_ALONE:
            truth = self.precise.run_part(inputs, [row.tensor])
            if truth is not None:
                mine, other = distance(own, truth[row.tensor]), distance(expected, truth[row.tensor])
                return replace(
                    result, floor=other, floor_from="the reference against float64", reference=other, candidate=mine
                )
        moved = self.reference.run_part(nudged(inputs), [row.tensor])
        if moved is None:
            return result
        return replace(
            result, floor=distance(moved[row.tensor], expected), floor_from="inputs moved by one unit in the last place"
        )


def _as_kind(array: Any, kind: np.dtype[Any]) -> Any:
    values = to_numpy(array)
    return values.astype(kind) if values.dtype == np.float64 and is_floating(kind) and kind != values.dtype else values

"""A side that makes other numbers in each run on the same inputs: which one, and where that begins.

Asked first: nothing else means anything where a backend differs from itself. A side that made the same outputs while it
was looked inside does not; else it takes one run more, and two of each window where runs differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed
from polycmp_locate.causes import together
from polycmp_locate.causes.case import Case
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.setting import Tensors
from polycmp_locate.trials.probing import SHARE
from polycmp_locate.values.judged import UNSTEADY, Judged


@dataclass(frozen=True)
class Unsteady:
    """A side whose own runs differ.

    Attributes:
        label: The backend.
        moved: Distance of its outputs from those of another run, relative.
        tensor: The first tensor that differs between two runs; empty if that could not be seen.
        error: Distance of that tensor between the runs, relative.
    """

    label: str
    moved: float
    tensor: str = ""
    error: float = 0.0

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        row = judged.first_bad
        who = f"{self.label}{', the reference,' if self.label == reference else ''}"
        where = "although every tensor inside that can be looked at is the same"
        if row is not None:
            where = f"first in {row.tensor!r}, the output of {row.node.label}, {_by(self.error)}"
        return (
            f"{UNSTEADY}: {who} computes the same inputs twice and differs from itself, {where}; its outputs then "
            f"differ {_by(self.moved)}"
        )


def ask(case: Case) -> Judged | None:
    """Return the verdict on a side that differs from itself by as much as the two sides do; None if neither does."""
    whole, rows = case.whole, case.rows
    if not whole.failing:
        return None
    limits = {row.tensor: worth_running(row.unit) for row in rows}
    sides = (case.setting.candidate, case.setting.reference)
    swept = (case.measured.finals, case.measured.expected)
    for side, plain, inside, again in zip(sides, (whole.plain, whole.expected), swept, whole.again, strict=True):
        if whole.failing.keys() <= inside.keys() and not _moved(plain, inside, whole.failing):
            continue
        whole.on_stage(f"comparing two runs of the whole model on {side.label}")
        unsteady = _find(side, whole.feed, plain, whole.failing, case.measured.groups, limits, again)
        if unsteady is None:
            continue
        if not unsteady.tensor and case.fusing_side is side:  # what is right by itself differs together
            case.moved = unsteady.moved
            return together.ask(case)
        row = next((row for row in rows if row.tensor == unsteady.tensor), None)
        if row is not None and row.is_borrowed:
            unsteady = replace(unsteady, label=case.setting.candidate.label)
        read = [item for item in rows if row is not None and item.tensor in row.node.inputs]
        return case.nobody(verdict=UNSTEADY, first_bad=row, last_good=read[-1] if read else None, cause=unsteady)
    return None


def _find(
    partitioned_run: PartitionedRun,
    feed: Feed,
    actual: Tensors,
    errors: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    limits: Mapping[str, float],
    again: Tensors | None,
) -> Unsteady | None:
    """Find the tensor at which two runs of a backend differ, if by so much that it matters; None if they do not.

    Args:
        partitioned_run: The backend.
        feed: The inputs.
        actual: Outputs of the first run.
        errors: Outputs that are off, with the relative error between both sides.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        limits: Relative differences that are not worth mentioning, by tensor.
        again: Outputs of the second run, where there was one; None to run it here.
    """
    if again is None:  # not a part of the model: its dimensions would be those of the inputs
        again = partitioned_run.run_whole(feed, list(actual)) or {}
    moved = _moved(actual, again, errors)
    if not moved:
        return None
    for group in groups:
        one, two = _twice(partitioned_run, feed, group)
        for name in group:
            gap = distance(one[name], two[name]) if name in one and name in two else 0.0
            if gap > limits.get(name, 0.0):
                return Unsteady(partitioned_run.label, moved, name, gap)
    return Unsteady(partitioned_run.label, moved)


def _moved(actual: Tensors, again: Tensors, errors: Mapping[str, float]) -> float:
    """Return by how much outputs differ between two runs, relative; 0 where that is little beside their errors."""
    gaps = {name: distance(again[name], actual[name]) for name in errors if name in again and name in actual}
    return max((gap for name, gap in gaps.items() if gap > SHARE * min(errors[name], 1.0)), default=0.0)


def _twice(partitioned_run: PartitionedRun, feed: Feed, names: Sequence[str]) -> Sequence[Tensors]:
    """Return tensors of two runs: in runners of their own, or in one where making a runner takes long."""
    if partitioned_run.compiles:
        outputs = partitioned_run.run_part_repeatedly(feed, names, 2)
    else:
        outputs = [partitioned_run.run_part(feed, names) or {} for _ in range(2)]
    return outputs if len(outputs) == 2 else ({}, {})


def _by(error: float) -> str:
    return f"by {error:.2g} relative" if math.isfinite(error) else "in NaN or infinities"

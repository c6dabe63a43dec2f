"""Vote among several backends: the one that disagrees with all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from polycmp.compare import PairComparer
from polycmp.layerwise import PartitionedRun, final_outputs
from polycmp.tensors import Feed


def odd_one_out(
    partitioned_runs: list[PartitionedRun], feed: Feed, functions: Mapping[str, Callable[..., Any]]
) -> tuple[str, str]:
    """Return the backend that disagrees with all others while those agree with each other, and a remark.

    Args:
        partitioned_runs: Three backends or more.
        feed: The inputs.
        functions: Compare functions of an output, by name.

    Returns:
        Its label, empty if there is none, and a remark, empty if all agree.
    """
    final = final_outputs(partitioned_runs[-1].graph)
    outputs_by_run = {run.label: run.run_whole(feed, final) for run in partitioned_runs}
    well = {label: outputs for label, outputs in outputs_by_run.items() if outputs is not None}

    def agree(one: str, two: str) -> bool:
        return all(item.passed for item in PairComparer(one, two, functions).add(well[one], well[two]))

    disagreeing = {frozenset(pair) for pair in combinations(well, 2) if not agree(*pair)}
    odd = [
        label for label in well
        if {frozenset((label, other)) for other in well if other != label} == disagreeing and len(well) > 2
    ]  # fmt: skip
    if odd:
        others = " and ".join(label for label in well if label != odd[0])
        return odd[0], f"the odd one out is {odd[0]}: {others} agree with each other"
    return "", "no single backend is the odd one out: several pairs disagree" if disagreeing else ""

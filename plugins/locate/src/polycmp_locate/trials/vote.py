"""Vote among several backends: the one that disagrees with all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polycmp.compare import PairComparer
from polycmp.layerwise import PartitionedRun, final_outputs
from polycmp.runs import odd_one_out
from polycmp.tensors import Feed


def vote(
    partitioned_runs: list[PartitionedRun], feed: Feed, functions: Mapping[str, Callable[..., Any]]
) -> tuple[str, str]:
    """Return the backend that disagrees with all others while those agree with each other, and a remark.

    Args:
        partitioned_runs: Three backends or more; those that fail have no vote.
        feed: The inputs.
        functions: Compare functions of an output, by name.

    Returns:
        As `odd_one_out` does.
    """
    final = final_outputs(partitioned_runs[-1].graph)
    outputs_by_run = {run.label: run.run_whole(feed, final) for run in partitioned_runs}
    well = {label: outputs for label, outputs in outputs_by_run.items() if outputs is not None}

    def agree(one: str, two: str) -> bool:
        return all(item.passed for item in PairComparer(one, two, functions).add(well[one], well[two]))

    return odd_one_out(list(well), agree)

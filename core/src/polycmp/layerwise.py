"""Looking inside a model in bounded memory: windows of its graph, run one after another on several backends."""

from __future__ import annotations

from polycmp.builtin.judging.structure import (
    final_outputs,
    makers,
    same_operators,
    same_structure,
    static_tensors,
    tensor_outputs,
    tensors_behind,
)
from polycmp.builtin.layerwise.observable import a_few, real_numbers
from polycmp.builtin.layerwise.open import (
    GivenNames,
    Paired,
    open_partitioned_runs,
    open_precise_run,
    open_windows,
)
from polycmp.builtin.layerwise.partition import (
    MOST_WEIGHTS,
    GraphCuts,
    Segment,
    crossing,
    memory_budget,
    plan_segments,
)
from polycmp.builtin.layerwise.partitioned_run import JoinParts, PartitionedRun
from polycmp.builtin.layerwise.segment_runner import MakeRunner
from polycmp.builtin.layerwise.variants import Switches, Variants
from polycmp.builtin.layerwise.windows import Window, Windows, can_run_side_by_side, comparable

__all__ = [
    "MOST_WEIGHTS",
    "GivenNames",
    "GraphCuts",
    "JoinParts",
    "MakeRunner",
    "Paired",
    "PartitionedRun",
    "Segment",
    "Switches",
    "Variants",
    "Window",
    "Windows",
    "a_few",
    "can_run_side_by_side",
    "comparable",
    "crossing",
    "final_outputs",
    "makers",
    "memory_budget",
    "open_partitioned_runs",
    "open_precise_run",
    "open_windows",
    "plan_segments",
    "real_numbers",
    "same_operators",
    "same_structure",
    "static_tensors",
    "tensor_outputs",
    "tensors_behind",
]

"""The judge of tensors: what rounding explains, and the verdict that follows; one for all commands."""

from __future__ import annotations

from polycmp.builtin.judging.decisions import Decisions
from polycmp.builtin.judging.floor import (
    RoundingTolerances,
    Side,
    depths_of,
    floor_of,
    lost_in,
    turned_in,
    uncut_tensors,
)
from polycmp.builtin.judging.levels import Level, Values, sampled_levels
from polycmp.builtin.judging.limits import MARGIN
from polycmp.builtin.judging.masks import MASKING, MASKS, beside_masks
from polycmp.builtin.judging.measured import MeasuredJudge, RoundingSource
from polycmp.builtin.judging.samples import PerturbedRuns, Samples, coarsest, perturbed_runs
from polycmp.builtin.judging.types import (
    beside_ties,
    cast_weights,
    folded_factors,
    quantised_tensors,
    rounded_weights,
    types_inside,
)
from polycmp.builtin.judging.verdict import Comparison, Floor, Judgement, Network, judge, lost_channels

__all__ = [
    "MARGIN",
    "MASKING",
    "MASKS",
    "Comparison",
    "Decisions",
    "Floor",
    "Judgement",
    "Level",
    "MeasuredJudge",
    "Network",
    "PerturbedRuns",
    "RoundingSource",
    "RoundingTolerances",
    "Samples",
    "Side",
    "Values",
    "beside_masks",
    "beside_ties",
    "cast_weights",
    "coarsest",
    "depths_of",
    "floor_of",
    "folded_factors",
    "judge",
    "lost_channels",
    "lost_in",
    "perturbed_runs",
    "quantised_tensors",
    "rounded_weights",
    "sampled_levels",
    "turned_in",
    "types_inside",
    "uncut_tensors",
]

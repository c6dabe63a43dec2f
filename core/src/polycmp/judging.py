"""The judge of tensors: what rounding explains, and the verdict that follows; one for all commands."""

from __future__ import annotations

from polycmp.builtin.judging.decisions import Decisions, are_decisions, sampled_decisions
from polycmp.builtin.judging.floor import (
    PairRounding,
    RoundingTolerances,
    Side,
    depths_of,
    floor_of,
    lost_in,
    turned_in,
)
from polycmp.builtin.judging.levels import Level, root_mean_square, rounded_levels, sampled_levels
from polycmp.builtin.judging.limits import MARGIN, SAMPLES
from polycmp.builtin.judging.masks import beside_masks
from polycmp.builtin.judging.measured import MeasuredJudge, RoundingSource
from polycmp.builtin.judging.samples import PerturbedRuns, Samples, coarsest, perturbed_runs
from polycmp.builtin.judging.types import (
    accumulated_tensors,
    folded_factors,
    own_types,
    quantised_tensors,
    round_alike,
    rounded_weights,
    types_inside,
    types_on_the_way,
)
from polycmp.builtin.judging.verdict import Floor, Judgement, is_ruined, judge, lost_channels

__all__ = [
    "MARGIN",
    "SAMPLES",
    "Decisions",
    "Floor",
    "Judgement",
    "Level",
    "MeasuredJudge",
    "PairRounding",
    "PerturbedRuns",
    "RoundingSource",
    "RoundingTolerances",
    "Samples",
    "Side",
    "accumulated_tensors",
    "are_decisions",
    "beside_masks",
    "coarsest",
    "depths_of",
    "floor_of",
    "folded_factors",
    "is_ruined",
    "judge",
    "lost_channels",
    "lost_in",
    "own_types",
    "perturbed_runs",
    "quantised_tensors",
    "root_mean_square",
    "round_alike",
    "rounded_levels",
    "rounded_weights",
    "sampled_decisions",
    "sampled_levels",
    "turned_in",
    "types_inside",
    "types_on_the_way",
]

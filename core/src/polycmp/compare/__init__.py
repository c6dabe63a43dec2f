"""Comparing arrays, feeds of backends and whole runs: verdicts, figures, noise, and what a pass is worth.

The package itself can be called, because the function `polycmp.compare(new, old)` has its name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from polycmp._builtin_options import SimpleOptions
from polycmp._verdicts import DetailedVerdict, ErrorStats, Histogram, Worst
from polycmp.compare.blindness import PairImpostors, blind, blind_by_figures, impostors_judge, without_elements
from polycmp.compare.blocks import BLOCK, Pair, for_each_block
from polycmp.compare.decisions import Decisions, are_decisions, sampled_decisions
from polycmp.compare.difference import difference_of, is_extended
from polycmp.compare.judge import OutputJudge, compare_strings, require_metric
from polycmp.compare.noise import (
    CLIPPED_BY,
    MARGIN,
    SAMPLES,
    Explained,
    Level,
    Scales,
    explained,
    is_too_far,
    lost_channels,
    one_rounding,
    perturbed_inputs,
    root_mean_square,
    sampled_levels,
    scales_of,
    usual,
    with_clipping,
)
from polycmp.compare.pair import CompareFunction, PairComparer
from polycmp.compare.scripted import (
    PairFunction,
    as_pair_function,
    as_verdict,
    judging,
    load_compare_script,
    read_only_outputs,
)
from polycmp.compare.simple import Simple
from polycmp.compare.statistics import differences, mean_of
from polycmp.compare.validity import find_invalid
from polycmp.compare.verdicts import (
    OutputComparison,
    PairComparison,
    WorstIterations,
    inconclusive,
    judged_together,
    named_reason,
    verdict_over,
)
from polycmp.compare.words import as_scalar, at_index, shape_reason, worst_reason

__all__ = [
    "BLOCK",
    "CLIPPED_BY",
    "MARGIN",
    "SAMPLES",
    "CompareFunction",
    "Decisions",
    "DetailedVerdict",
    "ErrorStats",
    "Explained",
    "Histogram",
    "Level",
    "OutputComparison",
    "OutputJudge",
    "Pair",
    "PairComparer",
    "PairComparison",
    "PairFunction",
    "PairImpostors",
    "Scales",
    "Simple",
    "SimpleOptions",
    "Worst",
    "WorstIterations",
    "are_decisions",
    "as_pair_function",
    "as_scalar",
    "as_verdict",
    "at_index",
    "blind",
    "blind_by_figures",
    "compare_strings",
    "difference_of",
    "differences",
    "explained",
    "find_invalid",
    "for_each_block",
    "impostors_judge",
    "inconclusive",
    "is_extended",
    "is_too_far",
    "judged_together",
    "judging",
    "load_compare_script",
    "lost_channels",
    "mean_of",
    "named_reason",
    "one_rounding",
    "perturbed_inputs",
    "read_only_outputs",
    "require_metric",
    "root_mean_square",
    "sampled_decisions",
    "sampled_levels",
    "scales_of",
    "shape_reason",
    "usual",
    "verdict_over",
    "with_clipping",
    "without_elements",
    "worst_reason",
]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compare arrays, tensors, mappings of them or files: `help(polycmp.builtin.api.quick.compare)`.

        NaN in the same place on both sides is a difference; `options=["--nan", "equal"]` takes them as equal.
        """
        # What is called is built in, and the kernel imports nothing of that: it is named by a string, like a plugin.
        return import_module("polycmp.builtin.api.quick").compare(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

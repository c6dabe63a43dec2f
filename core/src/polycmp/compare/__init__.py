"""Comparing arrays, feeds of backends and whole runs: verdicts, figures, and what a pass is worth.

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
from polycmp.compare.blocks import BLOCK, Pair, for_each_block, wide
from polycmp.compare.channels import FEWEST_IN_CHANNEL, channel_axis, dead_channels, describe_dead
from polycmp.compare.difference import difference_of, is_extended
from polycmp.compare.impostors import same_but_rounding
from polycmp.compare.judge import OutputJudge, compare_strings, require_metric
from polycmp.compare.pair import CompareFunction, PairComparer
from polycmp.compare.scales import Scales, scales_of
from polycmp.compare.scripted import (
    PairFunction,
    as_pair_function,
    as_verdict,
    judging,
    load_compare_script,
    read_only_outputs,
)
from polycmp.compare.signs import describe_signs
from polycmp.compare.simple import Simple
from polycmp.compare.statistics import count_beyond, differences, mean_of
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
    "FEWEST_IN_CHANNEL",
    "CompareFunction",
    "DetailedVerdict",
    "ErrorStats",
    "Histogram",
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
    "as_pair_function",
    "as_scalar",
    "as_verdict",
    "at_index",
    "blind",
    "blind_by_figures",
    "channel_axis",
    "compare_strings",
    "count_beyond",
    "dead_channels",
    "describe_dead",
    "describe_signs",
    "difference_of",
    "differences",
    "find_invalid",
    "for_each_block",
    "impostors_judge",
    "inconclusive",
    "is_extended",
    "judged_together",
    "judging",
    "load_compare_script",
    "mean_of",
    "named_reason",
    "read_only_outputs",
    "require_metric",
    "same_but_rounding",
    "scales_of",
    "shape_reason",
    "verdict_over",
    "wide",
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

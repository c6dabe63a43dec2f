"""The comparator under the names of `polygraphy.comparator`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from polycmp.comparator import Comparator as _Comparator
from polycmp_polygraphy.comparator._log import log_result
from polycmp_polygraphy.comparator.struct import AccuracyResults

__all__ = ["Comparator"]

_LOG = logging.getLogger("polycmp.polygraphy")


class Comparator(_Comparator):
    """Runs runners on the same data and compares what they return, and warns of comparisons that could not fail."""

    @staticmethod
    def compare_accuracy(
        run_results: Any,
        fail_fast: bool = False,
        comparisons: Any = None,
        compare_func: Any = None,
        *further: Any,
        **named: Any,
    ) -> Any:
        """Compare runs as `polycmp.comparator.Comparator` does, and say what a program may look for in its log."""
        compared = _Comparator.compare_accuracy(run_results, fail_fast, comparisons, compare_func, *further, **named)
        results = AccuracyResults(compared if isinstance(compared, list) else [compared])
        functions = compare_func if isinstance(compare_func, Sequence) else [compare_func]
        for result, function in zip(results, functions, strict=True):
            log_result(result, function)
            if result.verdict == "blind":
                _LOG.warning("%s\n  next: tighter tolerances, or compare_accuracy(allow_blind=True)", result.describe())
        return results

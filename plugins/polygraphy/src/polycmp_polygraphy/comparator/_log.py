"""Lines that programs look for in what Polygraphy logs of a comparison, with our figures."""

from __future__ import annotations

import logging
from typing import Any

from polycmp.comparator import AccuracyResult

_LOG = logging.getLogger("polycmp.polygraphy")
_ELEMWISE = "elemwise"


def log_result(result: AccuracyResult, function: Any) -> None:
    """Log what was compared, what tolerances would have passed, and the verdicts.

    Args:
        result: What a compare function found.
        function: The function; None for the one that is taken where none is given.
    """
    if not _LOG.isEnabledFor(logging.INFO):
        return
    for pair, iterations in result.items():
        between = " vs. ".join(pair)
        _LOG.info("Accuracy Comparison | %s", between)
        for index, outputs in enumerate(iterations):
            _LOG.info("Iteration: %d", index)
            for name, item in outputs.items():
                _log_output(name, item, function)
        passed, failed, total = result.stats(pair)
        share = f"Passed: {passed}/{total} iterations | Pass Rate: {100 * passed / total if total else 0:.2f}%"
        _LOG.log(logging.ERROR if failed else logging.INFO, "Accuracy Summary | %s | %s", between, share)


def _log_output(name: str, item: Any, function: Any) -> None:
    _LOG.info("    Comparing Output: %r with %r", name, item.reference_output)
    required = _required(name, item, function)
    if required:
        _LOG.info("        Error Metrics: %s", name)
        _LOG.info("            Minimum Required Tolerance: %s", required)
    if item.passed:
        _LOG.info("        PASSED | Output: %r", name)
    else:
        _LOG.error("        FAILED | Output: %r | %s", name, item.reason)


def _required(name: str, item: Any, function: Any) -> str:
    """Return the tolerances with which an output would have passed; empty where its function has none."""
    if item.stats is None:
        return ""
    by_output = getattr(getattr(function, "options", None), "check_error_stat", None) or {"": (_ELEMWISE,)}
    stat = by_output.get(name, by_output.get("", (_ELEMWISE,)))[-1]
    figures = [
        getattr(item.stats, f"required_{kind}") if stat == _ELEMWISE else item.figure(f"{stat}_{kind}")
        for kind in ("abs", "rel")
    ]
    if None in figures:
        return ""
    further = " (requirements may be lower if both abs/rel tolerances are set)" if stat == _ELEMWISE else ""
    return f"{stat} error | [abs={figures[0]:.5g}] OR [rel={figures[1]:.5g}]{further}"

"""Stages that are functions."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from polycmp.errors import DataError, OthersCode, PolycmpError, UsageError, did_you_mean
from polycmp.loader import InvokeFromScript
from polycmp_pipeline.file import Function, Stage
from polycmp_pipeline.findings import StageResults
from polycmp_pipeline.judging import checked_values
from polycmp_pipeline.values import Values, same_values


def run_function(stage: Stage, reference: Sequence[Values], candidate: Sequence[Values | None]) -> StageResults:
    """Run both functions of a stage.

    Args:
        stage: The stage.
        reference: The reference's values of each sample.
        candidate: The new side's values; None for samples that it did not reach.

    Raises:
        DataError: The reference's function fails, or returns something that is no value.
        UsageError: It reads a value that no earlier stage makes.
    """
    assert stage.functions is not None
    new, old = stage.functions
    expected = [_call(stage, old, values) for values in reference]
    failure = free_failure = hint = ""
    equal: list[Values] | None = []
    free: list[Values | None] = []
    for reference_values, candidate_values in zip(reference, candidate, strict=True):
        result: Values | None = None
        if equal is not None:
            try:
                result = _call(stage, new, reference_values)
                equal.append(result)
            except PolycmpError as error:
                failure, hint, equal = _words(error), error.hint, None
        if candidate_values is None or (result is not None and _reads_same(stage, candidate_values, reference_values)):
            free.append(None if candidate_values is None else result)
            continue
        try:
            free.append(_call(stage, new, candidate_values))
        except PolycmpError as error:
            free_failure = free_failure or _words(error)
            free.append(None)
    return StageResults(expected, equal, free, failure, free_failure, hint)


def _words(error: PolycmpError) -> str:
    return f"{error.whose}: {error.what}" + (f" ({error.why})" if error.why else "")


def _reads_same(stage: Stage, one: Values, two: Values) -> bool:
    return same_values(*({name: values[name] for name in stage.reads} for values in (one, two)))


def _call(stage: Stage, function: Function, values: Values) -> Values:
    """Call a function with copies of its arguments, which it may change."""
    missing = next((name for name in stage.reads if name not in values), "")
    if missing:
        raise UsageError(
            f"nothing before it makes {missing!r}", whose=f"stage {stage.name!r}", why=did_you_mean(missing, values)
        )
    arguments = [copy.deepcopy(values[name]) for name in stage.reads]
    with OthersCode(DataError, "it fails", whose=function.text, hint=f"python {function.path}"):
        result = InvokeFromScript(function.path, function.name)(*arguments)
    names = tuple(stage.makes)
    results = (result,) if len(names) == 1 else result
    if not isinstance(results, (tuple, list)) or len(results) != len(names):
        returned = f"{len(results)} results" if isinstance(results, (tuple, list)) else type(results).__name__
        raise DataError(
            f"it gives {returned}, where outputs names {len(names)}", whose=function.text,
            hint=f"return {', '.join(names)}",
        )  # fmt: skip
    return checked_values(dict(zip(names, results, strict=True)), function.text)

"""Stages that are functions."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from polycmp.errors import DataError, OthersCode, PolycmpError, UsageError, did_you_mean
from polycmp.loader import InvokeFromScript
from polycmp_pipeline.file import Function, Stage
from polycmp_pipeline.findings import Made
from polycmp_pipeline.judging import checked_values
from polycmp_pipeline.values import Values, same_values


def run_function(stage: Stage, reference: Sequence[Values], own: Sequence[Values | None]) -> Made:
    """Run both functions of a stage.

    Args:
        stage: The stage.
        reference: The reference's values of each sample.
        own: The new side's own; None for samples that it did not get to.

    Raises:
        DataError: The reference's function fails, or gives what is no value.
        UsageError: It reads a value that nobody makes.
    """
    assert stage.functions is not None
    new, old = stage.functions
    expected = [_call(stage, old, values) for values in reference]
    failure = lost = hint = ""
    equal: list[Values] | None = []
    free: list[Values | None] = []
    for theirs, mine in zip(reference, own, strict=True):
        result: Values | None = None
        if equal is not None:
            try:
                result = _call(stage, new, theirs)
                equal.append(result)
            except PolycmpError as error:
                failure, hint, equal = _words(error), error.hint, None
        if mine is None or (result is not None and _reads_same(stage, mine, theirs)):
            free.append(None if mine is None else result)
            continue
        try:
            free.append(_call(stage, new, mine))
        except PolycmpError as error:
            lost = lost or _words(error)
            free.append(None)
    return Made(expected, equal, free, failure, lost, hint)


def _words(error: PolycmpError) -> str:
    return f"{error.whose}: {error.what}" + (f" ({error.why})" if error.why else "")


def _reads_same(stage: Stage, one: Values, two: Values) -> bool:
    return same_values(*({name: values[name] for name in stage.reads} for values in (one, two)))


def _call(stage: Stage, function: Function, values: Values) -> Values:
    """Call a function with copies, so that one that changes its arguments changes nobody else's."""
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
        given = f"{len(results)} results" if isinstance(results, (tuple, list)) else type(results).__name__
        raise DataError(
            f"it gives {given}, where outputs names {len(names)}", whose=function.text,
            hint=f"return {', '.join(names)}",
        )  # fmt: skip
    return checked_values(dict(zip(names, results, strict=True)), function.text)

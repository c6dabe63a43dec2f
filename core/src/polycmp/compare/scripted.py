"""A user's own compare function, for one output or for all outputs of an iteration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from polycmp.compare.usercode import as_verdict, read_only_outputs
from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import ComparisonError, OthersCode
from polycmp.script import load_script
from polycmp.tensors import TensorMetadata

#: Judges all outputs of one iteration.
PairFunction = Callable[[Mapping[str, Any], Mapping[str, Any]], list[OutputComparison]]


def load_compare_script(path: str, name: str) -> Callable[..., Any]:
    """Return the compare function of a script; a class is instantiated without arguments.

    Raises:
        DataError: The script or the name is missing.
        ComparisonError: What the name stands for cannot be called, or a class cannot be instantiated.
    """
    function = load_script(path, name)
    if inspect.isclass(function):
        with OthersCode(ComparisonError, f"{path}:{name} cannot be made"):
            function = function()
    if not callable(function):
        raise ComparisonError(f"{path}:{name} is no function", hint="def compare_outputs(result, reference): …")
    compare: Callable[..., Any] = function
    return compare


def as_pair_function(function: Callable[..., Any]) -> PairFunction | None:
    """Return a function that judges all outputs at once; None if this one judges a single output.

    A function with a parameter `output` judges one output. Any other takes the outputs of both sides by name and
    returns a mapping from output name to something true or false, or to a `Verdict`.
    """
    try:
        single = "output" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        single = True
    if single:
        return None

    def judge(candidate: Mapping[str, Any], reference: Mapping[str, Any]) -> list[OutputComparison]:
        sides = read_only_outputs(candidate), read_only_outputs(reference)
        with OthersCode(ComparisonError, "the compare function failed"):
            found = function(*sides)
        if not isinstance(found, Mapping):
            raise ComparisonError(
                f"the compare function returned {type(found).__name__}",
                hint="return a mapping from output name to True or False",
            )
        return [_comparison(str(name), value, candidate, reference) for name, value in found.items()]

    return judge


def _comparison(name: str, value: Any, candidate: Mapping[str, Any], reference: Mapping[str, Any]) -> OutputComparison:
    verdict = as_verdict(value, "script", name)
    reason = verdict.reason or ("" if verdict.passed else "the compare function says so")
    return OutputComparison(
        name,
        name if name in reference else None,
        verdict.passed,
        reason,
        {"script": verdict},
        candidate_type=_type(candidate, name),
        reference_type=_type(reference, name),
    )


def _type(outputs: Mapping[str, Any], name: str) -> str:
    return str(TensorMetadata.from_feed_dict({name: outputs[name]})[name]) if name in outputs else ""

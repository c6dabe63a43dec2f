"""Compare functions and post-processing that polycmp did not write: what they may touch, and what they may return."""

from __future__ import annotations

import copy
import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp._script import load_script
from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import ComparisonError, OthersCode
from polycmp.spec import Verdict
from polycmp.tensors import Outputs, TensorMetadata, dtype_name, format_shape, to_numpy

_HINT = "return a Verdict, True or False; of an array for example bool((a == b).all())"
#: Judges all outputs of one iteration.
PairFunction = Callable[[Mapping[str, Any], Mapping[str, Any]], list[OutputComparison]]


def read_only(array: Any) -> NDArray[Any]:
    """Return a plain array of the same memory that cannot be written to."""
    view: NDArray[Any] = to_numpy(array).view()
    view.flags.writeable = False
    return view


def read_only_outputs(outputs: Outputs) -> Outputs:
    """Return the same outputs, those that are NumPy arrays as ones that cannot be written to."""
    kept: dict[str, Any] = copy.copy(outputs) if isinstance(outputs, dict) else dict(outputs)
    for name, array in kept.items():
        if isinstance(array, np.ndarray):
            kept[name] = read_only(array)
    return kept


def judging(function: str, output: str) -> OthersCode:
    """Return the fence around a compare function that judges one output.

    Args:
        function: The function's name.
        output: The output that it judges.
    """
    return OthersCode(ComparisonError, _failure(output), whose=function)


def as_verdict(value: Any, function: str, output: str) -> Verdict:
    """Turn the result of a compare function into a verdict.

    Args:
        value: A verdict, true or false; besides `bool` any object that only its own `__bool__` gives a meaning.
        function: The function's name, for the error.
        output: The output that it judged.

    Raises:
        ComparisonError: It is nothing of that kind.
    """
    if isinstance(value, Verdict):
        return _checked(value, function, output)
    if isinstance(value, (bool, np.bool_)):
        return Verdict(bool(value))
    if _is_ambiguous(value):
        raise _wrong(function, output, f"it returned {_describe(value)}, which is neither a verdict nor true or false")
    with judging(function, output):
        return Verdict(bool(value))


def _checked(verdict: Verdict, function: str, output: str) -> Verdict:
    if not isinstance(verdict.passed, (bool, np.bool_)):
        raise _wrong(function, output, f"`passed` of its verdict is {_describe(verdict.passed)}, not true or false")
    if not isinstance(verdict.reason, str):
        raise _wrong(function, output, f"`reason` of its verdict is {_describe(verdict.reason)}, not text")
    metrics: Any = verdict.metrics
    if not isinstance(metrics, Mapping):
        raise _wrong(function, output, f"`metrics` of its verdict is {_describe(metrics)}, not numbers by name")
    for name, figure in metrics.items():
        if not isinstance(name, str) or not isinstance(figure, (numbers.Real, np.bool_)):
            raise _wrong(function, output, f"the metric {name!r} of its verdict is {_describe(figure)}, not a number")
    if verdict.inconclusive not in ("", "blind", "undecided"):
        why = f"`inconclusive` of its verdict is {_describe(verdict.inconclusive)}, not 'blind', 'undecided' or ''"
        raise _wrong(function, output, why)
    passed = bool(verdict.passed) and not verdict.inconclusive
    return verdict if verdict.passed is passed else replace(verdict, passed=passed)


def _is_ambiguous(value: Any) -> bool:
    """Return whether Python's idea of true would not be the function's: of NaN, of a text, of nothing, of arrays."""
    if value is None or isinstance(value, (numbers.Number, np.generic)) or hasattr(value, "dtype"):
        return True
    return getattr(type(value), "__bool__", None) is None


def _describe(value: Any) -> str:
    if hasattr(value, "dtype") and getattr(value, "shape", None):
        return f"an array of {dtype_name(np.dtype(value.dtype)) if isinstance(value, np.ndarray) else value.dtype}" + (
            format_shape(value.shape)
        )
    shown = repr(value)
    return f"{shown if len(shown) < 40 else shown[:40] + '…'} ({type(value).__name__})"


def _wrong(function: str, output: str, why: str) -> ComparisonError:
    return ComparisonError(_failure(output), whose=function, why=why, hint=_HINT)


def _failure(output: str) -> str:
    return f"the compare function fails on output {output!r}"


def load_compare_script(path: str, name: str) -> Callable[..., Any]:
    """Return the compare function of a script; a class is instantiated without arguments.

    Raises:
        DataError: The script or the name is missing.
        ComparisonError: The name in the script cannot be called, or is a class that cannot be instantiated.
    """
    function = load_script(path, name)
    if inspect.isclass(function):
        with OthersCode(ComparisonError, f"{path}:{name} cannot be made"):
            function = function()
    if not callable(function):
        raise ComparisonError(f"{path}:{name} is not a function", hint="def compare_outputs(result, reference): …")
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
            verdict = function(*sides)
        if not isinstance(verdict, Mapping):
            raise ComparisonError(
                f"the compare function returned {type(verdict).__name__}",
                hint="return a mapping from output name to True or False",
            )
        return [_comparison(str(name), value, candidate, reference) for name, value in verdict.items()]

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
        inconclusive=verdict.inconclusive,
    )


def _type(outputs: Mapping[str, Any], name: str) -> str:
    return str(TensorMetadata.from_feed_dict({name: outputs[name]})[name]) if name in outputs else ""

"""Functions applied to outputs before they are compared: the observer `postprocessing`, and what programs use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare import read_only_outputs
from polycmp.errors import DataError, InvalidValueError, OthersCode, UsageError
from polycmp.files import same_folder
from polycmp.loader import load_script
from polycmp.options import pick, split_script
from polycmp.plan import ComparePlan
from polycmp.results import IterationResult
from polycmp.spec import RunObserver
from polycmp.tensors import Outputs, dtype_class, is_floating, is_low_bit, to_numpy

if TYPE_CHECKING:
    from polycmp.runs import RunStep

__all__ = [
    "Outputs",
    "Postprocess",
    "PostprocessFunc",
    "Postprocessing",
    "parse_postprocess",
    "script_postprocess",
    "top_k",
]

Postprocess = Callable[[Outputs], Outputs]
_TOP_K = re.compile(r"top-(?P<k>[0-9]+)(?:,axis=(?P<axis>-?[0-9]+))?")


def parse_postprocess(text: str) -> tuple[int, int]:
    """Return `(k, axis)` from `top-5` or `top-5,axis=1`; the axis is the last by default.

    Raises:
        UsageError: The text is none of these, or k is 0.
    """
    match = _TOP_K.fullmatch(text.strip())
    if not match or int(match["k"]) == 0:
        raise UsageError(
            f"--postprocess: {text!r} is not understood", hint="write top-5, top-5,axis=1, or logits:top-5"
        )
    return int(match["k"]), int(match["axis"] or -1)


class PostprocessFunc:
    """Makers of such functions."""

    @staticmethod
    def top_k(k: int | tuple[int, int] | Mapping[str, int | tuple[int, int]] = 10) -> Postprocess:
        """Return a function that replaces outputs by the indices of their largest values, largest first.

        Equal values keep their order; NaN counts as larger than everything, so that it cannot hide.

        Args:
            k: Number of indices; or `(number, axis)`; or one of these per output name, where the name "" stands for all
                others and an output without a value is left alone. More than an axis has is all it has.

        Raises:
            InvalidValueError: A number is below 1: of nothing everything would be equal.
        """
        wanted = k if isinstance(k, Mapping) else {"": k}
        for value in wanted.values():
            if (value[0] if isinstance(value, tuple) else value) < 1:
                raise InvalidValueError(f"top-k: {value} leaves nothing to compare", hint="k is 1 or more")

        def postprocess(outputs: Outputs) -> Outputs:
            changed = dict(outputs)
            for name, array in outputs.items():
                value = pick(wanted, name, 0)
                count, axis = value if isinstance(value, tuple) else (value, -1)
                if count:
                    changed[name] = top_k(to_numpy(array), count, axis, name)
            return changed

        return postprocess


def top_k(array: Any, count: int, axis: int, name: str = "") -> Any:
    """Return the indices of the `count` largest values along an axis, largest first, as int64.

    Raises:
        DataError: The array has no such axis.
    """
    if not -array.ndim <= axis < array.ndim:
        raise DataError(f"top-k: output {name!r} of shape {list(array.shape)} has no axis {axis}")
    values = array.astype(np.float32) if is_low_bit(array.dtype) or array.dtype == np.float16 else array
    # A stable ascending sort of the reversed axis, read backwards, is a stable descending sort that needs no minus,
    # which unsigned integers and booleans do not have.
    order = np.flip(np.argsort(np.flip(values, axis), axis=axis, kind="stable"), axis)
    order = values.shape[axis] - 1 - order
    return np.take(order, range(min(count, values.shape[axis])), axis=axis).astype(np.int64)


def script_postprocess(path: str, name: str) -> Postprocess:
    """Return a user's function as a post-processing step; what it returns replaces the outputs.

    Raises:
        DataError: The script or the function is missing; or, when called, it fails or returns no mapping.
    """
    function = load_script(path, name)

    def postprocess(outputs: Outputs) -> Outputs:
        with OthersCode(DataError, f"{path}:{name} failed"):
            changed = function(read_only_outputs(outputs))
        if not isinstance(changed, Mapping):
            raise DataError(f"{path}:{name} returned {type(changed).__name__} instead of outputs by name")
        return changed

    return postprocess


class Postprocessing(RunObserver):
    """Applies functions to the outputs of a run before they are compared.

    Args:
        plan: The outputs to replace by the indices of their largest values, and the user's function.

    Raises:
        UsageError: The options cannot be understood.
        DataError: The user's script is missing, or cannot be imported.
    """

    def __init__(self, plan: ComparePlan) -> None:
        self._plan = plan
        self._functions: list[Postprocess] = []
        if plan.postprocess:
            wanted = {name: parse_postprocess(text) for name, text in plan.postprocess.items()}
            self._functions.append(PostprocessFunc.top_k(wanted))
        if plan.postprocess_script:
            script = split_script(plan.postprocess_script, "postprocess_outputs")
            self._functions.append(script_postprocess(*script))
        self.whole_steps = "--postprocess" if plan.postprocess else "--postprocess-func-script"

    def transform(self, step: RunStep) -> dict[str, Outputs]:
        """Return the outputs as they are to be compared; errors as of the functions."""
        return {label: self._changed(result) for label, result in step.outputs.items()}

    def _changed(self, result: IterationResult) -> IterationResult:
        for function in self._functions:
            with same_folder("a post-processing function"):  # models and files may be opened after it
                result = IterationResult(function(result), result.runtime, result.runner_name)
        return result

    def as_made(self, step: RunStep, candidate: str) -> Iterator[str]:
        """Yield the outputs of which a function would hide what they are.

        The indices of the largest values have the same shape and type for any array that they are taken from, and for
        an array of NaN alone a function returns as good an answer as for numbers.
        """
        candidate_outputs, expected = step.made[candidate], step.made[step.reference]
        for name, other in ((name, self._plan.map_output.get(name, name)) for name in candidate_outputs):
            if other not in expected:
                continue
            ranked = pick(self._plan.postprocess, name, "") or pick(self._plan.postprocess, other, "")
            if (
                _is_all_nan(candidate_outputs[name])
                or _is_all_nan(expected[other])
                or (ranked and not self._alike(to_numpy(candidate_outputs[name]), to_numpy(expected[other])))
            ):
                yield name

    def _alike(self, one: NDArray[Any], two: NDArray[Any]) -> bool:
        """Return whether two arrays can be compared at all."""
        same_shape = one.shape == two.shape or not self._plan.shape_check
        return same_shape and dtype_class(one.dtype) == dtype_class(two.dtype)


def _is_all_nan(array: Any) -> bool:
    """Return whether an output holds NaN and nothing else."""
    values = to_numpy(array)
    if not (is_floating(values.dtype) and values.size and np.isnan(values.reshape(-1)[0])):
        return False
    return bool(np.isnan(values).all())

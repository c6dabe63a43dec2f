"""Shared part of all built-in compare functions: they take two arrays or two iterations, and compare text alike."""

from __future__ import annotations

import copy
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.verdicts import DetailedVerdict
from polycmp.compare.words import kind_reason
from polycmp.errors import ComparisonError, InvalidValueError
from polycmp.tensors import dtype_class, to_numpy

#: Attributes of which other libraries' arrays have one.
_ARRAY_METHODS = ("__array__", "__dlpack__", "detach", "numpy")


J = TypeVar("J", bound="OutputJudge")


class OutputJudge(ABC):
    """A compare function for one output, which can be called with all outputs of two iterations, too.

    Attributes:
        check_shapes: Whether another shape is a difference; if not, arrays with equally many elements are compared in
            C order.
        fail_fast: Whether the outputs of two iterations are compared up to the first that differs only.
        show: Called with the outputs of both sides before two iterations are compared, such as to draw them; callers
            that know them add `names`, `map_output` and `iteration`. None for nothing.
        ignores: Those of `polycmp.spec.IMPOSTORS` that the function lets pass by design.
    """

    check_shapes: bool = True
    fail_fast: bool = False
    show: Callable[..., None] | None = None
    ignores: ClassVar[frozenset[str]] = frozenset()

    @property
    def by_element(self) -> bool:
        """Whether each element is judged by itself."""
        return False

    def of_output(self, output: str) -> OutputJudge:
        """Return the compare function that judges an output; another one where a tolerance was given for it."""
        del output
        return self

    def with_rules(self: J, check_shapes: bool | None, fail_fast: bool | None) -> J:
        """Return the same compare function with other rules; None leaves one as it is."""
        changed = copy.copy(self)
        for name, value in (("check_shapes", check_shapes), ("fail_fast", fail_fast)):
            if value is not None:
                object.__setattr__(changed, name, value)  # compare functions are frozen dataclasses
        return changed

    def showing(self: J, show: Callable[..., None]) -> J:
        """Return the same compare function, which shows what it compares."""
        changed = copy.copy(self)
        object.__setattr__(changed, "show", show)
        return changed

    @overload
    def __call__(
        self, candidate: Mapping[str, Any], reference: Mapping[str, Any], *, output: str = ""
    ) -> dict[str, DetailedVerdict]: ...

    @overload
    def __call__(self, candidate: Any, reference: Any, *, output: str = "") -> DetailedVerdict: ...

    def __call__(
        self, candidate: Any, reference: Any, *, output: str = ""
    ) -> DetailedVerdict | dict[str, DetailedVerdict]:
        """Return the verdict on one output, or those on all outputs of an iteration by name.

        Args:
            candidate: The array to judge; or a mapping from output name to array.
            reference: The expected output, or all of them by name.
            output: The output's name, for tolerances of its own; a mapping brings names.

        Raises:
            InvalidValueError: A side is neither an array nor a mapping, or both are empty mappings.
        """
        with np.errstate(all="ignore"):  # what is not finite is judged, not warned of
            if isinstance(candidate, Mapping) and isinstance(reference, Mapping):
                return self._judge_all(candidate, reference)
            return self._judge_one(_array(candidate, "candidate"), _array(reference, "reference"), output)

    @abstractmethod
    def judge(self, candidate: NDArray[Any], reference: NDArray[Any], output: str) -> DetailedVerdict:
        """Return the verdict on one output.

        Args:
            candidate: The array to judge.
            reference: The expected output; relative errors are relative to it.
            output: The output's name, for tolerances of its own.
        """

    def _judge_one(self, candidate: NDArray[Any], reference: NDArray[Any], output: str) -> DetailedVerdict:
        if not self.check_shapes and candidate.shape != reference.shape and candidate.size == reference.size:
            candidate = candidate.reshape(reference.shape)
        return self.judge(candidate, reference, output)

    def _judge_all(self, candidate: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, DetailedVerdict]:
        names = dict.fromkeys([*candidate, *reference])
        if not names:
            raise InvalidValueError("neither side has an output, so nothing would be compared")
        if self.show is not None:
            self.show(candidate, reference)
        verdicts: dict[str, DetailedVerdict] = {}
        for name in names:
            verdicts[name] = self._judge_named(name, candidate, reference)
            if self.fail_fast and not verdicts[name].passed:
                break
        return verdicts

    def _judge_named(self, name: str, candidate: Mapping[str, Any], reference: Mapping[str, Any]) -> DetailedVerdict:
        for side, outputs in (("candidate", candidate), ("reference", reference)):
            if name not in outputs:
                return DetailedVerdict(False, f"the {side} has no output {name!r}")
        a, b = _array(candidate[name], f"candidate's {name!r}"), _array(reference[name], f"reference's {name!r}")
        if dtype_class(a.dtype) != dtype_class(b.dtype):
            return DetailedVerdict(False, kind_reason(a, b))
        return self._judge_one(a, b, name)


def _array(value: Any, what: str) -> NDArray[Any]:
    if isinstance(value, (np.ndarray, np.generic, numbers.Number)) or any(hasattr(value, m) for m in _ARRAY_METHODS):
        return to_numpy(value)
    raise InvalidValueError(
        f"the {what} is neither an array nor a mapping from output name to array",
        why=f"it is of type {type(value).__name__}",
        hint="pass two arrays, or two mappings such as iteration results",
    )


def _text(value: Any) -> str:
    # By the base classes' own methods: a subclass may say anything.
    if isinstance(value, bytes):
        return bytes.decode(value, "utf-8", "surrogateescape")
    if isinstance(value, str):
        return str.__str__(value)
    raise ComparisonError(
        f"an output holds objects of type {type(value).__name__}, which are neither numbers nor text",
        hint="return arrays of numbers, or of str",
    )


def compare_strings(candidate: NDArray[Any], reference: NDArray[Any]) -> DetailedVerdict:
    """Return whether two arrays of text, of one shape, are equal; bytes are taken as UTF-8.

    Raises:
        ComparisonError: An element is no text.
    """
    failed, first = 0, -1
    for position, (a, b) in enumerate(zip(candidate.flat, reference.flat, strict=True)):
        if _text(a) != _text(b):
            first = position if first < 0 else first
            failed += 1
    metrics = {"differing": float(failed)}
    if not failed:
        return DetailedVerdict(True, metrics=metrics)
    index = tuple(int(i) for i in np.unravel_index(first, candidate.shape)) if candidate.shape else ()
    a, b = _text(candidate[index]), _text(reference[index])
    reason = f"{failed} of {candidate.size} texts differ, the first at {list(index)}: {a!r} instead of {b!r}"
    return DetailedVerdict(False, reason, metrics)


def require_metric(metrics: Mapping[str, float], name: str, output: str) -> float:
    """Return the value of a metric by its name.

    Raises:
        ComparisonError: It is not there.
    """
    if name not in metrics:
        raise ComparisonError(
            f"there is no {name} of output {output!r}",
            why=f"there are: {', '.join(metrics) or 'no metrics at all'}",
            hint="compare the tensors again: polycmp run",
        )
    return metrics[name]

"""Impostors of an array, what a broken model might return in its place, and whether compare functions let them pass.

Nearly every impostor is refused by a few elements, so that asking costs next to nothing where a comparison sees
something: functions that judge each element by itself are asked with a sample first.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.judge import OutputJudge
from polycmp.compare.verdicts import DetailedVerdict
from polycmp.spec import Verdict
from polycmp.tensors import dtype_class, number_info, whole_limits

Array = NDArray[Any]
Functions = Mapping[str, Callable[..., Any]]

#: Impostors that are the reference times a number: by what share of its values they differ from it, and the number.
SCALED: Mapping[str, tuple[float, float]] = {
    "zeros": (1.0, 0.0),
    "negated": (2.0, -1.0),
    "halved": (0.5, 0.5),
    "larger": (0.1, 1.1),
}
#: Elements of which whole impostors are made, for functions that do not judge each element by itself.
MOST = 1 << 22
#: A function that says nothing of itself is not asked with these: it may be made to ignore a factor, as one that ranks
#: or normalises is, or the order of rows, as one that matches boxes is.
_UNASKED = frozenset({"negated", "halved", "larger", "row"})
#: Roundings of the reference's type by which an impostor has to differ to be another thing, and their largest share.
_ROUNDINGS, _ROUNDED = 32, 0.05
#: Elements that are looked at first, and those that are looked at together.
_SAMPLE, _CHUNK = 1 << 12, 1 << 16


def ignored_by(function: Any) -> frozenset[str]:
    """Return the impostors that a compare function is made to let pass, so that they say nothing of a comparison."""
    return frozenset(getattr(function, "ignores", _UNASKED))


def is_ours(function: Any) -> TypeGuard[OutputJudge]:
    """Return whether a compare function is known to do nothing but judge, so that it can be asked at any time."""
    return isinstance(function, OutputJudge)


class Impostors:
    """The impostors of one output in one iteration.

    Args:
        functions: The compare functions, by name.
        output: The output's name.
        reference: The reference's array.
        verdicts: Verdicts of the functions on the candidate, by name, as far as they were asked.
        previous: The reference's array of the iteration before, None if that is not known.

    Attributes:
        value: The constant that was last asked with.
        apart: By how much the last impostor differs from the reference at most.
    """

    def __init__(
        self,
        functions: Functions,
        output: str,
        reference: Array,
        verdicts: Mapping[str, Verdict],
        previous: Array | None,
    ) -> None:
        self._functions, self._output, self._verdicts = functions, output, verdicts
        self._reference, self._previous = reference, previous
        self._kind = dtype_class(reference.dtype)
        self.value: Any = math.nan
        self.apart: float = math.inf

    @cached_property
    def scale(self) -> float:
        """The largest magnitude of the reference's finite numbers."""
        for verdict in self._verdicts.values():
            if isinstance(verdict, DetailedVerdict) and verdict.stats is not None:
                return verdict.stats.scale
        return max((_top(np.abs(_wide(block))) for block in _chunks(self._reference)), default=0.0)

    @property
    def hidden(self) -> float:
        """The largest real number that passed for the 0 that the reference holds everywhere; 0 if there is none."""
        if self._kind not in {"float", "complex"} or self.scale != 0.0:
            return 0.0
        all_stats = (item.stats for item in self._verdicts.values() if isinstance(item, DetailedVerdict))
        return max((stats.max_abs for stats in all_stats if stats is not None), default=0.0)

    @property
    def one_value(self) -> bool:
        """Whether the reference, once asked with a constant, holds one number everywhere but for rounding."""
        return self.apart <= self._rounding * self.scale

    @property
    def is_nan(self) -> bool:
        """Whether the reference holds no number at all."""
        if self._kind not in {"float", "complex"}:
            return False
        return all(
            bool(np.isnan(part).all())
            for part in map(_wide, chain([sample_of(self._reference)], _chunks(self._reference)))
        )

    @cached_property
    def is_saturated(self) -> bool:
        """Whether several real numbers are all 0 or 1."""
        if self._kind != "float" or self._reference.size < 2:
            return False
        parts = chain([sample_of(self._reference)], _chunks(self._reference))
        return all(bool(((part == 0) | (part == 1)).all()) for part in map(_wide, parts))

    def passes(self, kind: str) -> bool | None:
        """Return whether all functions that are to see an impostor let it pass; None if it is the reference itself."""
        asked = {name: item for name, item in self._functions.items() if kind not in ignored_by(item)}
        if self._kind == "bool" and kind in {"negated", "halved", "larger"}:
            return False
        if kind in SCALED and not SCALED[kind][0] * self.scale > self._rounding * self.scale:
            return None
        if kind in SCALED and (self._kind != "integer" or SCALED[kind][1].is_integer()):  # 1.1 times 5 is 6
            told = {name: self._told_by_figures(kind, name, item) for name, item in asked.items()}
            if not all(answer is None or answer for answer in told.values()):
                return False
            asked = {name: item for name, item in asked.items() if told[name] is None}
            if not asked:
                return True
        alone = {name: item for name, item in asked.items() if getattr(item, "by_element", False)}
        if kind == "iteration" and (self._previous is None or self._previous.shape != self._reference.shape):
            return None
        if kind == "row" and (self._reference.ndim == 0 or self._reference.shape[0] < 2):
            return False
        if self._reference.size > MOST and (kind in SCALED or len(alone) < len(asked)):
            return False
        sample = _steps(self._reference.shape)
        if not self._all_pass(alone, self._made(kind, sample, _middle), self._reference[sample]):
            return False
        impostor = self._made(kind, (slice(None),) * self._reference.ndim, _mean)
        self.apart = _largest_difference(impostor, self._reference)
        if not self.apart > self._rounding * self.scale:
            return None
        return self._all_pass(asked, impostor, self._reference)

    def _told_by_figures(self, kind: str, name: str, function: Any) -> bool | None:
        """Return whether a function lets the reference times a number pass; None where its verdict does not tell."""
        tells = getattr(function, "passes_scaled", None)
        told: bool | None = tells and tells(SCALED[kind][0], self._verdicts.get(name), output=self._output)
        return told

    @cached_property
    def _rounding(self) -> float:
        return _rounding_of(self._reference.dtype)

    def _made(self, kind: str, places: tuple[slice, ...], constant: Callable[[Array], Any]) -> Array:
        """Return the values of an impostor at some positions.

        Args:
            kind: The impostor.
            places: The places.
            constant: Gives the constant for what the reference has there: of a sample the one that is least off.
        """
        if kind == "iteration" and self._previous is not None:
            return self._previous[places]
        if kind == "row":
            rows = np.arange(0, self._reference.shape[0], places[0].step or 1) - 1
            columns = (slice(None), *places[1:])
            return np.asarray(self._reference[columns][rows])
        part = self._reference[places]
        if kind in SCALED:
            return self._typed(_wide(part) * SCALED[kind][1])
        self.value = constant(part)
        return np.broadcast_to(self._typed(np.asarray(self.value)), part.shape)

    def _typed(self, values: Array) -> Array:
        """Return values in the type of the reference: whole numbers beyond its ends become its ends."""
        dtype = self._reference.dtype
        if self._kind not in {"integer", "bool"}:
            return np.asarray(values).astype(dtype)
        rounded = np.asarray(np.rint(values))
        if self._kind == "bool":
            return rounded.astype(dtype)
        low, high = whole_limits(dtype)
        with np.errstate(invalid="ignore"):
            typed = np.atleast_1d(rounded.astype(dtype))
        typed[np.atleast_1d(rounded <= low)], typed[np.atleast_1d(rounded >= high)] = low, high
        return typed.reshape(rounded.shape)

    def _all_pass(self, asked: Functions, impostor: Array, reference: Array) -> bool:
        return all(self._lets_pass(name, item, impostor, reference) for name, item in asked.items())

    def _lets_pass(self, name: str, function: Any, impostor: Array, reference: Array) -> bool:
        quick = getattr(function, "lets_pass", None)
        verdict = self._verdicts.get(name)
        answer = quick(impostor, reference, verdict, output=self._output) if quick is not None else None
        return _ask(function, impostor, reference, self._output) if answer is None else bool(answer)


def sample_of(array: Array) -> Array:
    """Return some elements of an array, from all over it; all where there are few."""
    return array[_steps(array.shape)]


def same_but_rounding(one: Array, two: Array, least: float = 0.0) -> bool:
    """Return whether two arrays of any types hold the same, or differ by no more than a few roundings.

    Args:
        one: An array.
        two: Another one.
        least: The share of the largest magnitude by which real numbers have to differ, if that is more.
    """
    if one.shape != two.shape or one.dtype != two.dtype:
        return False
    if dtype_class(one.dtype) not in {"float", "complex", "integer", "bool"}:
        return bool(np.array_equal(one, two))
    scale = max((_top(np.abs(_wide(block))) for block in _chunks(two)), default=0.0)
    share = max(_rounding_of(two.dtype), least) if dtype_class(two.dtype) in {"float", "complex"} else 0.0
    return all(apart <= share * scale for apart in _differences(one, two))


def constant_like(array: Array, kind: str) -> Array | None:
    """Return an array of zeros, or of the mean of another one; None if that is the same array."""
    mean = 0 if kind == "zeros" else _mean(array)
    constant = np.full(array.shape, np.rint(mean) if array.dtype.kind in "iub" else mean).astype(array.dtype)
    return None if np.array_equal(_wide(constant), _wide(array), equal_nan=True) else constant


def _ask(function: Any, impostor: Array, reference: Array, output: str) -> bool:
    """Return whether a function lets an impostor pass; one that others wrote is not changed, and prints nothing."""
    if is_ours(function):
        return bool(function(impostor, reference, output=output).passed)
    try:
        asked = function if inspect.isfunction(function) else copy.deepcopy(function)
        with contextlib.redirect_stdout(io.StringIO()):
            answer = asked(impostor, reference, output=output)
        return bool(answer.passed if isinstance(answer, Verdict) else answer)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises, it does not let the impostor pass
        return False


def _steps(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the index of a sample of an array of this shape, spread over all of it, in any memory layout."""
    steps = [1] * len(shape)
    left = list(shape)
    while math.prod(left) > _SAMPLE:
        axis = left.index(max(left))
        steps[axis] *= 2
        left[axis] = -(-shape[axis] // steps[axis])
    return tuple(slice(None, None, step) for step in steps)


def _wide(array: Array) -> Array:
    """Return an array in a type that holds its numbers and every NumPy calculates with."""
    kind = dtype_class(array.dtype)
    if kind == "complex":
        return array.astype(np.complex128)
    return array.astype(np.longdouble if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else np.float64)


def _chunks(*arrays: Array) -> Iterator[Any]:
    """Yield parts of arrays of one shape, one after the other."""
    flat = [array.reshape(-1) if array.flags.c_contiguous else array.flat for array in arrays]
    for start in range(0, arrays[0].size, _CHUNK):
        parts = [np.asarray(part[start : start + _CHUNK]) for part in flat]
        yield parts[0] if len(parts) == 1 else parts


def _top(values: Array) -> float:
    return float(values.max(initial=0.0, where=np.isfinite(values)))


def _finite(array: Array) -> Iterator[Array]:
    """Yield the finite numbers of an array, part by part."""
    for chunk in _chunks(array):
        wide = _wide(chunk)
        yield wide[np.isfinite(wide)]


def _mean(array: Array) -> Any:
    """Return the mean of the finite numbers; NaN where there are none."""
    total, count = 0.0, 0
    for part in _finite(array):
        total, count = total + part.sum(), count + part.size
    return total / count if count else math.nan


def _middle(array: Array) -> Any:
    """Return the number between the smallest and the largest finite one, of complex ones the mean; NaN without any."""
    if dtype_class(array.dtype) == "complex":
        return _mean(array)
    ends = [(part.min(), part.max()) for part in _finite(array) if part.size]
    return (min(low for low, _ in ends) + max(high for _, high in ends)) / 2 if ends else math.nan


def _largest_difference(impostor: Array, reference: Array) -> float:
    """Return by how much two arrays differ at most; NaN on one side, or another infinity, is infinitely far."""
    return max(_differences(impostor, reference), default=0.0)


def _differences(impostor: Array, reference: Array) -> Iterator[float]:
    """Yield the largest difference of two arrays, part by part."""
    for one, two in _chunks(impostor, reference):
        a, b = _wide(one), _wide(two)
        apart = np.abs(a - b)
        apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
        apart[np.isnan(apart)] = np.inf
        yield float(apart.max())


def _rounding_of(dtype: np.dtype[Any]) -> float:
    """Return the share of its largest magnitude by which arrays of a type have to differ to be two things."""
    unit = float(number_info(dtype).eps) / 2 if dtype_class(dtype) in {"float", "complex"} else 0.0
    return min(_ROUNDINGS * unit, max(unit, _ROUNDED))

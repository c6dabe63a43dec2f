"""Whether a comparison could have failed: which impostors of the reference it would have let pass, too.

An impostor is what a broken model might return instead of the reference: zeros, a constant, another row. Where every
iteration lets one pass, nothing is known of the candidate either. Nearly every impostor is refused by a few elements,
so that asking costs next to nothing where the comparison sees something.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.judge import OutputJudge
from polycmp.compare.scripted import PairFunction, as_pair_function
from polycmp.compare.verdicts import DetailedVerdict, OutputComparison, PairComparison, inconclusive, verdict_over
from polycmp.records import dataclass
from polycmp.spec import IMPOSTORS, Verdict
from polycmp.tensors import dtype_class, is_low_bit, to_numpy

Array = NDArray[Any]

#: Impostors that are the reference times a number: by what share of its values they differ from it, and the number.
SCALED: Mapping[str, tuple[float, float]] = {
    "zeros": (1.0, 0.0),
    "negated": (2.0, -1.0),
    "halved": (0.5, 0.5),
    "larger": (0.1, 1.1),
}
#: A function that says nothing of itself is not asked with these: it may be made to ignore a factor, as one that ranks
#: or normalises is, or the order of rows, as one that matches boxes is.
_UNASKED = frozenset({"negated", "halved", "larger", "row"})
#: Roundings of the reference's type by which an impostor has to differ to be another thing, and their largest share.
_ROUNDINGS, _ROUNDED = 32, 0.05
#: Elements of which impostors are made for functions that do not judge each element by itself.
_MOST = 1 << 22
#: Elements along each axis together that are looked at first.
_SAMPLE = 1 << 12
#: Elements of an iteration that are kept to be the next one's impostor.
_KEPT = 1 << 16
#: Elements that are looked at together.
_CHUNK = 1 << 16
#: Iterations in which functions that others wrote are asked: they may be slow. By count and not by time, so that a busy
#: machine says the same.
_ASKED = 4


def ignored_by(function: Any) -> frozenset[str]:
    """Return the impostors that a compare function is made to let pass, so that they say nothing of a comparison."""
    return frozenset(getattr(function, "ignores", _UNASKED))


def is_ours(function: Any) -> bool:
    """Return whether a compare function is known to do nothing but judge, so that it can be asked at any time."""
    return isinstance(function, OutputJudge)


def is_named(name: str, patterns: Iterable[str]) -> bool:
    """Return whether an output is among those named, each by its name or a pattern such as `present.*`."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


@dataclass
class _Seen:
    """What became of one kind of impostor so far.

    Attributes:
        passed: Iterations that let it pass.
        why: What let it pass, in words.
    """

    passed: int = 0
    why: str = ""


class Watch:
    """What is known of one output: the impostors that every iteration so far let pass.

    Args:
        functions: The compare functions that judge the output, by name.
        output: The output's name.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], output: str) -> None:
        self._functions = functions
        self._output = output
        kinds = [kind for kind in IMPOSTORS if any(kind not in ignored_by(item) for item in functions.values())]
        self._alive = {kind: _Seen() for kind in kinds}
        self._previous: Array | None = None
        self._left = math.inf if all(map(is_ours, functions.values())) else _ASKED
        self._remarks: set[str] = set()

    def look(self, reference: Array, verdicts: Mapping[str, Verdict]) -> None:
        """Ask with the impostors of one iteration.

        Args:
            reference: The reference's array.
            verdicts: What the functions said of the candidate, by name, as far as they were asked.
        """
        if dtype_class(reference.dtype) == "string":
            self._alive, self._remarks = {}, {""}
        if not reference.size or (not self._alive and "" in self._remarks):
            return
        if not self._left:
            return
        self._left -= 1
        asking = _Asking(self._functions, self._output, reference, verdicts, self._previous)
        with np.errstate(all="ignore"):
            for kind in list(self._alive):
                self._ask(kind, asking)
        self._remarks.add(asking.remark)
        keeps = "iteration" in self._alive and reference.size <= _KEPT
        self._previous = reference.copy() if keeps else None

    def _ask(self, kind: str, asking: _Asking) -> None:
        said = asking.passes(kind)
        if said is False:
            del self._alive[kind]
        elif said:
            seen = self._alive[kind]
            seen.passed += 1
            seen.why = seen.why or asking.words(kind)

    @property
    def blind(self) -> str:
        """Why the comparison could not have failed, in words; empty if it could have."""
        return next((seen.why for seen in self._alive.values() if seen.passed), "")

    @property
    def remark(self) -> str:
        """What a reader should know of an output that holds next to nothing, in words; empty for all others."""
        if not self._remarks or "" in self._remarks:
            return ""
        return next(iter(self._remarks)) if len(self._remarks) == 1 else "the reference holds one value everywhere"


def said_of(
    outputs: Mapping[str, OutputComparison], watches: Mapping[str, Watch], accepted: Iterable[str]
) -> dict[str, OutputComparison]:
    """Return the verdicts on outputs with what is known of the comparison itself.

    Args:
        outputs: The verdicts by output.
        watches: What is known of each.
        accepted: Names or patterns of outputs that pass all the same.
    """
    said = {}
    for name, item in outputs.items():
        watch = watches.get(name)
        if watch is None or not item.passed:
            said[name] = item
        elif watch.blind:
            said[name] = blind(item, watch.blind, accepted)
        else:
            said[name] = replace(item, reason="; ".join(filter(None, (item.reason, watch.remark))))
    return said


def blind(item: OutputComparison, why: str, accepted: Iterable[str]) -> OutputComparison:
    """Return the verdict on an output that passed although nothing could have differed.

    Args:
        item: The verdict so far.
        why: Why nothing could, in words.
        accepted: Names or patterns of outputs that pass all the same.
    """
    if is_named(item.output, accepted):
        return replace(item, passed=True, inconclusive="", reason=f"{why} (accepted: --allow-blind)")
    return replace(item, passed=False, inconclusive="blind", reason=why)


def without_elements(pair: PairComparison, accepted: Iterable[str]) -> PairComparison:
    """Return the verdict on a pair, which is blind where no output has any elements: nothing was compared.

    Args:
        pair: The verdict so far.
        accepted: Names or patterns of outputs that pass all the same.
    """
    if not pair.passed or not pair.outputs or not all(item.is_empty for item in pair.outputs.values()):
        return pair
    outputs = {
        name: blind(item, f"{name!r} has no elements: nothing was compared", accepted)
        for name, item in pair.outputs.items()
    }
    verdict = verdict_over(outputs.values())
    return replace(pair, outputs=outputs, passed=verdict == "passed", inconclusive=inconclusive(verdict))


class _Asking:
    """Asks the functions of one output in one iteration.

    Args:
        functions: The compare functions, by name.
        output: The output's name.
        reference: The reference's array.
        verdicts: What the functions said of the candidate, by name, as far as they were asked.
        previous: The reference's array of the iteration before, None if that is not known.
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        output: str,
        reference: Array,
        verdicts: Mapping[str, Verdict],
        previous: Array | None,
    ) -> None:
        self._functions = functions
        self._output = output
        self._reference = reference
        self._verdicts = verdicts
        self._previous = previous
        self._kind = dtype_class(reference.dtype)
        self._sampled = _steps(reference.shape)
        self._mean = math.nan
        self._apart = 0.0
        unit = _unit(reference.dtype) if self._kind in {"float", "complex"} else 0.0
        self._rounding = min(_ROUNDINGS * unit, max(unit, _ROUNDED))
        self._scale = self._largest()
        self.remark = "every value is 0 or 1" if self._kind == "float" and self._is_saturated() else ""

    def _is_saturated(self) -> bool:
        """Return whether an output of several elements holds nothing but zeros and ones."""
        parts = itertools.chain([self._reference[self._sampled]], _chunks(self._reference))
        return self._reference.size > 1 and all(bool(((part == 0) | (part == 1)).all()) for part in map(_wide, parts))

    def _largest(self) -> float:
        for verdict in self._verdicts.values():
            if isinstance(verdict, DetailedVerdict) and verdict.stats is not None:
                return verdict.stats.scale
        return max((_top(np.abs(_wide(block))) for block in _chunks(self._reference)), default=0.0)

    def passes(self, kind: str) -> bool | None:
        """Return whether an impostor passes; None if there is none of its kind that is not the reference itself."""
        asked = {name: item for name, item in self._functions.items() if kind not in ignored_by(item)}
        if kind in SCALED:
            return self._passes_scaled(kind, asked)
        if kind == "iteration" and (self._previous is None or self._previous.shape != self._reference.shape):
            return None
        if kind == "row" and (self._reference.ndim == 0 or self._reference.shape[0] < 2):
            return False
        sample = self._reference[self._sampled]
        impostor = self._sample_of(kind)
        if not all(self._lets_pass(name, item, impostor, sample) for name, item in asked.items() if _by_element(item)):
            return False
        return self._passes_whole(kind, asked)

    def _passes_scaled(self, kind: str, asked: Mapping[str, Any]) -> bool | None:
        share, factor = SCALED[kind]
        if kind != "zeros" and (self._kind == "bool" or (kind == "negated" and self._reference.dtype.kind == "u")):
            return False
        if self._scale == 0.0 or share <= self._rounding:
            return None
        left = {}
        for name, function in asked.items():
            quick = getattr(function, "passes_scaled", None)
            said = quick(share, self._verdicts.get(name), output=self._output) if quick is not None else None
            if said is False:
                return False
            if said is None:
                left[name] = function
        if not left:
            return True
        if self._reference.size > _MOST:
            return False
        impostor = self._typed(_wide(self._reference) * factor)
        if not _largest_difference(impostor, self._reference) > self._rounding * self._scale:
            return None
        return all(self._lets_pass(name, item, impostor, self._reference) for name, item in left.items())

    def _sample_of(self, kind: str) -> Array:
        """Return what an impostor has at the places of the sample."""
        if kind == "iteration" and self._previous is not None:
            return self._previous[self._sampled]
        if kind == "row":
            places = np.arange(0, self._reference.shape[0], self._sampled[0].step or 1) - 1
            columns = (slice(None), *self._sampled[1:])
            return np.asarray(self._reference[columns][places])
        sample = _wide(self._reference[self._sampled])
        finite = sample[np.isfinite(sample)]
        middle = (finite.max() + finite.min()) / 2 if finite.size and finite.dtype.kind != "c" else _mean_of(sample)
        return self._filled(middle, sample.shape)

    def _passes_whole(self, kind: str, asked: Mapping[str, Any]) -> bool | None:
        if self._reference.size > _MOST and not all(map(_by_element, asked.values())):
            return False
        if kind == "constant":
            self._mean = _mean_of(self._reference)
            impostor = np.broadcast_to(self._filled(self._mean, ()), self._reference.shape)
        elif kind == "row":
            impostor = np.roll(self._reference, 1, axis=0)
        else:
            impostor = np.asarray(self._previous)
        self._apart = _largest_difference(impostor, self._reference)
        if not self._apart > self._rounding * self._scale:
            if kind == "constant" and (self._reference.size > 1 or self._scale == 0.0 or self._kind == "bool"):
                value = str(bool(self._mean)) if self._kind == "bool" else f"{self._mean:.4g}"
                few = self._reference.size == 1
                self.remark = f"its only element is {value}" if few else f"the reference holds {value} everywhere"
            return None
        return all(self._lets_pass(name, item, impostor, self._reference) for name, item in asked.items())

    def _filled(self, value: Any, shape: tuple[int, ...]) -> Array:
        return self._typed(np.full(shape, value))

    def _typed(self, values: Array) -> Array:
        """Return values in the type of the reference."""
        rounded = np.rint(values) if self._kind in {"integer", "bool"} else values
        return np.asarray(rounded).astype(self._reference.dtype)

    def _lets_pass(self, name: str, function: Any, impostor: Array, reference: Array) -> bool:
        quick = getattr(function, "lets_pass", None)
        verdict = self._verdicts.get(name)
        said = quick(impostor, reference, verdict, output=self._output) if quick is not None else None
        return _ask(function, impostor, reference, self._output) if said is None else bool(said)

    def words(self, kind: str) -> str:
        """Return in words what let an impostor pass."""
        name = repr(self._output)
        by_value = any(
            isinstance(item, DetailedVerdict) and "atol" in item.tolerance for item in self._verdicts.values()
        )
        if kind == "constant" and not by_value:
            return f"{self._mean:.4g} everywhere in place of {name} would have passed, too"
        if kind == "constant":
            return (
                f"all values of {name} lie within {self._apart:.2g} of {self._mean:.4g}: that number everywhere would "
                "have passed, too"
            )
        if kind == "row":
            return f"each row of {name} would have passed for the next: they differ by at most {self._apart:.2g}"
        if kind == "iteration":
            return f"{name} of one iteration would have passed in the next: they differ by at most {self._apart:.2g}"
        tolerances = [item.tolerance for item in self._verdicts.values() if isinstance(item, DetailedVerdict)]
        known = {key: max(item.get(key, math.nan) for item in tolerances) for key in ("atol", "rtol") if tolerances}
        return _scaled_words(kind, name, self._scale, known)


def blind_by_figures(function: Any, verdict: Verdict, output: str) -> str:
    """Return why nothing could have differed as far as figures tell it, without the tensors; empty if it could.

    Args:
        function: The compare function.
        verdict: What it said of figures.
        output: The output's name.
    """
    quick = getattr(function, "passes_scaled", None)
    stats = verdict.stats if isinstance(verdict, DetailedVerdict) else None
    if quick is None or stats is None or not stats.scale or not verdict.passed:
        return ""
    kinds = [kind for kind in SCALED if kind not in ignored_by(function)]
    found = next((kind for kind in kinds if quick(SCALED[kind][0], verdict, output=output)), "")
    return _scaled_words(found, repr(output), stats.scale, getattr(verdict, "tolerance", {})) if found else ""


def _scaled_words(kind: str, name: str, scale: float, tolerance: Mapping[str, float]) -> str:
    """Return in words what lets the reference times a number pass."""
    share, atol, rtol = SCALED[kind][0], tolerance.get("atol", math.nan), tolerance.get("rtol", math.nan)
    by_atol = share * scale <= atol
    if kind == "zeros" and by_atol:
        return f"the largest value of {name} is {scale:.2g}, below atol {atol:g}: nothing could differ"
    what = {
        "zeros": f"zeros in place of {name}",
        "negated": f"{name} with all signs turned",
        "halved": f"half of each value of {name}",
        "larger": f"values of {name} that are all 10 % larger",
    }[kind]
    why = f": atol {atol:g} is {atol / scale:.0%} of the largest value, {scale:.3g}" if by_atol else ""
    why = f": rtol is {rtol:g}" if not by_atol and share <= rtol else why
    return f"{what} would have passed, too{why}"


def _by_element(function: Any) -> bool:
    """Return whether what fails in a part of the elements fails in all of them."""
    return bool(getattr(function, "by_element", False))


def _ask(function: Any, impostor: Array, reference: Array, output: str) -> bool:
    """Return whether a function lets an impostor pass; one that others wrote is not changed, and prints nothing."""
    if is_ours(function):
        return bool(function(impostor, reference, output=output).passed)
    try:
        asked = function if inspect.isfunction(function) else copy.deepcopy(function)
        with contextlib.redirect_stdout(io.StringIO()):
            said = asked(impostor, reference, output=output)
        return bool(said.passed if isinstance(said, Verdict) else said)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises, it does not let the impostor pass
        return False


def impostors_judge(function: Callable[..., Any]) -> Callable[[], PairFunction]:
    """Return what makes a function for all outputs together that can be asked without changing the one given."""

    def make() -> PairFunction:
        asked = function if inspect.isfunction(function) else copy.deepcopy(function)
        return as_pair_function(asked) or (lambda _made, _expected: [])

    return make


class Impostors:
    """The impostors that a function for all outputs together lets pass in every iteration.

    Args:
        make: Makes the function.
    """

    def __init__(self, make: Callable[[], PairFunction]) -> None:
        self._make = make
        self._alive: dict[str, set[str] | None] = {"zeros": None, "constant": None}
        self._left = _ASKED

    def look(self, reference: Mapping[str, Any]) -> None:
        """Ask with the impostors of one iteration."""
        if not self._left:
            return
        self._left -= 1
        for kind, before in list(self._alive.items()):
            found = _passing_outputs(self._make, reference, kind)
            if found is not None:
                self._alive[kind] = found if before is None else before & found
            if self._alive[kind] == set():
                del self._alive[kind]

    @property
    def passed(self) -> dict[str, str]:
        """Why nothing could differ, in words, by output."""
        words = {"zeros": "zeros", "constant": "the mean everywhere"}
        return {
            name: f"{words[kind]} in place of {name!r} would have passed, too"
            for kind, names in reversed(self._alive.items())
            for name in names or ()
        }


def _passing_outputs(make: Callable[[], PairFunction], reference: Mapping[str, Any], kind: str) -> set[str] | None:
    """Return the outputs that pass although they are impostors; None where there is no impostor of this kind."""
    made: dict[str, Any] = copy.copy(reference) if isinstance(reference, dict) else dict(reference)
    others = set()
    for name, given in reference.items():
        array = to_numpy(given)
        if dtype_class(array.dtype) == "string" or not array.size or array.size > _MOST:
            continue
        impostor = _impostor(array, kind)
        if not np.array_equal(_wide(impostor), _wide(array), equal_nan=True):
            made[name] = impostor
            others.add(name)
    if not others:
        return None
    try:
        with np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
            found = make()(made, reference)
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it raises, it does not let the impostor pass
        return set()
    return {item.output for item in found if item.passed and (item.output in others or item.output not in made)}


def _impostor(array: Array, kind: str) -> Array:
    if kind == "zeros":
        return np.zeros_like(array)
    mean = _mean_of(array)
    return np.full(array.shape, np.rint(mean) if array.dtype.kind in "iub" else mean).astype(array.dtype)


def _steps(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return what cuts a sample out of an array of this shape, spread over all of it, in any memory layout."""
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


def _mean_of(array: Array) -> Any:
    """Return the mean of the finite numbers; NaN where there are none."""
    total, count = 0.0, 0
    for chunk in _chunks(array):
        wide = _wide(chunk)
        finite = wide[np.isfinite(wide)]
        total, count = total + finite.sum(), count + finite.size
    return total / count if count else math.nan


def _largest_difference(impostor: Array, reference: Array) -> float:
    """Return by how much two arrays differ at most; NaN on one side, or another infinity, is infinitely far."""
    largest = 0.0
    for one, two in _chunks(impostor, reference):
        a, b = _wide(one), _wide(two)
        apart = np.abs(a - b)
        apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
        apart[np.isnan(apart)] = np.inf
        largest = max(largest, float(apart.max()))
    return largest


def _unit(dtype: np.dtype[Any]) -> float:
    """Return half the distance from 1 to the next number of a type."""
    if not is_low_bit(dtype):
        return float(np.finfo(dtype).eps) / 2
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).eps) / 2

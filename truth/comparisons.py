"""Comparisons whose answer is known by exact arithmetic, in great numbers: does any pass that must not?

Each case is drawn from a seed: types, shapes, values, what is wrong with the candidate, the compare function and its
options. The answer is worked out with fractions, element by element, from the rules of `docs/comparing.md`, and not
with NumPy. Cases so near to a limit that float64 may decide either way (1e-9 of it) are left out.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from polycmp.cli.main import main as main_of_polycmp
from polycmp.comparator import Comparator, CompareFunc, IterationResult, RunResults
from polycmp.compare import PairComparer

Array = NDArray[Any]
#: A verdict by exact arithmetic: it must pass, it must fail, or float64 may decide either way.
PASS, FAIL, EITHER = "pass", "fail", "either"
#: polycmp says that nothing could have failed, or that what one figure passes lacks part of the reference.
BLIND, UNDECIDED = "blind", "undecided"
_MARGIN = Fraction(1, 10**9)
#: Cases that a process is given at once.
_PART = 2000
RESULTS = Path(__file__).with_name("comparisons.md")

_FLOATS = (
    np.float16,
    np.float32,
    np.float64,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
)
_WHOLE = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ml_dtypes.int4)
_COMPLEX = (np.complex64, np.complex128)
_SHAPES = ((), (1,), (2,), (7,), (3, 4), (2, 3, 5), (1, 1, 1), (0,), (2, 0, 3), (64,), (33, 2))


@dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes:
        seed: What it was drawn from.
        function: Name of the compare function.
        options: Its options, as `CompareFunc` takes them.
        candidate: The candidate's outputs.
        reference: The reference's outputs.
        kind: What the values are: `float`, `whole`, `complex`, `bool` or `text`.
        wrong: What was done to the candidate, in words.
    """

    seed: int
    function: str
    options: Mapping[str, Any]
    candidate: Mapping[str, Array]
    reference: Mapping[str, Array]
    kind: str
    wrong: str


# --- drawing cases


def draw(seed: int) -> Case:
    """Return the case of a seed."""
    chance = random.Random(seed)
    kind = chance.choices(("float", "whole", "complex", "bool", "text"), (60, 22, 8, 6, 4))[0]
    shape = chance.choice(_SHAPES)
    reference = _values(chance, kind, shape)
    candidate, wrong = _changed(chance, reference, kind)
    function, options = _function(chance, kind)
    mine, other = {"y": candidate}, {"y": reference}
    if chance.random() < 0.03:
        name, wrong = chance.choice((("y ", "another name"), ("Y", "another name"), ("x", "another name")))
        mine = {name: candidate}
    elif chance.random() < 0.03:
        mine, wrong = {**mine, "z": reference}, wrong or "one output more"
    return Case(seed, function, options, mine, other, kind, wrong)


def _values(chance: random.Random, kind: str, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    if kind == "text":
        return np.array([chance.choice(("", "a", "b", "ä", "a\x00")) for _ in range(count)], object).reshape(shape)
    if kind == "bool":
        return np.array([chance.random() < 0.5 for _ in range(count)], bool).reshape(shape)
    if kind == "whole":
        dtype = np.dtype(chance.choice(_WHOLE))
        info = ml_dtypes.iinfo(dtype)
        low, high = chance.choice(((info.min, info.max), (max(info.min, -5), min(info.max, 5)), (0, info.max)))
        values = [chance.choice((chance.randint(low, high), low, high)) for _ in range(count)]
        return np.array(values, np.uint64 if dtype == np.uint64 else np.int64).astype(dtype).reshape(shape)
    dtype = np.dtype(chance.choice(_FLOATS if kind == "float" else _COMPLEX))
    scale = 10.0 ** chance.choice((-30, -9, -5, -3, 0, 0, 0, 2, 4, 9))
    parts = [
        [chance.choice((chance.gauss(0, scale), chance.uniform(-scale, scale), 0.0, -0.0)) for _ in range(count)]
        for _ in range(2 if kind == "complex" else 1)
    ]
    with np.errstate(all="ignore"):
        array = np.array(parts[0], np.float64) + (1j * np.array(parts[1]) if kind == "complex" else 0)
        made = array.astype(dtype).reshape(shape)
    return _with_special(chance, made, 0.12)


def _with_special(chance: random.Random, array: Array, share: float) -> Array:
    if array.size and chance.random() < share:
        flat = array.ravel()
        for _ in range(chance.randint(1, 2)):
            with np.errstate(all="ignore"):
                special = chance.choice((math.nan, math.inf, -math.inf))
                flat[chance.randrange(flat.size)] = np.asarray(special).astype(array.dtype)
        return flat.reshape(array.shape)
    return array


def _changed(chance: random.Random, reference: Array, kind: str) -> tuple[Array, str]:
    """Return a candidate, and what is wrong with it."""
    how = chance.choice(_CHANGES if kind != "text" else ("nothing", "one", "shape", "swap"))
    candidate = reference.copy()
    if how == "shape":
        return np.concatenate([candidate.ravel(), candidate.ravel()[:1]]), how
    if how == "type" and kind == "float":
        with np.errstate(all="ignore"):
            return candidate.astype(chance.choice(_FLOATS)), how
    if how == "class" and kind in {"float", "whole"}:
        with np.errstate(all="ignore"):
            return candidate.astype(np.int32 if kind == "float" else np.float64), how
    if how == "nothing" or not candidate.size:
        return candidate, ""
    flat = candidate.ravel()
    if how == "swap":
        order = list(range(flat.size))
        chance.shuffle(order)
        return flat[order].reshape(reference.shape), how
    places = [chance.randrange(flat.size)] if how == "one" else range(flat.size)
    amount = 10.0 ** chance.uniform(-12, 3)
    with np.errstate(all="ignore"):
        for place in places:
            flat[place] = _other(chance, flat[place], kind, how, amount)
    made = flat.reshape(reference.shape)
    return (_with_special(chance, made, 0.05) if kind in {"float", "complex"} else made), how


_CHANGES = ("nothing", "one", "one", "scale", "shift", "negate", "zero", "shape", "type", "class", "swap", "step")


def _other(chance: random.Random, value: Any, kind: str, how: str, amount: float) -> Any:
    dtype = np.asarray(value).dtype
    if kind == "text":
        return f"{value}x"
    if kind == "bool":
        return not value
    if kind == "whole":
        info = ml_dtypes.iinfo(dtype)
        step = 1 if how == "step" else max(1, int(min(amount, 1e18)))
        whole = {"negate": -int(value), "zero": 0, "scale": int(value) * 2}.get(how, int(value) + step)
        return np.asarray(min(max(whole, info.min), info.max)).astype(dtype)
    number = complex(value) if kind == "complex" else float(value)
    if how == "step" and kind == "float" and dtype in (np.float16, np.float32, np.float64):
        return np.nextafter(value, np.asarray(math.inf, dtype))
    new = {"negate": -number, "zero": 0.0, "scale": number * (1 + amount)}.get(how, number + amount)
    if how == "one" and chance.random() < 0.5:
        new = number * (1 + amount)
    return np.asarray(new).astype(dtype)


def _function(chance: random.Random, kind: str) -> tuple[str, dict[str, Any]]:
    if kind in {"text", "bool"} or chance.random() < 0.6:
        options: dict[str, Any] = {}
        if chance.random() < 0.6:
            options["atol"] = chance.choice((0.0, 1e-9, 1e-5, 1e-3, 0.5, 3.0, 1e6))
            options["rtol"] = chance.choice((0.0, 1e-9, 1e-5, 1e-2, 0.5))
        statistics = ("elemwise", "elemwise", "elemwise", "max", "mean", "median", "quantile")
        options["check_error_stat"] = chance.choice(statistics)
        options["nan"] = chance.choice(("differ", "differ", "equal", "forbid"))
        options["infinities_compare_equal"] = chance.random() < 0.3
        return "simple", options
    name = chance.choice(("l2", "cosine_similarity", "psnr", "snr", "ulp"))
    limits: Mapping[str, Sequence[float]] = {
        "l2": (1e-5, 0.0, 1.0, 1e4),
        "cosine_similarity": (0.997, 0.5, 1.0, -1.0),
        "psnr": (30.0, 0.0, 100.0),
        "snr": (20.0, 0.0, 100.0),
        "ulp": (4, 0, 1000),
    }
    key = {"cosine_similarity": "cosine_similarity_threshold"}.get(name, f"{name}_tolerance")
    return name, {key: chance.choice(limits[name])}


# --- what must come out


def answer(case: Case) -> str:
    """Return the verdict by exact arithmetic: `PASS`, `FAIL` or `EITHER`."""
    if set(case.candidate) != set(case.reference):
        return FAIL
    a, b = case.candidate["y"], case.reference["y"]
    if _class(a) != _class(b) or a.shape != b.shape:
        return FAIL
    if case.kind == "text":
        return PASS if a.tolist() == b.tolist() else FAIL
    if case.function == "ulp":
        return _ulp(a, b, int(case.options["ulp_tolerance"]))
    one, two = _exact(a), _exact(b)
    if case.function == "simple":
        return _simple(one, two, case)
    first, second = (_parts(side) for side in (one, two))
    if first is None or second is None:
        return FAIL  # NaN or infinity on a side
    return _NORMS[case.function](first, second, float(next(iter(case.options.values()))))


def _class(array: Array) -> str:
    dtype = array.dtype
    if dtype.kind in "OSU":
        return "text"
    if dtype.kind == "b":
        return "bool"
    if dtype.kind == "c":
        return "complex"
    if dtype.kind in "iu" or dtype == ml_dtypes.int4:
        return "whole"
    return "float"


#: An element: its parts as fractions, None for NaN, a text for infinity that tells its sign.
Exact = tuple[Fraction, ...] | str | None


def _exact(array: Array) -> list[Exact]:
    found: list[Exact] = []
    for item in array.ravel():
        parts: tuple[float, ...]
        if array.dtype.kind == "c":
            parts = (float(item.real), float(item.imag))
        elif _class(array) in {"whole", "bool"}:
            found.append((Fraction(int(item)),))
            continue
        else:
            parts = (float(item),)
        if any(math.isnan(part) for part in parts):
            found.append(None)
        elif any(math.isinf(part) for part in parts):
            found.append(repr(parts))
        else:
            found.append(tuple(map(Fraction, parts)))
    return found


def _parts(side: list[Exact]) -> list[Fraction] | None:
    """Return the real numbers that a tensor consists of; None if one of them is NaN or infinite."""
    found: list[Fraction] = []
    for item in side:
        if item is None or isinstance(item, str):
            return None
        found += item
    return found


def _simple(one: list[Exact], two: list[Exact], case: Case) -> str:
    options = case.options
    exact_kind = case.kind in {"whole", "bool"}
    default = 0.0 if exact_kind else 1e-5
    atol, rtol = (Fraction(options.get(name, default)) for name in ("atol", "rtol"))
    if exact_kind:  # a relative tolerance for all outputs is not meant for their indices
        rtol = Fraction(0)
    nan, statistic = options["nan"], options["check_error_stat"]
    if nan == "forbid" and any(item is None for item in (*one, *two)):
        return FAIL
    errors: list[tuple[Fraction, Fraction | None]] = []
    equal_specials = False
    for a, b in zip(one, two, strict=True):
        if a is None or b is None:
            if a is not b or nan != "equal":
                return FAIL
            equal_specials = True
        elif isinstance(a, str) or isinstance(b, str):
            if a != b or not options["infinities_compare_equal"]:
                return FAIL
            equal_specials = True
        else:
            errors.append(_error(a, b))
    if not errors:
        return PASS
    if statistic == "elemwise":
        return _all(_either(_at_most(absolute, atol), _within(relative, rtol)) for absolute, relative in errors)
    if equal_specials:
        return EITHER  # the page does not say what they add to a mean
    figures = _STATISTICS[statistic]([absolute for absolute, _ in errors])
    relatives = [relative for _, relative in errors]
    largest = None if None in relatives and statistic in {"max", "mean"} else EITHER
    if None not in relatives:
        return _either(_at_most(figures, atol), _at_most(_STATISTICS[statistic](relatives), rtol))  # type: ignore[arg-type]
    return _either(_at_most(figures, atol), FAIL if largest is None else EITHER)


def _error(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> tuple[Fraction, Fraction | None]:
    """Return the absolute error and the relative one, None where that is infinite."""
    distance, size = (_length(parts) for parts in ([x - y for x, y in zip(a, b, strict=True)], b))
    if not distance:
        return Fraction(0), Fraction(0)
    return distance, distance / size if size else None


def _length(parts: Sequence[Fraction]) -> Fraction:
    """Return the length of a vector, of two parts to 40 digits."""
    if len(parts) == 1:
        return abs(parts[0])
    square = sum((part * part for part in parts), Fraction(0))
    if not square:
        return Fraction(0)
    scale = 10**80 * max(1, square.denominator // max(square.numerator, 1))
    return Fraction(math.isqrt(square.numerator * scale * scale // square.denominator), scale)


def _at_most(value: Fraction, limit: Fraction) -> str:
    if not limit:
        return PASS if not value else FAIL
    if value <= limit * (1 - _MARGIN):
        return PASS
    return FAIL if value >= limit * (1 + _MARGIN) else EITHER


def _within(relative: Fraction | None, limit: Fraction) -> str:
    return FAIL if relative is None else _at_most(relative, limit)


def _either(*verdicts: str) -> str:
    if PASS in verdicts:
        return PASS
    return EITHER if EITHER in verdicts else FAIL


def _all(verdicts: Iterator[str]) -> str:
    found = set(verdicts)
    return FAIL if FAIL in found else EITHER if EITHER in found else PASS


def _quantile(values: Sequence[Fraction], share: Fraction) -> Fraction:
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


_STATISTICS: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "max": max,
    "mean": lambda values: sum(values, Fraction(0)) / len(values),
    "median": lambda values: _quantile(values, Fraction(1, 2)),
    "quantile": lambda values: _quantile(values, Fraction(99, 100)),
}


def _l2(a: Sequence[Fraction], b: Sequence[Fraction], limit: float) -> str:
    square = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))
    return _at_most(square, Fraction(limit) ** 2)


def _cosine(a: Sequence[Fraction], b: Sequence[Fraction], limit: float) -> str:
    one, two = (sum((x * x for x in side), Fraction(0)) for side in (a, b))
    dot = sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
    if not one and not two:
        return PASS
    if not one or not two:
        cosine = 0.0
    else:
        square = float(dot * dot / (one * two))
        cosine = math.copysign(math.sqrt(min(square, 1.0)), dot)
    if limit >= 1.0 - 1e-7 or abs(cosine - limit) < 1e-7:
        return EITHER if cosine > limit - 1e-7 else FAIL
    return PASS if cosine > limit else FAIL


def _decibels(signal: Fraction, noise: Fraction, limit: float) -> str:
    if not noise:
        return PASS
    if not signal:
        return FAIL
    value = 10 * _log10(signal / noise)
    if abs(value - limit) < 1e-6:
        return EITHER
    return PASS if value > limit else FAIL


def _log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def _psnr(a: Sequence[Fraction], b: Sequence[Fraction], limit: float) -> str:
    if not b:
        return EITHER
    noise = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0)) / len(b)
    return _decibels(max((abs(x) for x in b), default=Fraction(0)) ** 2, noise, limit)


def _snr(a: Sequence[Fraction], b: Sequence[Fraction], limit: float) -> str:
    if not b:
        return EITHER
    noise = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))
    return _decibels(sum((x * x for x in b), Fraction(0)), noise, limit)


_NORMS: Mapping[str, Callable[[Sequence[Fraction], Sequence[Fraction], float], str]] = {
    "l2": _l2,
    "cosine_similarity": _cosine,
    "psnr": _psnr,
    "snr": _snr,
}


def _ulp(a: Array, b: Array, limit: int) -> str:
    if _class(a) in {"whole", "bool"}:
        return PASS if all(abs(int(x) - int(y)) <= limit for x, y in zip(a.flat, b.flat, strict=True)) else FAIL
    if a.dtype != b.dtype or a.dtype.kind == "c":
        return EITHER  # which numbers lie between them depends on how one is read in the other's type
    for x, y in zip(a.flat, b.flat, strict=True):
        if math.isnan(float(x)) or math.isnan(float(y)):
            return FAIL
        if math.isinf(float(x)) or math.isinf(float(y)):
            if float(x) != float(y):
                return FAIL
            continue
        if abs(_ordinal(x) - _ordinal(y)) > limit:
            return FAIL
    return PASS


def _ordinal(value: Any) -> int:
    """Return the place of a number among those of its type, that of 0 being 0."""
    bits = int.from_bytes(np.asarray(value).tobytes(), sys.byteorder)
    width = 8 * np.asarray(value).dtype.itemsize
    sign = 1 << (width - 1)
    return -(bits - sign) if bits & sign else bits


# --- what polycmp says


def verdict_of(case: Case) -> str:
    """Return what polycmp says: `pass`, `fail`, `blind` or `undecided`, by the way that the case's seed chooses."""
    return _WAYS[way_of(case.seed)](case)


def way_of(seed: int) -> str:
    """Return how a case is compared: by the comparer, the Python API, or the command.

    One in 1,000 is written to files and compared by the command, a quarter of the others goes through the API.
    """
    return COMMAND if seed % 1000 == 999 else API if seed % 4 == 0 else COMPARER


def _by_comparer(case: Case) -> str:
    pair = PairComparer("candidate", "reference", {case.function: _judge(case)}, accepted=())
    pair.add(case.candidate, case.reference)
    result = pair.result()
    return _SAID.get(result.inconclusive or ("passed" if result.passed else "failed"), "undecided")


def _by_api(case: Case) -> str:
    verdict = str(Comparator.compare_accuracy(_results(case), compare_func=_judge(case)).verdict)
    return _SAID.get(verdict, verdict)


def _by_command(case: Case) -> str:
    words = ["--compare", case.function]
    for name, value in case.options.items():
        if value is True:
            words.append(_flag(name))
        elif value is not False:
            words += [_flag(name), str(value)]
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        files = [str(Path(folder, f"{label}.json")) for label, _ in _results(case).items()]
        for file, (label, iterations) in zip(files, _results(case).items(), strict=True):
            RunResults([(label, iterations)]).save(file)
        report = Path(folder, "report.json")
        status = main_of_polycmp(["compare", *files, *words, "-q", "--report", str(report)])
        verdict = str(json.loads(report.read_text(encoding="utf-8"))["verdict"])
    if status != {"passed": 0, "failed": 1}.get(verdict, 3):
        return f"{verdict} with status {status}"
    return _SAID.get(verdict, verdict)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _judge(case: Case) -> Any:
    return getattr(CompareFunc, case.function)(**case.options)


def _results(case: Case) -> RunResults:
    sides = (("candidate", case.candidate), ("reference", case.reference))
    return RunResults([(label, [IterationResult(dict(outputs), runner_name=label)]) for label, outputs in sides])


def _whole_impostors(reference: Array) -> Iterator[Array]:
    """Yield what `nothing_could_hide` tries, exactly: float64 does not hold the ends of 64 bits."""
    info, values = ml_dtypes.iinfo(reference.dtype), [int(value) for value in reference.flat]
    found = [[round(value * factor) for value in values] for factor in map(Fraction, ("0", "1/2", "-1", "11/10"))]
    for other in (*found, [round(Fraction(sum(values), len(values)))] * len(values)):
        kept = [min(max(value, info.min), info.max) for value in other]
        wide = np.array(kept, np.uint64 if reference.dtype == np.uint64 else np.int64)
        yield wide.astype(reference.dtype).reshape(reference.shape)
    if reference.ndim:
        yield np.roll(reference, 1, axis=0)


COMPARER, API, COMMAND = "comparer", "Python API", "command"
_SAID = {"passed": PASS, "failed": FAIL, "blind": BLIND}
_WAYS: Mapping[str, Callable[[Case], str]] = {COMPARER: _by_comparer, API: _by_api, COMMAND: _by_command}


# --- whether it could have failed


def could_hide(case: Case) -> str:
    """Return by exact arithmetic whether zeros in place of the output that is compared would pass.

    Returns:
        `PASS` if they would and are not the reference itself, `FAIL` if they would not, else `EITHER`.
    """
    reference = case.reference["y"]
    if case.kind == "text" or not np.any(reference.astype(np.complex128) != 0):
        return EITHER
    return answer(replace(case, candidate={"y": np.zeros_like(reference)}))


def nothing_could_hide(case: Case) -> bool:
    """Return whether exact arithmetic refuses whatever a broken model may return in place of the reference.

    Tried are zeros, half, the negative, 1.1 times the values, their mean, and the next row. Where there are no
    elements, anything of that shape passes.
    """
    reference = case.reference["y"]
    if case.kind == "text" or not reference.size:
        return bool(reference.size)
    if case.kind == "whole":
        return all(answer(replace(case, candidate={"y": other})) == FAIL for other in _whole_impostors(reference))
    with np.errstate(all="ignore"):
        wide = reference.astype(np.complex128 if case.kind == "complex" else np.float64)
        finite = wide[np.isfinite(wide)]
        others = [wide * factor for factor in (0.0, 0.5, -1.0, 1.1)]
        others += [np.full(wide.shape, finite.mean() if finite.size else 0.0)]
        others += [np.roll(wide, 1, axis=0)] if wide.ndim else []
        if case.kind == "bool":
            others = [np.rint(other) for other in others]
        made = [other.astype(reference.dtype) for other in others]
    return all(answer(replace(case, candidate={"y": other})) == FAIL for other in made)


def loses_a_slice(case: Case) -> bool:
    """Return whether a slice of the candidate, across any axis, holds one value while the reference's holds several."""
    one, two = case.candidate["y"], case.reference["y"]
    slices = (
        (np.take(one, at, axis), np.take(two, at, axis)) for axis in range(one.ndim) for at in range(one.shape[axis])
    )
    return any(len(set(mine.ravel().tolist())) == 1 < len(set(other.ravel().tolist())) for mine, other in slices)


@dataclass
class Counts:
    """What came out of many cases.

    Attributes:
        cases: How many had an answer, by function.
        must_fail: How many of these had to fail, by function.
        either: Cases without an answer.
        blind: Cases that must pass, and of which polycmp says that nothing could have failed.
        undecided: Cases that must pass, and of which polycmp says that a part of the reference is lost.
        ways: How many had an answer, by how they were compared.
        false_passes: Seeds that passed and must not.
        false_alarms: Seeds that failed and must not.
        hidden: Seeds that passed without a word although zeros would have, too.
        sighted: Seeds called blind although nothing could have passed in place of the reference.
    """

    cases: Counter[str] = field(default_factory=Counter)
    must_fail: Counter[str] = field(default_factory=Counter)
    either: int = 0
    blind: int = 0
    undecided: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    false_passes: list[int] = field(default_factory=list)
    false_alarms: list[int] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    sighted: list[int] = field(default_factory=list)

    def add(self, case: Case) -> None:
        """Compare one case and count what comes of it."""
        wanted = answer(case)
        if wanted == EITHER:
            self.either += 1
            return
        said = verdict_of(case)
        self.cases[case.function] += 1
        self.ways[way_of(case.seed)] += 1
        self.must_fail[case.function] += wanted == FAIL
        if said in {PASS, BLIND} and wanted == FAIL:  # the command says that it could not compare other names, status 3
            self.false_passes.append(case.seed)
        elif said == UNDECIDED and wanted == PASS and loses_a_slice(case):
            self.undecided += 1
        elif said not in {PASS, BLIND} and wanted == PASS:
            self.false_alarms.append(case.seed)
        elif said == BLIND:
            self.blind += 1
            if nothing_could_hide(case):
                self.sighted.append(case.seed)
        elif said == PASS and could_hide(case) == PASS:
            self.hidden.append(case.seed)

    def merge(self, other: Counts) -> None:
        """Add what came of other cases."""
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))

    @property
    def wrong(self) -> Mapping[str, Sequence[int]]:
        """What must not be, in words, with the seeds of which it is so."""
        return {
            "false passes": self.false_passes,
            "false alarms": self.false_alarms,
            "blind without a word": self.hidden,
            "called blind and are not": self.sighted,
        }


def run(first: int, count: int) -> Counts:
    """Compare so many cases.

    Args:
        first: The first seed.
        count: How many seeds.
    """
    counts = Counts()
    for seed in range(first, first + count):
        counts.add(draw(seed))
    return counts


def run_all(first: int, count: int, seconds: float = math.inf, jobs: int = 1) -> Counts:
    """Compare so many cases, or as many as there is time for.

    Args:
        first: The first seed.
        count: How many seeds.
        seconds: For how long at most.
        jobs: In how many processes.
    """
    counts, end = Counts(), time.monotonic() + seconds
    parts = ((start, min(_PART, first + count - start)) for start in range(first, first + count, _PART))
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        waiting = deque(pool.apply_async(run, part) for part in islice(parts, jobs))
        while waiting:
            counts.merge(waiting.popleft().get())
            if time.monotonic() < end:
                waiting.extend(pool.apply_async(run, part) for part in islice(parts, 1))
    return counts


def table(counts: Counts, seconds: float) -> str:
    """Return the results as a page."""
    total, day = sum(counts.cases.values()), time.strftime("%Y-%m-%d", time.gmtime())
    lines = [
        "# Comparisons with known answers",
        "",
        "Written by `python -m truth.comparisons`. The answer of each is worked out with fractions; see the module.",
        "",
        f"{total:,} comparisons with an answer in {seconds / 60:.0f} minutes ({day}): "
        f"**{', '.join(f'{len(seeds)} {what}' for what, seeds in counts.wrong.items())}**. "
        f"{counts.blind:,} were called BLIND, {counts.undecided:,} UNDECIDED; {counts.either:,} more lay on a limit.",
        "",
        "Each is asked whether it could have failed. Compared by: "
        + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.ways.items()))
        + ".",
        "",
        "| function | comparisons | of these must fail |",
        "|---|---|---|",
        *(f"| {name} | {count:,} | {counts.must_fail[name]:,} |" for name, count in sorted(counts.cases.items())),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Compare, say what is wrong, and write the table where asked to."""
    parser = argparse.ArgumentParser(prog="python -m truth.comparisons", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="how many cases")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=math.inf, help="for how long at most")
    parser.add_argument("--jobs", type=int, default=1, help="in how many processes")
    parser.add_argument("--write", action="store_true", help="write comparisons.md")
    asked = parser.parse_args()
    begun = time.monotonic()
    counts = run_all(asked.first, asked.count, asked.seconds, asked.jobs)
    text = table(counts, time.monotonic() - begun)
    print(text)
    for name, seeds in counts.wrong.items():
        for seed in seeds[:20]:
            print(f"{name}: seed {seed}: {draw(seed)}")
    if asked.write:
        RESULTS.write_text(text, encoding="utf-8")
    return int(any(counts.wrong.values()))


if __name__ == "__main__":
    sys.exit(main())

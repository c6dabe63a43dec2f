"""The data loader `stress`: inputs of the kinds on which backends are known to go wrong.

Each feed has one kind, one seed and one shape, and depends on nothing else: numbers come from a fresh
`numpy.random.RandomState([seed, number of the kind])`, input after input in the order of the metadata. So a single
feed can be made again, alone.
"""

from __future__ import annotations

import logging
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.data import usual_numbers
from polycmp.errors import DataError, UsageError, did_you_mean
from polycmp.options import pick, unknown_names
from polycmp.tensors import (
    LabelledFeed,
    TensorEntry,
    TensorMetadata,
    as_dtype,
    dtype_class,
    format_shape,
    number_info,
    whole_limits,
)
from polycmp_checks.stress.layouts import laid_out
from polycmp_checks.stress.shapes import Shapes, shape_sweep

if TYPE_CHECKING:
    from polycmp_checks.stress.options import StressOptions

Range = tuple[float, float]
Real = NDArray[np.float64]
_LOG = logging.getLogger("polycmp.data")

MASK_KINDS = ("masked", "unmasked", "mask-first", "mask-last")
#: Index of the ones of each kind of mask.
ONES: Mapping[str, Any] = {"unmasked": ..., "mask-first": (..., 0), "mask-last": (..., -1)}
FLOAT_KINDS = ("signed", "large", "tiny", "denormal", "limits", "nan", "infinite")
WHOLE_KINDS = ("small", "wide", "bits")
#: Roles in the graph of integers that may have any value, and of those among them that may not be 0 or -1.
NUMBERS = ("number", "divisor")
#: Whole numbers of which nothing else is known, as the data loader `random` has them, and what others are divided by.
UNKNOWN_WHOLE = (0.0, 1.0)
DIVISORS = (1.0, 8.0)
#: The largest of the kind `small`.
SMALL = 9


def make_stress(options: StressOptions) -> Callable[[TensorMetadata], Iterator[LabelledFeed]]:
    """Return a function of the inputs' metadata that yields one feed per kind and seed; shapes go round.

    Raises:
        UsageError: A range is meant for an input that the model lacks.
        DataError: The model has no input for any of the kinds.
    """

    def load(inputs: TensorMetadata) -> Iterator[LabelledFeed]:
        unknown = unknown_names(options.val_range, inputs)
        if unknown:
            raise UsageError(
                f"--stress-val-range: the model has no input {unknown[0]!r}", why=did_you_mean(unknown[0], inputs)
            )
        kinds = _applicable(options.kinds, inputs, options)
        sweep = shape_sweep(inputs, options.sizes)
        _LOG.debug("stress: kinds %s; %d shapes", ", ".join(kinds), len(sweep))
        turns = ((kind, place) for place in range(len(options.seeds)) for kind in kinds)
        for number, (kind, place) in enumerate(turns):
            # One step more in each round of kinds, or each kind would always meet the same shapes.
            shapes = sweep[(number + number // len(kinds)) % len(sweep)]
            feed = _feed(inputs, kind, options.seeds[place], shapes, options)
            yield laid_out(feed, options.layouts[place % len(options.layouts)])

    return load


def _applicable(kinds: tuple[str, ...], inputs: TensorMetadata, options: StressOptions) -> list[str]:
    free = {name: entry for name, entry in inputs.items() if entry.values is None}
    floats = any(_class_of(entry) in {"float", "complex"} for entry in free.values())
    masks = any(_is_mask(name, entry, options) for name, entry in free.items())
    numbers = any(_is_number(name, entry, options) for name, entry in free.items())
    applicable = [
        kind
        for kind in dict.fromkeys(kinds)
        if (floats or kind not in FLOAT_KINDS or (kind == "signed" and not masks))
        and (masks or kind not in MASK_KINDS)
        and (numbers or kind not in WHOLE_KINDS)
    ]
    if inputs and not applicable:
        needed = "masks" if any(kind in MASK_KINDS for kind in kinds) else "real numbers"
        if any(kind in WHOLE_KINDS for kind in kinds):
            needed = "whole numbers that the model only calculates with"
        raise DataError(
            f"the model has no input for --stress-kinds {' '.join(kinds)}",
            why=f"these kinds are for {needed}, and its inputs are {inputs}",
            hint="leave --stress-kinds out to try all that apply",
        )
    return applicable


def _class_of(entry: TensorEntry) -> str:
    return "float" if entry.dtype is None else dtype_class(entry.dtype)


def _is_mask(name: str, entry: TensorEntry, options: StressOptions) -> bool:
    kind = _class_of(entry)
    if kind == "bool":
        return True
    if kind != "integer" or not entry.shape:
        return False
    return pick(options.val_range, name, entry.range) in {None, (0.0, 1.0)} and "mask" in name.lower()


def _is_number(name: str, entry: TensorEntry, options: StressOptions) -> bool:
    """Return whether an input is of whole numbers of which any will do, as far as the model's file says so."""
    limited = pick(options.val_range, name, entry.range) is not None
    return _class_of(entry) == "integer" and entry.role in NUMBERS and not limited


def _feed(inputs: TensorMetadata, kind: str, seed: int, shapes: Shapes, options: StressOptions) -> LabelledFeed:
    state = np.random.RandomState([seed, zlib.crc32(kind.encode())])
    arrays = {}
    sized = TensorMetadata({name: replace(entry, shape=shapes[name]) for name, entry in inputs.items()})
    known = usual_numbers(sized)
    for name, entry in inputs.items():
        arrays[name] = _array(name, entry, kind, shapes[name], state, options)
        if name in known and pick(options.val_range, name, None) is None:
            known[name].put_into(arrays[name])
    pinned = {
        name: list(shapes[name])
        for name, entry in inputs.items()
        if entry.values is None and entry.is_dynamic() and entry.shape is not None
    }
    repeat: dict[str, Any] = {"stress-kinds": [kind], "stress-seeds": [seed]}
    if pinned:
        repeat["input-shapes"] = pinned
    shown = (f"{name}:{format_shape(shapes[name])}" for name in pinned)
    return LabelledFeed(arrays, ", ".join([kind, f"seed {seed}", *shown]), repeat)


def _array(
    name: str,
    entry: TensorEntry,
    kind: str,
    shape: tuple[int, ...],
    state: np.random.RandomState,
    options: StressOptions,
) -> NDArray[Any]:
    dtype = np.dtype(np.float32) if entry.dtype is None else as_dtype(entry.dtype)
    if entry.values is not None:
        return np.array(entry.values, dtype)
    limits = pick(options.val_range, name, entry.range)
    what = dtype_class(dtype)
    if what == "string":
        return np.array([str(number) for number in range(math.prod(shape))], dtype=object).reshape(shape)
    if _is_mask(name, entry, options):
        return _mask(kind, shape, state).astype(dtype)
    if kind in WHOLE_KINDS and _is_number(name, entry, options):
        return _number(kind, shape, dtype, entry.role == "divisor", state)
    if what in {"bool", "integer"}:
        if limits is None and entry.role == "divisor":
            limits = DIVISORS
        return _whole(kind, shape, dtype, limits, state)
    with np.errstate(all="ignore"):
        numbers: NDArray[Any] = _real(kind, shape, dtype, limits, state)
        if what == "complex":  # a product with 1j would make NaN of infinities
            real, numbers = numbers, np.empty(shape, np.complex128)
            numbers.real, numbers.imag = real, _real(kind, shape, dtype, limits, state)
        return numbers.astype(dtype)


def _mask(kind: str, shape: tuple[int, ...], state: np.random.RandomState) -> NDArray[Any]:
    """Return ones and zeros; "first" and "last" are positions of the last axis."""
    random = np.asarray(state.randint(0, 2, size=shape))
    if kind not in MASK_KINDS:
        return random
    mask = np.zeros(shape or (1,), np.int64)
    if kind != "masked" and mask.size:
        mask[ONES[kind]] = 1
    return mask.reshape(shape)


def _whole(
    kind: str, shape: tuple[int, ...], dtype: np.dtype[Any], limits: Range | None, state: np.random.RandomState
) -> NDArray[Any]:
    low, high = _whole_limits(dtype, limits)
    drawn = state.randint(0, 2**31, size=shape).astype(np.int64) * 2**31 + state.randint(0, 2**31, size=shape)
    if kind in {"boundary", "limits"}:
        numbers = np.where(drawn % 2 == 0, low, high)
    elif kind == "equal":
        numbers = np.full(shape, low + int(state.randint(0, 2**31)) % (high - low + 1))
    else:
        numbers = low + drawn % (high - low + 1)
    return np.asarray(numbers).astype(dtype)


def _number(
    kind: str, shape: tuple[int, ...], dtype: np.dtype[Any], divides: bool, state: np.random.RandomState
) -> NDArray[Any]:
    """Return whole numbers of which any will do.

    Those that divide are not 0, and beside the type's lowest number, of which there is no negative, not -1.
    """
    low, high = whole_limits(dtype)
    choice = np.asarray(state.randint(0, 2**31, size=shape), np.int64)
    if kind == "bits":
        bits = min((high - low).bit_length(), high)
        shifts = np.asarray(int(divides) + choice % (bits + 1 - int(divides)))
        shifts.flat[:1] = bits  # a few numbers would seldom hold it
        return shifts.astype(dtype)
    forbidden = set() if not divides else {0} if kind == "small" else {0, -1}
    numbers = [*range(-SMALL, SMALL + 1)]
    if kind == "wide":
        numbers += [low, low + 1, high - 1, high]
        numbers += [sign * (1 << power) + step for power in (31, 32) for sign in (-1, 1) for step in (-1, 0, 1)]
        spread = [int(number) for number in state.randint(0, 2**31, size=16)]
        numbers += [low + ((number << 33) ^ (number * 2654435761)) % (high - low + 1) for number in spread]
    values = np.array([number for number in numbers if low <= number <= high and number not in forbidden], object)
    return np.asarray(values[choice % len(values)]).astype(dtype)


def _whole_limits(dtype: np.dtype[Any], limits: Range | None) -> tuple[int, int]:
    if dtype.kind == "b":
        return 0, 1
    type_limits = whole_limits(dtype)
    if limits is None:
        # Eight bits or fewer are pixels and quantized numbers, where every value is meant.
        limits = UNKNOWN_WHOLE if dtype.itemsize > 1 else (float(type_limits[0]), float(type_limits[1]))
    low, high = (int(min(max(bound, float(-(2**62))), float(2**62))) for bound in limits)
    return max(low, type_limits[0]), min(high, type_limits[1])


def _real(
    kind: str, shape: tuple[int, ...], dtype: np.dtype[Any], limits: Range | None, state: np.random.RandomState
) -> Real:
    largest, smallest, epsilon = _facts(dtype)
    sign = np.asarray(np.where(state.randint(0, 2, size=shape) == 0, -1.0, 1.0))
    share = np.asarray(state.random_sample(size=shape))
    numbers: Real
    if kind == "large":
        numbers = sign * share * min(1e3, math.sqrt(largest))
    elif kind == "tiny":
        low, high = math.log(smallest), math.log(max(1e-4, 2 * smallest))
        numbers = sign * np.exp(low + share * (high - low))
    elif kind == "denormal":
        numbers = sign * share * smallest
    elif kind in {"boundary", "limits"}:
        values = [0.0, 0.5, 1.0, 1.5, 2.5, 1 + epsilon, 1 - epsilon / 2]
        numbers = np.array(sign * state.choice(values, size=shape))
        if kind == "limits" and numbers.size:
            place = int(state.randint(0, numbers.size))
            numbers.reshape(-1)[place] = np.copysign(largest / 2, numbers.reshape(-1)[place])
    elif kind == "equal":
        numbers = np.full(shape, float(state.choice([0.0, 1.0, -1.0, 0.1, -3.0])))
    else:
        numbers = np.array(sign * share)
    if kind == "nan" and numbers.size and limits is None:
        numbers.reshape(-1)[int(state.randint(0, numbers.size))] = math.nan
    if kind == "infinite" and numbers.size and limits is None:
        places = state.permutation(numbers.size)[:2]
        numbers.reshape(-1)[places] = (math.inf, -math.inf)[: places.size]
    return np.asarray(numbers if limits is None else _into(numbers, kind, limits, share), np.float64)


def _into(numbers: Real, kind: str, limits: Range, share: Real) -> Real:
    """Return numbers that stay between the limits: spread over them if they are to be ordinary, else cut off."""
    if kind in {"boundary", "limits", "equal", "tiny", "denormal"}:
        return np.clip(numbers, *limits)
    low, high = (max(min(bound, 1e30), -1e30) for bound in limits)
    return low + share * (high - low)


def _facts(dtype: np.dtype[Any]) -> tuple[float, float, float]:
    """Return the largest number of a type, its smallest normal one, and the gap after 1."""
    info = number_info(dtype)
    return float(info.max), float(info.tiny), float(info.eps)

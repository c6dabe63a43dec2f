"""The data loader `random`: numbers that depend on the seed, the inputs' order, types and shapes, and nothing else.

Iteration i draws from a fresh `numpy.random.RandomState(seed + i)`, input after input in the order of the metadata.
Real numbers are `random_sample() * (high - low) + low`, whole numbers `randint(low, high + 1)`, both then of the
input's element type. This is the rule that Polygraphy's data loader follows, so the same seed gives the same numbers.
Some whole numbers are others unless a range is given for them: what indexes a table comes from its rows, masks are ones
with padding at the end, what others are divided by is not 0, and single numbers with a telling name (a sample rate, a
length) are what such a number usually is.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.data.scalars import Number, usual_numbers
from polycmp.errors import DataError, UsageError, did_you_mean
from polycmp.options.values import pick, unknown_names
from polycmp.tensors import TensorEntry, TensorMetadata, as_dtype, dtype_class, dtype_name, is_low_bit, whole_limits

if TYPE_CHECKING:
    from polycmp._builtin_options import RandomOptions

Range = tuple[float, float]
Draw = Callable[[str, TensorEntry], Any]
#: Draws whole numbers between two ends, both included, in an array of a shape.
Whole = Callable[[int, int, tuple[int, ...]], Any]
#: Range of the numbers that others are divided by.
DIVISORS: Range = (1.0, 8.0)
#: Texts that a remark shows.
_SHOWN = 3


def make_random(options: RandomOptions) -> Callable[[TensorMetadata], Iterator[dict[str, Any]]]:
    """Return a function of the inputs' metadata that yields one feed per iteration.

    Unknown dimensions become what `TensorEntry.static_shape` says; a tensor whose entry has `values` holds those, and
    nothing is drawn for it; an unknown element type becomes float32; text is drawn from `TensorEntry.words`, and is the
    elements' numbers in C order without these.

    Raises:
        UsageError: A range is meant for an input that the model lacks, or does not fit the input's element type.
        DataError: torch is wanted and not installed, or has no such element type.
    """

    def load(inputs: TensorMetadata) -> Iterator[dict[str, Any]]:
        unknown = unknown_names(options.val_range, inputs)
        if unknown:
            raise UsageError(
                f"--val-range: the model has no input {unknown[0]!r}", why=did_you_mean(unknown[0], inputs)
            )
        make_draw = _torch_draw if options.backend_module == "torch" else _numpy_draw
        return _iterate(inputs, options, make_draw)

    return load


def _iterate(
    inputs: TensorMetadata, options: RandomOptions, make_draw: Callable[[int, RandomOptions], Draw]
) -> Iterator[dict[str, Any]]:
    known = _usual(options, inputs)
    for iteration in range(options.iterations):
        draw = make_draw((options.seed + iteration) % 2**32, options)
        feed = {name: draw(name, entry) for name, entry in inputs.items()}
        for name, number in known.items():  # drawn all the same, so that the inputs after them stay what they are
            number.put_into(feed[name])
        yield feed


def _usual(options: RandomOptions, inputs: TensorMetadata) -> Mapping[str, Number]:
    """Return the single whole numbers that are not drawn."""
    return {name: number for name, number in usual_numbers(inputs).items() if _is_free(name, options)}


def _numpy_draw(seed: int, options: RandomOptions) -> Draw:
    state = np.random.RandomState(seed)

    def draw(name: str, entry: TensorEntry) -> Any:
        dtype = _dtype(entry)
        if entry.values is not None:
            return np.array(entry.values, dtype)
        shape = entry.static_shape()
        if is_padding_mask(name, entry, options):
            return _padding_mask(shape, lambda low, high, size: state.randint(low, high + 1, size=size)).astype(dtype)
        low, high = _range(name, entry, options)
        kind = dtype_class(dtype)
        if kind == "string":
            return _texts(entry.words, shape, name, seed)
        if kind == "bool":
            return np.array(state.randint(bool(low), bool(high) + 1, size=shape, dtype=np.bool_))
        if kind == "integer":
            first, last = _whole_range(name, dtype, low, high)
            drawn = np.dtype(np.int8) if is_low_bit(dtype) else dtype
            return np.array(state.randint(first, last + 1, size=shape, dtype=drawn)).astype(dtype)
        scale, shift = _scale((low, high))
        with np.errstate(all="ignore"):  # an infinite bound is there to make infinities
            numbers = np.asarray(state.random_sample(size=shape))
            np.add(np.multiply(numbers, scale, out=numbers), shift, out=numbers)  # fresh memory would take longer
            if kind == "complex":
                numbers = numbers + 1j * (state.random_sample(size=shape) * scale + shift)
            return numbers.astype(dtype)

    return draw


def _texts(words: Sequence[str], shape: tuple[int, ...], name: str, seed: int) -> NDArray[Any]:
    """Return texts of a table, or numbers as text; they use none of the common random numbers, so that others stay."""
    size = math.prod(shape)
    if not words:
        return np.array([str(number) for number in range(size)], dtype=object).reshape(shape)
    state = np.random.RandomState((seed + zlib.crc32(name.encode("utf-8", "surrogatepass"))) % 2**32)
    return np.array([words[place] for place in state.randint(len(words), size=size)], dtype=object).reshape(shape)


def _torch_draw(seed: int, options: RandomOptions) -> Draw:
    try:
        import torch
    except ImportError as error:
        raise DataError(
            "--data-loader-backend-module torch needs torch", why=str(error), hint="pip install torch"
        ) from None
    generator = torch.Generator()
    generator.manual_seed(seed)

    def draw(name: str, entry: TensorEntry) -> Any:
        dtype = _dtype(entry)
        kind = getattr(torch, dtype_name(dtype), None)
        if not isinstance(kind, torch.dtype):
            raise DataError(
                f"torch has no element type {dtype_name(dtype)} for input {name!r}",
                hint="leave out --data-loader-backend-module torch",
            )
        if entry.values is not None:
            return torch.tensor(entry.values, dtype=kind)
        shape = entry.static_shape()
        if is_padding_mask(name, entry, options):
            whole = lambda low, high, size: torch.randint(low, high + 1, size, generator=generator).numpy()  # noqa: E731
            return torch.from_numpy(_padding_mask(shape, whole)).to(kind)
        low, high = _range(name, entry, options)
        if dtype_class(dtype) == "bool":
            return torch.randint(int(bool(low)), int(bool(high)) + 1, shape, generator=generator).to(kind)
        if dtype_class(dtype) == "integer":
            first, last = _whole_range(name, dtype, low, high)
            return torch.randint(first, last + 1, shape, generator=generator, dtype=kind)
        scale, shift = _scale((low, high))
        drawn = torch.float32 if is_low_bit(dtype) else kind
        return (torch.rand(shape, generator=generator, dtype=drawn) * scale + shift).to(kind)

    return draw


def remarks(options: RandomOptions, inputs: TensorMetadata) -> dict[str, str]:
    """Describe, in words, the inputs whose values are not simply numbers from the range that was asked for."""
    texts = {}
    known = _usual(options, inputs)
    for name, entry in inputs.items():
        if entry.values is not None:
            continue
        if name in known:
            texts[name] = f"{' and '.join(map(str, known[name].values))}, as by its name it is {known[name].meaning}"
        elif _range(name, entry, options) is DIVISORS:
            texts[name] = "whole numbers from 1 to 8, as others are divided by them"
        elif is_padding_mask(name, entry, options):
            texts[name] = "ones with padding at the end, as it is a mask by its name"
        elif entry.words and dtype_class(_dtype(entry)) == "string":
            texts[name] = f"texts of the model's own tables, such as {', '.join(map(repr, entry.words[:_SHOWN]))}"
        elif entry.range is not None and _is_free(name, options) and dtype_class(_dtype(entry)) == "integer":
            low, high = entry.range
            texts[name] = f"whole numbers from {low:.0f} to {high:.0f}, the rows of the table that it indexes"
    return texts


def is_padding_mask(name: str, entry: TensorEntry, options: RandomOptions) -> bool:
    """Return whether an input is drawn as ones with padding at the end: a mask of at least two positions."""
    if dtype_class(_dtype(entry)) not in {"integer", "bool"} or not _is_free(name, options):
        return False
    shape = entry.static_shape()
    return "mask" in name.lower() and entry.range in {None, (0.0, 1.0)} and bool(shape) and shape[-1] > 1


def _padding_mask(shape: tuple[int, ...], whole: Whole) -> NDArray[np.bool_]:
    """Return rows that begin with ones, from half of them to all but the last."""
    lengths = np.asarray(whole(max(1, shape[-1] // 2), shape[-1] - 1, (*shape[:-1], 1)))
    return np.asarray(np.arange(shape[-1]) < lengths)


def _is_free(name: str, options: RandomOptions) -> bool:
    """Return whether no range was asked for."""
    return pick(options.val_range, name, None) in {None, (0.0, 1.0)}


def _range(name: str, entry: TensorEntry, options: RandomOptions) -> Range:
    if _is_free(name, options) and dtype_class(_dtype(entry)) == "integer":
        if entry.range is not None:
            return entry.range
        if entry.role == "divisor":
            return DIVISORS
    return pick(options.val_range, name, (0.0, 1.0))


def _dtype(entry: TensorEntry) -> np.dtype[Any]:
    return np.dtype(np.float32) if entry.dtype is None else as_dtype(entry.dtype)


def _scale(bounds: Range) -> Range:
    """Return factor and summand; an infinite bound alone decides, as infinities would cancel to NaN."""
    low, high = bounds
    scale, shift = high - low, low
    if math.isinf(low):
        scale, shift = low, 0.0
    if math.isinf(high):
        scale = high
    return scale, shift


def _whole_range(name: str, dtype: np.dtype[Any], low: float, high: float) -> tuple[int, int]:
    info = whole_limits(dtype)
    # as floats, which is what a range holds; the largest 64-bit numbers round up there
    if not (float(info[0]) <= low and high <= float(info[1])):
        raise UsageError(
            f"--val-range: [{low:g},{high:g}] does not fit input {name!r}, which holds {dtype_name(dtype)}",
            hint=f"--val-range {name}:[{max(low, info[0]):.0f},{min(high, info[1]):.0f}]",
        )
    return max(int(low), info[0]), min(int(high), info[1])

"""Dimensions that a model leaves open: which of them are one, what their names say, and sizes put in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from polycmp.tensors import Shape, TensorEntry, TensorMetadata, dimension_key, dtype_class, is_size

#: Names that exporters write where they know none: Paddle, TensorFlow, ONNX's shape inference, PyTorch's compiler.
_NO_NAME = re.compile(r"\W*|none|unknown|unk_*\d+|(p2o\.)?dynamicdimension\.?\d+|s\d+", re.IGNORECASE)
_BATCH = frozenset({"batch", "batchsize", "bs"})
#: What papers call a batch; in `n_frames` and beside a dimension that is named batch, the letter is just a number.
_BATCH_LETTERS = frozenset({"b", "n"})
_SEQUENCE = frozenset(
    {"seq", "seqlen", "sequence", "sequences", "length", "len", "time", "times", "steps", "timesteps", "tokens", "t"}
    | {"token", "frames", "samples", "past", "total", "s", "l"}
)
_IMAGE = frozenset({"height", "width", "h", "w", "rows", "cols", "columns"})
#: Size of a dimension of which only the kind is known: a batch stays small, and a sequence of one token would
#: let attention and recurrence pass, right or wrong.
USUAL: Mapping[str, int] = {"batch": 1, "sequence": 8, "image": 64, "": 8}


@dataclass(frozen=True)
class OpenDimension:
    """A dimension without a size, which several inputs may share.

    Attributes:
        key: Identifier of the dimension among the inputs.
        name: Name of the dimension; empty if it has none that tells anything.
        kind: `batch`, `sequence`, `image`, or empty.
        places: The inputs and axes that have it.
        least: Smallest size that the backends take.
        most: Largest size that they take; None if they do not say.
        index: Whether only inputs of whole numbers or booleans have it.
    """

    key: str
    name: str
    kind: str
    places: tuple[tuple[str, int], ...]
    least: int = 1
    most: int | None = None
    index: bool = False

    def limited(self, size: int) -> int:
        """Return the nearest size that the backends take."""
        size = max(size, self.least)
        return size if self.most is None else min(size, self.most)

    @property
    def usual(self) -> int:
        """The size to take where nothing more is known."""
        return self.limited(USUAL[self.kind] if self.least == 1 else self.least)

    def __str__(self) -> str:
        return self.name or " and ".join(f"dimension {axis} of {name!r}" for name, axis in self.places)


def plain_names(inputs: TensorMetadata) -> TensorMetadata:
    """Return the inputs, dimensions with a name that says nothing as -1: two of them need not be equal."""

    def plain(dim: int | str) -> int | str:
        return -1 if isinstance(dim, str) and re.fullmatch(r"\W*|none|unknown", dim, re.IGNORECASE) else dim

    return TensorMetadata(
        {
            name: entry if entry.shape is None else replace(entry, shape=tuple(map(plain, entry.shape)))
            for name, entry in inputs.items()
        }
    )


def open_dimensions(inputs: TensorMetadata) -> dict[str, OpenDimension]:
    """Return the open dimensions of the inputs by what identifies them, without those that are sums of others."""
    dimensions: dict[str, OpenDimension] = {}
    for name, entry in inputs.items():
        for axis, dim in enumerate(entry.shape or ()):
            if entry.values is not None or is_size(dim) or len(_terms(dim)) > 1:
                continue
            key = dimension_key(name, axis, dim)
            least, most = _limit(entry.min_shape, entry, axis), _limit(entry.max_shape, entry, axis)
            index = entry.dtype is not None and dtype_class(entry.dtype) in {"integer", "bool"}
            one = OpenDimension(key, _name(dim), _kind(dim, axis, entry), ((name, axis),), least or 1, most, index)
            dimensions[key] = _joined(dimensions[key], one) if key in dimensions else one
    return dimensions


def filled(inputs: TensorMetadata, sizes: Mapping[str, int]) -> TensorMetadata:
    """Return the inputs with sizes in place of open dimensions.

    A dimension called `past + seq`, as exporters write it, becomes the sum, as far as its parts are known.

    Args:
        inputs: The inputs.
        sizes: Sizes by what identifies the dimension.
    """
    return TensorMetadata({name: _filled(name, entry, sizes) for name, entry in inputs.items()})


def _filled(name: str, entry: TensorEntry, sizes: Mapping[str, int]) -> TensorEntry:
    if entry.shape is None or entry.values is not None:
        return entry
    dims = (sizes.get(dimension_key(name, axis, dim), dim) for axis, dim in enumerate(entry.shape))
    return replace(entry, shape=tuple(_summed(dim, sizes) for dim in dims))


def _summed(dim: int | str, sizes: Mapping[str, int]) -> int | str:
    terms = [sizes.get(term, term) for term in _terms(dim)]
    if len(terms) < 2:
        return dim
    if all(isinstance(term, int) or term.isdigit() for term in terms):
        return sum(map(int, terms))
    return " + ".join(map(str, terms))


def _terms(dim: int | str) -> list[str]:
    return [part.strip() for part in dim.split("+")] if isinstance(dim, str) else [str(dim)]


def _limit(shape: tuple[int, ...] | None, entry: TensorEntry, axis: int) -> int | None:
    return shape[axis] if shape is not None and len(shape) == len(entry.shape or ()) else None


def _joined(one: OpenDimension, two: OpenDimension) -> OpenDimension:
    limits = [limit for limit in (one.most, two.most) if limit is not None]
    return replace(
        one,
        kind=one.kind or two.kind,
        places=(*one.places, *two.places),
        least=max(one.least, two.least),
        most=min(limits, default=None),
        index=one.index and two.index,
    )


def _name(dim: int | str) -> str:
    return dim if isinstance(dim, str) and not _NO_NAME.fullmatch(dim) else ""


def _kind(dim: int | str, axis: int, entry: TensorEntry) -> str:
    words = _words(dim)
    if words <= _BATCH_LETTERS and words:
        return "" if any(_words(other) & _BATCH for other in entry.shape or ()) else "batch"
    for kind, names in (("batch", _BATCH), ("sequence", _SEQUENCE), ("image", _IMAGE)):
        if words & names:
            return kind
    rank = len(entry.shape or ())
    if not words and axis == 0 and rank > 1:
        return "batch"
    return "image" if rank >= 4 and axis > 0 and not words else ""


def _words(dim: int | str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _name(dim)).lower()))


def merge_inputs(parts: Iterable[TensorMetadata]) -> TensorMetadata:
    """Merge the input metadata of several backends and files; the most specific statement wins.

    A size comes before a name, a name before nothing. Limits and ranges must suit all.

    Args:
        parts: The inputs as each of them declares them; the first gives the order.
    """
    merged: dict[str, TensorEntry] = {}
    for part in parts:
        for name, entry in plain_names(part).items():
            merged[name] = _merged(merged[name], entry) if name in merged else entry
    return TensorMetadata(merged)


def _merged(one: TensorEntry, two: TensorEntry) -> TensorEntry:
    lows = [shape for shape in (one.min_shape, two.min_shape) if shape is not None]
    highs = [shape for shape in (one.max_shape, two.max_shape) if shape is not None]
    ranges = [item for item in (one.range, two.range) if item is not None]
    return TensorEntry(
        one.dtype if one.dtype is not None else two.dtype,
        _more_specific(one.shape, two.shape),
        tuple(map(max, *lows)) if len(lows) > 1 else next(iter(lows), None),
        tuple(map(min, *highs)) if len(highs) > 1 else next(iter(highs), None),
        one.values if one.values is not None else two.values,
        (max(low for low, _ in ranges), min(high for _, high in ranges)) if ranges else None,
        one.role or two.role,
        one.words or two.words,
        one.optional or two.optional,
    )


def _more_specific(one: Shape | None, two: Shape | None) -> Shape | None:
    if one is None or two is None or len(one) != len(two):
        return two if one is None else one
    return tuple(max(pair, key=_precision) for pair in zip(one, two, strict=True))


def _precision(dim: int | str) -> int:
    if isinstance(dim, str):
        return 1
    return 2 if dim >= 0 else 0

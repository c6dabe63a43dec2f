"""Shapes given for a model's inputs: checked, and put in place of the declared ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from polycmp.data.dimensions import filled, merge_inputs, open_dimensions
from polycmp.errors import UsageError, did_you_mean
from polycmp.options.values import pick, unknown_names
from polycmp.tensors import Feed, TensorEntry, TensorMetadata, dtype_class, format_shape, is_size

_LOG = logging.getLogger("polycmp.data")
_OPTION = "--input-shapes"

Shapes = Mapping[str, tuple[int, ...]]
Fill = Callable[[TensorMetadata], TensorMetadata]


def apply_input_shapes(
    inputs: TensorMetadata, shapes: Shapes, dimensions: Mapping[str, int] | None = None
) -> TensorMetadata:
    """Return the inputs with the shapes that were asked for.

    A "shape" for an integer vector of known length, with as many numbers as the vector has elements, is taken as the
    vector's content: such inputs feed Reshape, Expand and their like. Dimensions of one name are one dimension: the
    size that it has in one input it has in all.

    Args:
        inputs: The inputs that the model declares.
        shapes: By name of input, or by pattern (`*`, `?`, `[…]`).
        dimensions: Sizes by name of dimension.

    Raises:
        UsageError: No input, or no dimension, has that name; the shape contradicts what the model declares; or one
            dimension would have two sizes.
    """
    inputs = merge_inputs([inputs])
    unknown = unknown_names(shapes, inputs)
    if unknown:
        wanted = format_shape(shapes[unknown[0]])
        raise UsageError(
            f"{_OPTION}: the model has no input {unknown[0]!r}",
            why=did_you_mean(unknown[0], inputs),
            hint=f"{_OPTION} {_closest(unknown[0], inputs)}:{wanted}",
        )
    changed: dict[str, TensorEntry] = {}
    sizes = _Sizes(inputs, dimensions or {})
    for name, entry in inputs.items():
        shape = pick(shapes, name, None)
        changed[name] = entry if shape is None else _override(name, entry, tuple(shape))
        if shape is not None and changed[name].values is None:
            sizes.take(name, entry, tuple(shape))
    return filled(TensorMetadata(changed), sizes.by_name)


class _Sizes:
    """The sizes of named dimensions, and who gave them."""

    def __init__(self, inputs: TensorMetadata, dimensions: Mapping[str, int]) -> None:
        known = dict.fromkeys(dim for entry in inputs.values() for dim in entry.shape or () if isinstance(dim, str))
        for name in dimensions:
            if name not in known and not any(name in map(str.strip, dim.split("+")) for dim in known):
                raise UsageError(
                    f"{_OPTION}: no input has a dimension called {name!r}",
                    why=did_you_mean(name, known) if known else "its dimensions have no names",
                    hint=f"{_OPTION} {_closest(name, known)}={dimensions[name]}" if known else _by_input(inputs),
                )
        self.by_name = dict(dimensions)
        self._givers = {name: f"{name}={size}" for name, size in dimensions.items()}

    def take(self, name: str, entry: TensorEntry, shape: tuple[int, ...]) -> None:
        """Take in the shape given for an input."""
        for dim, size in zip(entry.shape or (), shape, strict=False):
            if not isinstance(dim, str):
                continue
            giver = f"{name}:{format_shape(shape)}"
            if self.by_name.setdefault(dim, size) != size:
                raise UsageError(
                    f"{_OPTION}: the dimension {dim!r} cannot be both {self.by_name[dim]} and {size}",
                    why=f"{self._givers[dim]} and {giver} contradict each other; {name!r} is "
                    f"{format_shape(entry.shape)}",
                    hint=f"{_OPTION} {dim}={size}",
                )
            self._givers.setdefault(dim, giver)


def usual_sizes(inputs: TensorMetadata) -> TensorMetadata:
    """Return the inputs, open dimensions with the sizes that suit their names; which ones is logged."""
    dimensions = open_dimensions(inputs)
    sized = filled(inputs, {key: dim.usual for key, dim in dimensions.items()})
    if dimensions:
        names = dict.fromkeys(name for dim in dimensions.values() for name, _ in dim.places)
        shapes = ", ".join(f"{name}:{format_shape(sized[name].shape)}" for name in names)
        _LOG.info("open dimensions are given sizes: %s; give others with %s", shapes, _OPTION)
    return sized


def feeds_in_turn(
    load: Callable[[TensorMetadata], Iterable[Feed]],
    inputs: TensorMetadata,
    shapes: Sequence[Shapes],
    *,
    dimensions: Mapping[str, int] | None = None,
    fill: Fill = usual_sizes,
) -> Iterable[Feed]:
    """Load feeds whose shapes take turns: iteration i has the shapes number i modulo their count.

    Each iteration is the one that the data loader makes at this place when it is only ever asked for these shapes.

    Args:
        load: The data loader.
        inputs: The inputs that the model declares.
        shapes: By name of input, or by pattern; at least one mapping.
        dimensions: Sizes by name of dimension.
        fill: Gives sizes to dimensions that are still open.

    Raises:
        UsageError: A shape does not fit the inputs.
    """
    series = [load(fill(apply_input_shapes(inputs, item, dimensions))) for item in shapes]
    if len(series) == 1:
        return series[0]
    return (feeds[index % len(feeds)] for index, feeds in enumerate(zip(*series, strict=False)))


def _by_input(inputs: TensorMetadata) -> str:
    return f"{_OPTION} {' '.join(f'{name}:{format_shape(entry.static_shape())}' for name, entry in inputs.items())}"


def _closest(name: str, inputs: Mapping[str, object]) -> str:
    from difflib import get_close_matches

    return next(iter([*get_close_matches(name, list(inputs), n=1), *inputs]), name)


def _override(name: str, entry: TensorEntry, shape: tuple[int, ...]) -> TensorEntry:
    if _is_shape_tensor(entry, len(shape)):
        _LOG.info("input %r is taken as a shape tensor; it will hold %s", name, list(shape))
        return replace(entry, values=shape)
    problem = _problem(entry, shape)
    if problem:
        raise UsageError(
            f"{_OPTION} {name}:{format_shape(shape)} does not fit the model",
            why=f"{problem}; the model declares {format_shape(entry.shape)}",
            hint=f"{_OPTION} {name}:{format_shape(_corrected(entry, shape))}",
        )
    return replace(entry, shape=shape)


def _is_shape_tensor(entry: TensorEntry, count: int) -> bool:
    integral = entry.dtype is None or dtype_class(entry.dtype) == "integer"
    return integral and entry.shape is not None and entry.shape == (count,)


def _problem(entry: TensorEntry, shape: tuple[int, ...]) -> str:
    if any(dim < 0 for dim in shape):
        return "a dimension is negative"
    if entry.shape is None:
        return ""
    if len(shape) != len(entry.shape):
        return f"it has {len(shape)} dimensions instead of {len(entry.shape)}"
    for axis, (known, dim) in enumerate(zip(entry.shape, shape, strict=True)):
        if is_size(known) and known != dim:
            return f"dimension {axis} is fixed at {known}"
    return ""


def _corrected(entry: TensorEntry, shape: tuple[int, ...]) -> tuple[int, ...]:
    if entry.shape is None:
        return tuple(abs(dim) for dim in shape)
    static = entry.static_shape()
    wanted = shape if len(shape) == len(static) else static
    return tuple(
        known if is_size(known) else (dim if dim > 0 else fallback)
        for known, dim, fallback in zip(entry.shape, wanted, static, strict=True)
    )

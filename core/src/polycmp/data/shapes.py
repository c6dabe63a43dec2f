"""Shapes given for a model's inputs: checked, and put in place of the declared ones."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from polycmp.errors import UsageError, did_you_mean
from polycmp.tensors import Feed, TensorEntry, TensorMetadata, dtype_class, format_shape
from polycmp.values import pick, unknown_names

_LOG = logging.getLogger("polycmp.data")
_OPTION = "--input-shapes"


def apply_input_shapes(
    inputs: TensorMetadata, shapes: Mapping[str, tuple[int, ...]], *, others_become_1: bool = True
) -> TensorMetadata:
    """Return the inputs with the shapes that were asked for.

    A "shape" for an integer vector of known length, with as many numbers as the vector has elements, is taken as the
    vector's content: such inputs feed Reshape, Expand and their like. Unknown dimensions that nobody gave are logged
    once, with the 1 they become.

    Args:
        inputs: What the model declares.
        shapes: By name of input, or by pattern (`*`, `?`, `[…]`).
        others_become_1: Whether the data loader fills unknown dimensions with 1, which is worth a warning then.

    Raises:
        UsageError: No input has that name, or the shape contradicts what the model declares.
    """
    unknown = unknown_names(shapes, inputs)
    if unknown:
        wanted = format_shape(shapes[unknown[0]])
        raise UsageError(
            f"{_OPTION}: the model has no input {unknown[0]!r}",
            why=did_you_mean(unknown[0], inputs),
            hint=f"{_OPTION} {_closest(unknown[0], inputs)}:{wanted}",
        )
    changed: dict[str, TensorEntry] = {}
    for name, entry in inputs.items():
        shape = pick(shapes, name, None)
        changed[name] = entry if shape is None else _override(name, entry, tuple(shape))
    if others_become_1:
        _log_defaults(changed)
    return TensorMetadata(changed)


def feeds_in_turn(
    load: Callable[[TensorMetadata], Iterable[Feed]],
    inputs: TensorMetadata,
    shapes: Sequence[Mapping[str, tuple[int, ...]]],
    *,
    others_become_1: bool = True,
) -> Iterable[Feed]:
    """Return what a data loader gives for the inputs, iteration i with the shapes number i modulo their count.

    Each iteration is the one that the data loader makes at this place when it is only ever asked for these shapes.

    Args:
        load: The data loader.
        inputs: What the model declares.
        shapes: By name of input, or by pattern; at least one mapping.
        others_become_1: As for `apply_input_shapes`.

    Raises:
        UsageError: A shape does not fit the inputs.
    """
    series = [load(apply_input_shapes(inputs, item, others_become_1=others_become_1)) for item in shapes]
    if len(series) == 1:
        return series[0]
    return (feeds[index % len(feeds)] for index, feeds in enumerate(zip(*series, strict=False)))


def _closest(name: str, inputs: TensorMetadata) -> str:
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
        if isinstance(known, int) and known >= 0 and known != dim:
            return f"dimension {axis} is fixed at {known}"
    return ""


def _corrected(entry: TensorEntry, shape: tuple[int, ...]) -> tuple[int, ...]:
    if entry.shape is None:
        return tuple(abs(dim) for dim in shape)
    static = entry.static_shape()
    wanted = shape if len(shape) == len(static) else static
    return tuple(
        known if isinstance(known, int) and known >= 0 else (dim if dim > 0 else fallback)
        for known, dim, fallback in zip(entry.shape, wanted, static, strict=True)
    )


def _log_defaults(inputs: Mapping[str, TensorEntry]) -> None:
    defaulted = [
        f"{name}:{format_shape(entry.static_shape())} for {format_shape(entry.shape)}"
        for name, entry in inputs.items()
        if entry.is_dynamic() and entry.values is None and entry.min_shape is None and entry.max_shape is None
    ]
    if defaulted:
        _LOG.warning("unknown dimensions become 1: %s; give others with %s", ", ".join(defaulted), _OPTION)

"""Shapes to try inside what a model leaves open: the same size wherever inputs share a dimension's name."""

from __future__ import annotations

from collections.abc import Sequence

from polycmp.tensors import TensorEntry, TensorMetadata, dimension_key, is_size

Shapes = dict[str, tuple[int, ...]]
Bounds = tuple[int, "int | None"]


def shape_sweep(inputs: TensorMetadata, sizes: Sequence[int]) -> list[Shapes]:
    """Return the shapes to try, each a shape per input; only one if nothing is dynamic.

    Unknown dimensions take the sizes in turn. Dimensions of one name are equal; different ones differ within one
    shape where there are several sizes, so that exchanged dimensions show. Where a backend says what it takes, the
    smallest and the largest shape are among them and no size lies outside.

    Args:
        inputs: The model's inputs.
        sizes: Sizes for dimensions, for example `(1, 2, 3, 7, 8)`.
    """
    bounds = _bounds(inputs)
    choices = {key: _choices(limits, sizes) for key, limits in bounds.items()}
    rounds = max((len(choice) for choice in choices.values()), default=1)
    sweep: list[Shapes] = []
    for turn in range(rounds):
        picked = {key: choice[(turn + shift) % len(choice)] for shift, (key, choice) in enumerate(choices.items())}
        shapes = {name: _shape(name, entry, picked) for name, entry in inputs.items()}
        if shapes not in sweep:
            sweep.append(shapes)
    return sweep


def _open_axes(entry: TensorEntry) -> list[int]:
    if entry.values is not None or entry.shape is None:
        return []
    return [axis for axis, dim in enumerate(entry.shape) if not is_size(dim)]


def _bounds(inputs: TensorMetadata) -> dict[str, Bounds]:
    bounds: dict[str, Bounds] = {}
    for name, entry in inputs.items():
        for axis in _open_axes(entry):
            assert entry.shape is not None
            key = dimension_key(name, axis, entry.shape[axis])
            low, high = bounds.get(key, (0, None))
            if entry.min_shape is not None and len(entry.min_shape) == len(entry.shape):
                low = max(low, entry.min_shape[axis])
            if entry.max_shape is not None and len(entry.max_shape) == len(entry.shape):
                high = entry.max_shape[axis] if high is None else min(high, entry.max_shape[axis])
            bounds[key] = low, high
    return bounds


def _choices(limits: Bounds, sizes: Sequence[int]) -> list[int]:
    low, high = limits
    inside = [size for size in sizes if size >= low and (high is None or size <= high)]
    smallest = max(low, 1)  # nothing at all is tried only where it is asked for
    ends = [] if high is None else [smallest, high]
    return list(dict.fromkeys([*ends, *inside])) or [smallest]


def _shape(name: str, entry: TensorEntry, picked: dict[str, int]) -> tuple[int, ...]:
    if entry.shape is None or entry.values is not None:
        return entry.static_shape()
    axes = _open_axes(entry)
    return tuple(
        picked[dimension_key(name, axis, dim)] if axis in axes else int(dim) for axis, dim in enumerate(entry.shape)
    )

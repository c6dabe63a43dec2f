"""Values given for inputs and dimensions by one model's names, for a model that calls them otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from polycmp.errors import UsageError
from polycmp.options.values import is_named, unknown_names
from polycmp.tensors import TensorMetadata

T = TypeVar("T")


def by_names_of(inputs: Iterable[str], values: Mapping[str, T], others: Sequence[Mapping[str, str]]) -> dict[str, T]:
    """Return values by the names of some inputs; an unknown name stays as it is.

    Args:
        inputs: The names wanted.
        values: Values by name, by pattern (`*`, `?`, `[…]`), or "" for all.
        others: For each other model, the names wanted by its own, where they differ.

    Raises:
        UsageError: One input is given two values.
    """
    known, renamed = list(inputs), dict(values)
    for name in unknown_names(values, known):
        targets = [new for part in others for own, new in part.items() if is_named(own, [name])]
        if targets:
            del renamed[name]
        for target in targets:
            _take(renamed, target, values[name], name, "input")
    return renamed


def dimensions_of(inputs: TensorMetadata, sizes: Mapping[str, int], others: Iterable[TensorMetadata]) -> dict[str, int]:
    """Return sizes by the names that dimensions have in some inputs; an unknown name stays as it is.

    Args:
        inputs: The inputs with the names wanted.
        sizes: Sizes by name of dimension.
        others: The same inputs as other models declare them, by the same names of inputs.

    Raises:
        UsageError: One dimension is given two sizes.
    """
    if not sizes:
        return {}
    known, renamed = _dimension_names(inputs), dict(sizes)
    pairs = [
        pair
        for part in others
        for name, entry in part.items()
        if name in inputs and len(entry.shape or ()) == len(inputs[name].shape or ())
        for pair in zip(entry.shape or (), inputs[name].shape or (), strict=True)
    ]
    for name in [name for name in sizes if name not in known]:
        targets = {dim for other, dim in pairs if other == name}
        names = [target for target in targets if isinstance(target, str)]
        if targets and targets <= {*names, sizes[name]}:  # what has another size for good is refused as unknown
            del renamed[name]
        for target in names:
            _take(renamed, target, sizes[name], name, "dimension")
    return renamed


def _take(renamed: dict[str, T], target: str, value: T, name: str, what: str) -> None:
    if renamed.setdefault(target, value) != value:
        raise UsageError(
            f"{name!r} and {target!r} are the same {what}, which cannot be both {value} and {renamed[target]}",
            why="two of the models name it differently",
            hint=f"give one value, for {target!r}",
        )


def _dimension_names(inputs: TensorMetadata) -> frozenset[str]:
    """Return the names of dimensions, and those of the terms of sums, as in `past + seq`."""
    shown = [dim for entry in inputs.values() for dim in entry.shape or () if isinstance(dim, str)]
    return frozenset(part.strip() for dim in shown for part in (dim, *dim.split("+")))

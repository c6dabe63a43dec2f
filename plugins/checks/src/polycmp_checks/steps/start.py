"""The first feed of a sequence: a cache begins empty, and what goes with its length begins with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from polycmp.plan import DataPlan
from polycmp.tensors import Feed, TensorEntry, TensorMetadata, is_size, to_numpy
from polycmp_checks.steps.rules import InputRules


@dataclass(frozen=True)
class Start:
    """Initial inputs of sequences.

    Attributes:
        inputs: The model's inputs.
        growing: By input of the state, the axes along which it grows.
        shaped_by_user: Inputs of the state whose shape the user gave.
        rules: Rules for the other inputs.
        free: Whether a data loader makes the inputs up, so that the first state and lengths may be chosen here.
    """

    inputs: TensorMetadata
    growing: Mapping[str, tuple[int, ...]]
    shaped_by_user: Collection[str]
    rules: InputRules
    free: bool

    @property
    def empty(self) -> list[str]:
        """The inputs of the state that are emptied."""
        return [name for name, axes in self.growing.items() if self.free and axes and name not in self.shaped_by_user]

    def sized(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return the inputs with empty caches, as the source is asked for them."""
        changed = dict(inputs)
        for name in self.empty:
            entry, axes = inputs[name], self.growing[name]
            shape = tuple(0 if axis in axes else dim for axis, dim in enumerate(entry.shape or ()))
            changed[name] = replace(entry, shape=shape)
        tokens = inputs[self.rules.tokens].shape if self.empty and self.rules.tokens in inputs else None
        for name in self.rules.assumed if tokens else ():
            dims = inputs[name].shape
            if tokens and dims and self.rules.names[name] == "ones":  # as long as cache and tokens together
                changed[name] = replace(inputs[name], shape=(*dims[:-1], tokens[-1]))
        return TensorMetadata(changed)

    def first(self, feed: Feed, state: Collection[str]) -> Feed:
        """Return the first feed: the source's, with an empty cache and what is missing of the state.

        Inputs from a file or a script stay as they are.

        Args:
            feed: Feed from the source.
            state: The inputs of the state.
        """
        first_feed = dict(feed)
        for name in state:
            axes = self.growing.get(name, ())
            if name not in first_feed:
                first_feed[name] = _nothing(self.inputs[name], axes, _rows(first_feed))
            elif name in self.empty:
                shape = [0 if axis in axes else size for axis, size in enumerate(first_feed[name].shape)]
                first_feed[name] = np.zeros(shape, to_numpy(first_feed[name]).dtype)
        if self.free and self.rules.tokens in first_feed:
            tokens, past = int(first_feed[self.rules.tokens].shape[-1]), self._past(first_feed)
            for name, rule in self.rules.names.items():
                if name in first_feed and name in self.rules.assumed:
                    first_feed[name] = _lengths(rule, to_numpy(first_feed[name]), tokens, past)
        return first_feed

    def _past(self, feed: Feed) -> int:
        return next((int(feed[name].shape[axes[0]]) for name, axes in self.growing.items() if axes), 0)


def growing_axes(
    state: Mapping[str, str], inputs: TensorMetadata, outputs: TensorMetadata
) -> dict[str, tuple[int, ...]]:
    """Return the axes along which the state's inputs grow, as far as the names of dimensions tell.

    Such a dimension is of the state alone: its name occurs at no other input, and the output that goes there does not
    have it at the same place.

    Args:
        state: By input the output that goes into it.
        inputs: The model's inputs.
        outputs: The model's outputs, as far as they are known.
    """
    elsewhere = {dim for name, entry in inputs.items() if name not in state for dim in entry.shape or ()}
    growing = {}
    for name, output in state.items():
        output_shape = outputs[output].shape if output in outputs else None
        shape = inputs[name].shape or ()
        same = output_shape if output_shape is not None and len(output_shape) == len(shape) else (None,) * len(shape)
        growing[name] = tuple(
            axis
            for axis, (dim, after) in enumerate(zip(shape, same, strict=True))
            if isinstance(dim, str) and dim and dim not in elsewhere and dim != after
        )
    return growing


def shaped_by_user(growing: Mapping[str, tuple[int, ...]], inputs: TensorMetadata, data: DataPlan) -> frozenset[str]:
    """Return the inputs of the state whose length the user gave, by the input or by the dimension that grows.

    Args:
        growing: By input of the state, the axes along which it grows.
        inputs: The model's inputs.
        data: What the user gave.
    """
    named = {name for name in growing if any(fnmatchcase(name, pattern) for pattern in data.input_shapes)}
    shapes = {name: inputs[name].shape or () for name in growing}
    return frozenset(
        named | {name for name, axes in growing.items() if any(shapes[name][axis] in data.dimensions for axis in axes)}
    )


def sized_state(growing: Mapping[str, tuple[int, ...]], inputs: TensorMetadata, data: DataPlan) -> TensorMetadata:
    """Return the inputs, with the sizes that the user gave for dimensions of the state that stay as they are."""
    sized = dict(inputs)
    for name, axes in growing.items():
        entry = inputs[name]
        if entry.shape is not None:
            shape = (
                data.dimensions.get(dim, dim) if isinstance(dim, str) and axis not in axes else dim
                for axis, dim in enumerate(entry.shape)
            )
            sized[name] = replace(entry, shape=tuple(shape))
    return TensorMetadata(sized)


def open_sizes(growing: Mapping[str, tuple[int, ...]], inputs: TensorMetadata) -> dict[str, None]:
    """Return the dimensions of the state alone whose size nothing tells, in their order: such as that of a head."""
    elsewhere = {dim for name, entry in inputs.items() if name not in growing for dim in entry.shape or ()}
    return {
        dim: None
        for name, axes in growing.items()
        for axis, dim in enumerate(inputs[name].shape or ())
        if axis and axis not in axes and isinstance(dim, str) and dim and dim not in elsewhere
    }


def _rows(feed: Feed) -> int:
    return next((int(array.shape[0]) for array in feed.values() if getattr(array, "shape", ())), 1)


def _nothing(entry: TensorEntry, axes: Collection[int], rows: int) -> Any:
    """Return an initial state of zeros, empty along the axes that grow, with as many rows as the feed."""
    shape = [
        dim if is_size(dim) else 0 if axis in axes else rows if axis == 0 else 1
        for axis, dim in enumerate(entry.shape or ())
    ]
    return np.zeros(shape, entry.dtype if entry.dtype is not None else np.dtype(np.float32))


def _lengths(rule: str, array: Any, tokens: int, past: int) -> Any:
    """Compute the first value of an input that follows the length."""
    if rule == "ones":
        return np.ones((*array.shape[:-1], past + tokens), array.dtype)
    if rule == "count":
        return np.broadcast_to(np.arange(past, past + tokens, dtype=array.dtype), (*array.shape[:-1], tokens)).copy()
    return array

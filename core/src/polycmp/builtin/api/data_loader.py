"""The data loader for Python programs: random inputs, as many as asked for, the same for the same seed."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polycmp.data import RandomOptions
from polycmp.errors import UsageError
from polycmp.loader import keyword_aliases
from polycmp.options import pick
from polycmp.tensors import DataSource, Feed, TensorMetadata

Shapes = Mapping[str, tuple[int, ...]]


@keyword_aliases(data_loader_backend_module="backend_module")
class DataLoader(DataSource):
    """Reproducible random inputs; can be iterated over and indexed once the model's inputs are known.

    Args:
        seed: Seed of the first iteration; each further one adds 1. None means 1.
        iterations: Number of iterations. None means 1.
        input_metadata: Element types and shapes of inputs, by name or pattern; what it leaves open comes from the
            model. Without a model it is all there is to know.
        val_range: Range of the values as `(low, high)`, or one per input name. None means 0 to 1.
        backend_module: `numpy` or `torch`: whose arrays to make.
        input_shapes: Shapes of dynamic inputs, or the values of shape tensors, by name or pattern; or several such
            mappings, which the iterations take in turn.
        dimensions: Sizes by name of dimension, for all inputs that declare it.

    Attributes:
        input_metadata: The inputs of the model that was run last. A program may set it; what was given to the
            constructor is kept.
    """

    synthetic = True

    def __init__(
        self,
        seed: int | None = 1,
        iterations: int | None = 1,
        input_metadata: TensorMetadata | None = None,
        val_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        backend_module: str | None = "numpy",
        input_shapes: Shapes | Sequence[Shapes] | None = None,
        dimensions: Mapping[str, int] | None = None,
    ) -> None:
        ranges = {} if val_range is None else val_range if isinstance(val_range, Mapping) else {"": val_range}
        self._options = RandomOptions(
            1 if seed is None else seed,
            {name: _whole_range(bounds) for name, bounds in ranges.items()},
            1 if iterations is None else iterations,
            backend_module or "numpy",
        )
        self._shapes: Sequence[Shapes] = [input_shapes] if isinstance(input_shapes, Mapping) else input_shapes or [{}]
        self._dimensions = dict(dimensions or {})
        self._given = input_metadata or TensorMetadata()
        self.input_metadata = input_metadata

    def __call__(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a model's inputs.

        Args:
            inputs: The inputs that the model declares; types and shapes given to the constructor replace unknown ones.

        Raises:
            UsageError: Values given to the constructor do not fit the inputs.
        """
        self.input_metadata = inputs
        return self._feeds(inputs, self._options, self._shapes)

    def __iter__(self) -> Iterator[Feed]:
        return iter(self(self._known_inputs()))

    def __getitem__(self, index: int) -> Feed:
        """Return the feed of one iteration.

        Args:
            index: From 0 to the number of iterations less one.

        Raises:
            IndexError: There is no such iteration.
            UsageError: The inputs are not known yet.
        """
        place = operator.index(index)
        if not 0 <= place < self._options.iterations:
            raise IndexError(f"there is no iteration {place}: there are {self._options.iterations}")
        alone = replace(self._options, seed=self._options.seed + place, iterations=1)
        shapes = self._shapes[place % len(self._shapes)]
        return next(iter(self._feeds(self._known_inputs(), alone, [shapes])))

    def _known_inputs(self) -> TensorMetadata:
        if self.input_metadata is None:
            raise UsageError("a DataLoader needs to know the inputs", hint="DataLoader(input_metadata=…)")
        return self.input_metadata

    def _feeds(self, inputs: TensorMetadata, options: RandomOptions, shapes: Sequence[Shapes]) -> Iterable[Feed]:
        from polycmp.data import feeds_in_turn, make_random, merge_inputs

        known_shapes = {
            name: entry.static_shape() for name, entry in self._given.items() if entry.shape and not entry.is_dynamic()
        }
        types = {name: entry.dtype for name, entry in self._given.items() if entry.dtype is not None}
        merged = merge_inputs([inputs, TensorMetadata({n: self._given[n] for n in self._given if n in inputs})])
        typed = TensorMetadata({name: _typed(entry, pick(types, name, None)) for name, entry in merged.items()})
        turns = [{**known_shapes, **item} for item in shapes]
        return feeds_in_turn(make_random(options), typed, turns, dimensions=self._dimensions)


def _typed(entry: Any, dtype: Any) -> Any:
    return entry if dtype is None else replace(entry, dtype=dtype)


def _whole_range(bounds: Sequence[float | None]) -> tuple[float, float]:
    """Return a range in which None became 0 or 1."""
    low, high = bounds
    return (0.0 if low is None else low, 1.0 if high is None else high)

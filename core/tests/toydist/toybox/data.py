"""Input data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from polycmp.tensors import LabelledFeed, TensorMetadata
from toybox.plugin import EdgesOptions, RampOptions


def make_ramp(options: RampOptions) -> Callable[[TensorMetadata], Iterable[dict[str, Any]]]:
    """Return the data loader of numbers that rise evenly."""

    def load(inputs: TensorMetadata) -> Iterable[dict[str, Any]]:
        for start in range(options.count):
            feed = {}
            for name, entry in inputs.items():
                shape = entry.static_shape(3)
                feed[name] = (np.arange(np.prod(shape)) * options.step + start).reshape(shape).astype(entry.dtype)
            yield feed

    return load


def make_edges(options: EdgesOptions) -> Callable[[TensorMetadata], Iterable[LabelledFeed]]:
    """Return the data loader of constant inputs that say which number they hold; open dimensions are 5."""

    def load(inputs: TensorMetadata) -> Iterable[LabelledFeed]:
        for value in options.values:
            arrays = {name: np.full(entry.static_shape(5), value, entry.dtype) for name, entry in inputs.items()}
            yield LabelledFeed(arrays, f"all {value:g}", {"edges-values": [value]})

    return load

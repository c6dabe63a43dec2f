"""Input data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from polycmp.tensors import TensorMetadata
from toybox.plugin import RampOptions


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

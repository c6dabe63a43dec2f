"""Effect of rounding to steps on a part of a model, measured: the reference runs it on rounded tensors and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import weight_values
from polycmp.layerwise import PartitionedRun
from polycmp.precision import UNITS
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.rounding.masks import beside_masks

#: To the nearest step as quantisers do, then up or down at random, so that one chance does not speak for all.
_DRAWS = (None, 0, 1, 2)


def requantised(reference: PartitionedRun, node: PartNode, inputs: Mapping[str, Any]) -> Iterator[NDArray[Any]]:
    """Yield the reference's results for tensors and weights that are rounded to steps.

    The steps are the finest that hold each tensor with one scale, on both sides of 0 alike for weights, as quantisers
    make them: the candidate's own are not trusted. Types of fewer than 8 bits count as 8 bits, because their steps are
    made for blocks.

    Args:
        reference: The backend to believe.
        node: The part.
        inputs: Inputs of the part, from the reference.
    """
    levels = 1.0 / min(node.unit, UNITS["int8"]) - 1.0
    weights = weight_values(reference.graph, node.weights)
    for seed in _DRAWS:
        rng = None if seed is None else np.random.default_rng(seed)
        feed = {name: _in_steps(to_numpy(array), levels, rng) for name, array in inputs.items()}
        feed |= {name: _in_steps(array, levels, rng, both=True) for name, array in weights.items()}
        made = reference.run_part(feed, list(node.outputs))
        if made is None:
            return
        yield to_numpy(made[node.outputs[0]])


def _in_steps(
    array: NDArray[Any], levels: float, rng: np.random.Generator | None, *, both: bool = False
) -> NDArray[Any]:
    """Return real numbers as multiples of the step that gives so many levels from the smallest to the largest.

    Args:
        array: The numbers; others, and those beside masks, stay as they are.
        levels: Number of steps; 0 is one of them.
        rng: Says which of the two steps around a number becomes it; the nearer one if it is None.
        both: Whether there are as many steps below 0 as above.
    """
    if not is_floating(dtype_of(array)) or not array.size or beside_masks(array.reshape(-1)) is not None:
        return array
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    step = (2.0 * max(high, -low) if both else high - low) / levels
    if not 0.0 < step < np.inf:
        return array
    places = array.astype(np.float64) / step
    places = np.rint(places) if rng is None else np.floor(places + rng.random(places.shape))
    return (places * step).astype(array.dtype)

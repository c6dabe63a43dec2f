"""Effect of rounding to steps on a part of a model, measured: the reference runs it on rounded tensors and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import weight_values
from polycmp.judging import beside_masks
from polycmp.layerwise import PartitionedRun
from polycmp.precision import UNITS
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_locate.pairing.parts import PartNode

#: To the nearest step as quantisers do, then up or down at random, so that one chance does not speak for all.
_DRAWS = (None, 0, 1, 2)


def requantised(reference: PartitionedRun, node: PartNode, inputs: Mapping[str, Any]) -> Iterator[NDArray[Any]]:
    """Yield the reference's results for tensors and weights that are rounded to steps.

    The steps are the finest that hold each tensor with one scale, on both sides of 0 alike for weights, as quantisers
    make them: the candidate's own are not trusted, but for those of what the part reads, which a calibration may have
    made coarser than these numbers need. Weights of fewer than 8 bits have steps for each block of them; nothing is
    yielded where the candidate's operator does not say how large blocks are. All else counts as 8 bits.

    Args:
        reference: The backend to believe.
        node: The part.
        inputs: Inputs of the part, from the reference.
    """
    levels = 1.0 / min(node.unit, UNITS["int8"]) - 1.0
    in_blocks = node.unit > UNITS["int8"]
    block = int(node.attributes.get("block_size", 0)) if in_blocks else 0
    weights = weight_values(reference.graph, node.weights)
    if in_blocks and not (block and any(is_floating(array.dtype) for array in weights.values())):
        return  # the reference holds codes itself, or they lie further up
    for seed in _DRAWS:
        rng = None if seed is None else np.random.default_rng(seed)
        feed = {
            name: _in_steps(to_numpy(array), levels, rng, least=node.steps.get(name, 0.0))
            for name, array in inputs.items()
        }
        for name, array in weights.items():
            feed[name] = (
                _in_blocks(array, block, node.unit, rng)
                if block > 0 and array.ndim == 2 and is_floating(array.dtype)
                else _folded_in_steps(array, node.folded.get(name), levels, rng)
            )
        outputs = reference.run_part(feed, list(node.outputs))
        if outputs is None:
            return
        yield to_numpy(outputs[node.outputs[0]])


def _in_steps(
    array: NDArray[Any], levels: float, rng: np.random.Generator | None, *, both: bool = False, least: float = 0.0
) -> NDArray[Any]:
    """Return real numbers as multiples of the step that gives so many levels from the smallest to the largest.

    Args:
        array: The numbers; others, and those beside masks, stay as they are.
        levels: Number of steps; 0 is one of them.
        rng: Says which of the two steps around a number becomes it; the nearer one if it is None.
        both: Whether there are as many steps below 0 as above.
        least: The least size of a step.
    """
    if not is_floating(dtype_of(array)) or not array.size or beside_masks(array, array) is not None:
        return array
    low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
    step = max((2.0 * max(high, -low) if both else high - low) / levels, least)
    if not 0.0 < step < np.inf:
        return array
    return (_rounded(array.astype(np.float64) / step, rng) * step).astype(array.dtype)


def _folded_in_steps(
    array: NDArray[Any], factors: NDArray[np.float64] | None, levels: float, rng: np.random.Generator | None
) -> NDArray[Any]:
    """Return weights as multiples of a step that they have once each slice is multiplied by a factor of its own."""
    if factors is None or array.shape[:1] != factors.shape or not factors.all() or not is_floating(array.dtype):
        return _in_steps(array, levels, rng, both=True)
    by_slice = factors.reshape(factors.shape + (1,) * (array.ndim - 1))
    return (_in_steps(array.astype(np.float64) * by_slice, levels, rng, both=True) / by_slice).astype(array.dtype)


def _in_blocks(array: NDArray[Any], block: int, unit: float, rng: np.random.Generator | None) -> NDArray[Any]:
    """Return a matrix of weights as multiples of steps that each block along its first axis has for itself.

    Args:
        array: The weights.
        block: Numbers in a block.
        unit: Half a step, relative to the largest magnitude of a block.
        rng: As for `_in_steps`.
    """
    wide = np.pad(array.astype(np.float64), ((0, -array.shape[0] % block), (0, 0)))
    blocks = wide.reshape(-1, block, array.shape[1])
    steps = 2.0 * unit * np.abs(blocks).max(axis=1, keepdims=True)
    steps[steps == 0.0] = 1.0
    requantised_blocks: NDArray[Any] = (_rounded(blocks / steps, rng) * steps).reshape(wide.shape)
    return requantised_blocks[: array.shape[0]].astype(array.dtype)


def _rounded(places: NDArray[np.float64], rng: np.random.Generator | None) -> NDArray[np.float64]:
    return np.rint(places) if rng is None else np.floor(places + rng.random(places.shape))

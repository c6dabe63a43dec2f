"""Search for layers of a model that are wrong by themselves, on the tensors of the model it was made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError
from polycmp.layerwise import PartitionedRun
from polycmp.runs import ResolvedBackend
from polycmp.tensors import Feed
from polycmp_locate.precision.rank.alone import Tensors, chunks_of, make_alone, shown
from polycmp_locate.precision.rank.figures import ratio_db

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer, Mixer

#: Rounding to these types leaves at least so many dB; below, a layer is suspected.
_ROUNDING_DB = {"float64": 200.0, "float32": 90.0, "float16": 45.0, "bfloat16": 28.0}
#: The same for a layer that has quantised operators.
_QUANTISED_DB = 12.0


def errors_alone(
    mixer: Mixer, reference_run: PartitionedRun, backend: ResolvedBackend, feed: Feed, on_stage: Callable[[str], None]
) -> list[float]:
    """Return for each layer the signal-to-noise ratio in dB of what it makes of the source's tensors.

    It is minus infinity for another shape, other whole numbers, or a layer that cannot be run.

    Args:
        mixer: The models.
        reference_run: Run of the source.
        backend: Backend that runs the other model.
        feed: The inputs.
        on_stage: Told what happens next.

    Raises:
        ModelError: The source cannot be run with these outputs.
    """
    found: list[float] = []
    fed = set(reference_run.graph.inputs)
    for chunk in chunks_of(mixer.layers, reference_run.graph, feed):
        on_stage(f"running layers one by one, from {chunk[0].label} on")
        names = dict.fromkeys(name for layer in chunk for name in (*layer.inputs, *layer.outputs) if name not in fed)
        expected = {**feed, **shown(reference_run, feed, list(names))}
        made = _works(mixer, backend, chunk, expected)
        found += [_ratio(layer, expected, made) for layer in chunk]
    return found


def is_suspect(mixer: Mixer, layer: Layer, ratio: float) -> bool:
    """Return whether a layer's error is more than rounding in its types explains.

    Args:
        mixer: The models.
        layer: The layer.
        ratio: Signal-to-noise ratio of the layer in dB.
    """
    types = {mixer.dtype_of(name).name for name in (*layer.inputs, *layer.outputs) if mixer.is_real(name)}
    limit = min((_ROUNDING_DB.get(name, 90.0) for name in types), default=90.0)
    if any("Quantize" in node.op_type or "Integer" in node.op_type for node in mixer.reduced_nodes(layer)):
        limit = _QUANTISED_DB
    return ratio < limit


def _works(mixer: Mixer, backend: ResolvedBackend, layers: Sequence[Layer], expected: Tensors) -> dict[str, Any]:
    """Return the outputs of layers; those that cannot be run, and keep others from running, are found by halving."""
    try:
        return make_alone(mixer, backend, layers, expected)
    except ModelError:
        if len(layers) == 1:
            return {}
    middle = len(layers) // 2
    first, second = (_works(mixer, backend, part, expected) for part in (layers[:middle], layers[middle:]))
    return {**first, **second}


def _ratio(layer: Layer, expected: Tensors, made: Tensors) -> float:
    return min((_one(expected[name], made.get(name)) for name in layer.outputs), default=math.inf)


def _one(expected: Any, made: Any) -> float:
    if made is None or np.shape(expected) != np.shape(made):
        return -math.inf
    if np.asarray(expected).dtype.kind in "fV":
        return ratio_db(expected, made)
    return math.inf if np.array_equal(expected, made) else -math.inf

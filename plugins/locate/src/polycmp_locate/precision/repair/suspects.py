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
from polycmp_locate.precision.rank.alone import Tensors, chunks_of, inner_tensors, run_alone
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
    """Measure each layer's signal-to-noise ratio in dB on the source's tensors.

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
    ratios: list[float] = []
    fed = set(reference_run.graph.inputs)
    for chunk in chunks_of(mixer.layers, reference_run.graph, feed):
        on_stage(f"running layers one by one, from {chunk[0].label} on")
        names = dict.fromkeys(name for layer in chunk for name in (*layer.inputs, *layer.outputs) if name not in fed)
        expected = {**feed, **inner_tensors(reference_run, feed, list(names))}
        outputs = _runnable_outputs(mixer, backend, chunk, expected)
        ratios += [_ratio(layer, expected, outputs) for layer in chunk]
    return ratios


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


def _runnable_outputs(
    mixer: Mixer, backend: ResolvedBackend, layers: Sequence[Layer], expected: Tensors
) -> dict[str, Any]:
    """Run layers, halving them until those that cannot be run are alone; return the outputs of the others."""
    try:
        return run_alone(mixer, backend, layers, expected)
    except ModelError:
        if len(layers) == 1:
            return {}
    middle = len(layers) // 2
    first, second = (_runnable_outputs(mixer, backend, part, expected) for part in (layers[:middle], layers[middle:]))
    return {**first, **second}


def _ratio(layer: Layer, expected: Tensors, outputs: Tensors) -> float:
    return min((_output_ratio(expected[name], outputs.get(name)) for name in layer.outputs), default=math.inf)


def _output_ratio(expected: Any, output: Any) -> float:
    if output is None or np.shape(expected) != np.shape(output):
        return -math.inf
    if np.asarray(expected).dtype.kind in "fV":
        return ratio_db(expected, output)
    return math.inf if np.array_equal(expected, output) else -math.inf

"""Runs of single layers of a reduced model on the reference's tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError
from polycmp.graph import ModelGraph
from polycmp.layerwise import PartitionedRun
from polycmp.results import BackendResult
from polycmp.runs import BackendRun, ResolvedBackend
from polycmp.tensors import Feed, TensorMetadata, is_size, to_numpy

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer, Mixer

Tensors = Mapping[str, Any]
#: Bytes of the reference's tensors that are held at the same time.
_MAX_BYTES = 256 << 20


def chunks_of(layers: Sequence[Layer], graph: ModelGraph, feed: Feed) -> Iterator[list[Layer]]:
    """Yield layers in their order, as many at a time as have tensors that take no more than the budget.

    Args:
        layers: The layers.
        graph: The float model.
        feed: Inputs of the model.
    """
    sizes = _sizes(graph, feed)
    chunk: list[Layer] = []
    used = 0
    for layer in layers:
        need = sum(sizes.get(name, 1 << 20) for name in {*layer.inputs, *layer.outputs})
        if chunk and used + need > _MAX_BYTES:
            yield chunk
            chunk, used = [], 0
        chunk.append(layer)
        used += need
    if chunk:
        yield chunk


def inner_tensors(partitioned_run: PartitionedRun, feed: Feed, names: Sequence[str]) -> dict[str, Any]:
    """Return tensors inside a model.

    Args:
        partitioned_run: Run of the backend.
        feed: Inputs of the model.
        names: The tensors.

    Raises:
        ModelError: The backend does not show all of them.
    """
    outputs = partitioned_run.run_whole(feed, names)
    if outputs is None or not all(name in outputs for name in names):
        raise ModelError(
            "does not show the tensors between the layers",
            whose=partitioned_run.label,
            why=partitioned_run.result.error or "some are missing from its outputs",
            hint="polycmp run MODEL -b BACKEND: does it run at all?",
        )
    return {name: to_numpy(outputs[name]) for name in names}


def run_alone(mixer: Mixer, backend: ResolvedBackend, layers: Sequence[Layer], expected: Tensors) -> dict[str, Any]:
    """Run each layer of the reduced model on the reference's tensors; return its outputs, by name in the float model.

    Args:
        mixer: The models.
        backend: Backend that runs the reduced model.
        layers: The layers.
        expected: The reference's tensors.

    Raises:
        ModelError: The backend cannot run them so.
    """
    from polycmp_locate.precision.mixed import LoadedModel

    forced = mixer.forced(layers)
    feed = {model_name: _as(mixer.dtype_of(name), expected[name]) for model_name, name in forced.inputs.items()}
    for value in forced.model.graph.input:  # engines are built for shapes, and these are known
        value.type.tensor_type.ClearField("shape")
        value.type.tensor_type.shape.SetInParent()
        for size in feed[value.name].shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
    scratch = BackendResult(label=backend.label, backend=backend.plan.backend)
    live = BackendRun(scratch, lambda: backend.make_runner(LoadedModel(forced.model), False), backend.needs)
    live.activate()
    outputs = live.infer(feed) if live.is_active else None
    if outputs is None:
        raise ModelError("the layers cannot be run one by one", whose=scratch.label, why=scratch.error)
    copies = {name: np.array(to_numpy(outputs[model_name])) for name, model_name in forced.outputs.items()}
    live.deactivate()
    return copies


def _as(dtype: Any, array: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(to_numpy(array).astype(dtype, copy=False)).reshape(np.shape(array))


def _sizes(graph: ModelGraph, feed: Feed) -> dict[str, int]:
    """Return about how many bytes each tensor takes whose shape is known."""
    sizes = {}
    for name, entry in graph.types(TensorMetadata.from_feed_dict(feed)).items():
        known = [size for size in entry.shape or () if is_size(size)]
        if entry.shape is not None and len(known) == len(entry.shape):
            sizes[name] = math.prod(known) * 4
    return sizes

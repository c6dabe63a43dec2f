"""The figures of every layer, from three runs of whole models: of both, and of the reduced one with layers apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import ModelError
from polycmp.graph import ModelGraph
from polycmp.results.outcome import BackendResult
from polycmp.runs.backend_run import LiveRun
from polycmp.runs.resolve import ResolvedBackend
from polycmp.tensors import Feed, TensorMetadata, dtype_of, to_numpy
from polycmp_layerwise.partitioned_run import Lane
from polycmp_locate.rank.codes import codes_of, steps_of
from polycmp_locate.rank.figures import peak_channel, powers, ratio_db
from polycmp_locate.rank.result import LayerFigures
from polycmp_locate.rank.shares import estimate_shares

if TYPE_CHECKING:
    from polycmp_onnx.mixed import Layer, Mixer

Tensors = Mapping[str, Any]

#: Bytes of the reference's tensors that are held at the same time.
_BUDGET = 256 << 20
#: A layer whose operators and types look alike still counts where its error is larger than this, in dB.
_EXACT_DB = 100.0


class Measurer:
    """Runs both models with the tensors between layers as outputs.

    Args:
        mixer: The models.
        reference: The run to believe, of the float model.
        candidate: The run of the reduced model.
        backend: The candidate's backend.
        feed: The inputs.
        on_stage: Told what happens next.

    Attributes:
        runs: How many runs of a whole model it took.
    """

    def __init__(
        self,
        mixer: Mixer,
        reference: Lane,
        candidate: Lane,
        backend: ResolvedBackend,
        feed: Feed,
        on_stage: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.runs = 0
        self._mixer, self._reference, self._candidate = mixer, reference, candidate
        self._backend, self._feed, self._on_stage = backend, feed, on_stage

    def figures(self) -> list[LayerFigures]:
        """Return the figures of the layers that the smaller type concerns, in the model's order.

        Raises:
            ModelError: A backend cannot run its model with these outputs.
        """
        found = []
        chunks = list(self._chunks())
        for number, chunk in enumerate(chunks, start=1):
            self._on_stage(f"measuring layers, part {number} of {len(chunks)}")
            found += self._measure(chunk)
        estimate_shares(found, self._reference.graph.outputs)
        return [item for item in found if item.layer.reduced or not (item.own > _EXACT_DB)]

    def _chunks(self) -> Iterator[list[Layer]]:
        """Yield layers whose tensors together take no more than the budget."""
        sizes = _sizes(self._reference.graph, self._feed)
        chunk: list[Layer] = []
        taken = 0
        for layer in self._mixer.layers:
            if not self._has_numbers(layer):
                continue
            need = sum(sizes.get(name, 1 << 20) for name in {*layer.inputs, *layer.outputs})
            if chunk and taken + need > _BUDGET:
                yield chunk
                chunk, taken = [], 0
            chunk.append(layer)
            taken += need
        if chunk:
            yield chunk

    def _has_numbers(self, layer: Layer) -> bool:
        return any(self._mixer.is_real(name) for name in layer.outputs)

    def _measure(self, layers: Sequence[Layer]) -> list[LayerFigures]:
        fed = set(self._reference.graph.inputs)
        names = dict.fromkeys(name for layer in layers for name in (*layer.inputs, *layer.outputs) if name not in fed)
        expected = {**self._feed, **_shown(self._reference, self._feed, list(names))}
        pairs = self._mixer.pairs
        shown = _shown(self._candidate, self._feed, [pairs[name] for name in names])
        self.runs += 3
        self._mixer.note_types({name: dtype_of(array) for name, array in shown.items()})
        arrived = {**self._feed, **{name: shown[pairs[name]] for name in names}}
        alone = self._alone(layers, expected)
        return [self._one(layer, expected, arrived, alone) for layer in layers]

    def _one(self, layer: Layer, expected: Tensors, arrived: Tensors, alone: Tensors) -> LayerFigures:
        real = [name for name in layer.outputs if self._mixer.is_real(name)]
        steps = [steps_of(self._mixer, name, expected[name], alone[name]) for name in real]
        known = [item for item in steps if item is not None]
        peaks = [peak_channel(np.asarray(expected[name])) for name in layer.inputs if self._mixer.is_real(name)]
        return LayerFigures(
            layer,
            own=min(ratio_db(expected[name], alone[name]) for name in real),
            accumulated=min(ratio_db(expected[name], arrived[name]) for name in real),
            powers={name: powers(expected[name], alone[name], arrived[name]) for name in real},
            codes=codes_of(self._mixer, layer, expected),
            one_step=max((item[0] for item in known), default=None),
            more_steps=max((item[1] for item in known), default=None),
            peak=max((item for item in peaks if item), key=lambda item: item[1] / (item[2] or 1.0), default=None),
        )

    def _alone(self, layers: Sequence[Layer], expected: Tensors) -> dict[str, Any]:
        """Return what each layer of the reduced model makes of the reference's tensors, by name in the float model."""
        from polycmp_onnx.mixed import Made

        forced, backend = self._mixer.forced(layers), self._backend
        feed = {own: self._fed(name, expected[name]) for own, name in forced.inputs.items()}
        for value in forced.model.graph.input:  # engines are built for shapes, and these are known
            value.type.tensor_type.ClearField("shape")
            for size in feed[value.name].shape:
                value.type.tensor_type.shape.dim.add().dim_value = size
        scratch = BackendResult(label=backend.label, backend=backend.plan.backend)
        live = LiveRun(scratch, lambda: backend.make_runner(Made(forced.model), False), backend.needs)
        live.activate()
        made = live.infer(feed) if live.is_active else None
        if made is None:
            raise ModelError("the layers cannot be run one by one", whose=scratch.label, why=scratch.error)
        kept = {name: np.array(to_numpy(made[own])) for name, own in forced.outputs.items()}
        live.deactivate()
        return kept

    def _fed(self, name: str, array: Any) -> Any:
        """Return the reference's tensor in the type that the reduced model gives it."""
        with np.errstate(all="ignore"):
            return np.ascontiguousarray(to_numpy(array).astype(self._mixer.dtype_of(name), copy=False))


def _shown(lane: Lane, feed: Feed, names: Sequence[str]) -> dict[str, Any]:
    made = lane.run_whole(feed, names)
    if made is None or not all(name in made for name in names):
        raise ModelError(
            "does not show the tensors between the layers",
            whose=lane.label,
            why=lane.result.error or "some are missing from its outputs",
            hint="polycmp run MODEL -b BACKEND: does it run at all?",
        )
    return {name: to_numpy(made[name]) for name in names}


def _sizes(graph: ModelGraph, feed: Feed) -> dict[str, int]:
    """Return about how many bytes each tensor takes whose shape is known."""
    sizes = {}
    for name, entry in graph.types(TensorMetadata.from_feed_dict(feed)).items():
        known = [size for size in entry.shape or () if isinstance(size, int) and size >= 0]
        if entry.shape is not None and len(known) == len(entry.shape):
            sizes[name] = math.prod(known) * 4
    return sizes

"""The figures of every layer, from three runs of whole models: of both, and of the reduced one with layers apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from polycmp.runs.resolve import ResolvedBackend
from polycmp.tensors import Feed, dtype_of
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_locate.rank.alone import Tensors, chunks_of, make_alone, shown
from polycmp_locate.rank.codes import codes_of, steps_of
from polycmp_locate.rank.figures import peak_channel, powers, ratio_db
from polycmp_locate.rank.result import LayerFigures
from polycmp_locate.rank.shares import estimate_shares

if TYPE_CHECKING:
    from polycmp_onnx.mixed import Layer, Mixer

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
        reference: PartitionedRun,
        candidate: PartitionedRun,
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
        wanted = [layer for layer in self._mixer.layers if any(map(self._mixer.is_real, layer.outputs))]
        chunks = list(chunks_of(wanted, self._reference.graph, self._feed))
        for number, chunk in enumerate(chunks, start=1):
            self._on_stage(f"measuring layers, part {number} of {len(chunks)}")
            found += self._measure(chunk)
        estimate_shares(found, self._reference.graph.outputs)
        return [item for item in found if item.layer.reduced or not (item.own > _EXACT_DB)]

    def _measure(self, layers: Sequence[Layer]) -> list[LayerFigures]:
        fed = set(self._reference.graph.inputs)
        names = dict.fromkeys(name for layer in layers for name in (*layer.inputs, *layer.outputs) if name not in fed)
        expected = {**self._feed, **shown(self._reference, self._feed, list(names))}
        pairs = self._mixer.pairs
        given = shown(self._candidate, self._feed, [pairs[name] for name in names])
        self.runs += 3
        self._mixer.note_types({name: dtype_of(array) for name, array in given.items()})
        arrived = {**self._feed, **{name: given[pairs[name]] for name in names}}
        alone = make_alone(self._mixer, self._backend, layers, expected)
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

"""The figures of every layer, from runs of whole models: of both, and of the reduced one with its layers apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.layerwise import PartitionedRun
from polycmp.runs import ResolvedBackend
from polycmp.tensors import Feed, dtype_of
from polycmp_locate.precision.rank.alone import Tensors, chunks_of, inner_tensors, run_alone
from polycmp_locate.precision.rank.codes import codes_of, steps_of
from polycmp_locate.precision.rank.figures import noise, peak_channel, powers, ratio_db
from polycmp_locate.precision.rank.result import LayerFigures
from polycmp_locate.precision.rank.shares import estimate_shares

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer, Mixer

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
        runs: Number of runs of the reduced model; all of its layers alone, once each, are one.
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
        self._figures: list[LayerFigures] = []
        self._mixer, self._reference, self._candidate = mixer, reference, candidate
        self._backend, self._feed, self._on_stage = backend, feed, on_stage

    def figures(self) -> list[LayerFigures]:
        """Return the figures of the layers that the smaller type concerns, in the model's order.

        The accumulated error is left open where the types of the reduced model's tensors are known without a run.

        Raises:
            ModelError: A backend cannot run its model with these outputs.
        """
        figures = []
        real_layers = [layer for layer in self._mixer.layers if any(map(self._mixer.is_real, layer.outputs))]
        chunks = list(chunks_of(real_layers, self._reference.graph, self._feed))
        for number, chunk in enumerate(chunks, start=1):
            self._on_stage(f"measuring layers, part {number} of {len(chunks)}")
            figures += self._measure(chunk)
        self._figures = figures
        return [item for item in figures if item.layer.reduced or not (item.layer_ratio > _EXACT_DB)]

    def _measure(self, layers: Sequence[Layer]) -> list[LayerFigures]:
        names = self._names(layers)
        expected = {**self._feed, **inner_tensors(self._reference, self._feed, names)}
        if not all(map(self._mixer.knows_type, names)):
            arrays = self._reduced_tensors(names)
            self._mixer.note_types({self._mixer.pairs[name]: dtype_of(array) for name, array in arrays.items()})
        self.runs += 1
        alone = run_alone(self._mixer, self._backend, layers, expected)
        return [self._figures_of(layer, expected, alone) for layer in layers]

    def arrive(self) -> None:
        """Set what arrives through the reduced model at all layers, and the shares that can be estimated with it.

        Raises:
            ModelError: A backend cannot run its model with these outputs.
        """
        by_layer = {item.layer: item for item in self._figures}  # exact ones, too: errors arrive through them
        for chunk in chunks_of([item.layer for item in self._figures], self._reference.graph, self._feed):
            names = self._names(chunk)
            expected = {**self._feed, **inner_tensors(self._reference, self._feed, names)}
            arrived = {**self._feed, **self._reduced_tensors(names)}
            for item in map(by_layer.__getitem__, chunk):
                ratios = (ratio_db(expected[name], arrived[name]) for name in item.powers)
                item.accumulated = min(ratios, default=item.accumulated)
                item.powers = {
                    name: replace(known, arrived=noise(expected[name], arrived[name]))
                    for name, known in item.powers.items()
                }
        estimate_shares(self._figures, self._reference.graph.outputs)

    def _names(self, layers: Sequence[Layer]) -> list[str]:
        fed = set(self._reference.graph.inputs)
        names = (name for layer in layers for name in (*layer.inputs, *layer.outputs))
        return list(dict.fromkeys(name for name in names if name not in fed))

    def _reduced_tensors(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the reduced model's tensors by their names in the float model."""
        self.runs += 1
        pairs = self._mixer.pairs
        arrays = inner_tensors(self._candidate, self._feed, [pairs[name] for name in names])
        return {name: arrays[pairs[name]] for name in names}

    def _figures_of(self, layer: Layer, expected: Tensors, alone: Tensors) -> LayerFigures:
        real = [name for name in layer.outputs if self._mixer.is_real(name)]
        steps = [steps_of(self._mixer, name, expected[name], alone[name]) for name in real]
        known = [item for item in steps if item is not None]
        peaks = [peak_channel(np.asarray(expected[name])) for name in layer.inputs if self._mixer.is_real(name)]
        return LayerFigures(
            layer,
            layer_ratio=min(ratio_db(expected[name], alone[name]) for name in real),
            powers={name: powers(expected[name], alone[name]) for name in real},
            codes=codes_of(self._mixer, layer, expected),
            one_step=max((item[0] for item in known), default=None),
            more_steps=max((item[1] for item in known), default=None),
            peak=max((item for item in peaks if item), key=lambda item: item[1] / (item[2] or 1.0), default=None),
        )

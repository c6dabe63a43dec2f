"""ONNX Runtime with faults between operators, made of the backend `faulty`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.graph import GraphNode, ModelGraph
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.options import make_options
from polycmp.runner import Runner
from polycmp_checks.faulty import FaultyRunner

if TYPE_CHECKING:
    from polycmp_truth.plugin import RaceOptions, TogetherOptions


class TogetherRunner(FaultyRunner):
    """Goes wrong at an operator only where the tensor it reads is not looked at.

    Args:
        graph: Gives the model as a graph.
        make: Makes ONNX Runtime's runner for what a loader gives.
        options: Which tensor is wrong, and which one a fused kernel would not keep.
        name: The label in reports.
        fault: What goes wrong: a fault of the backend faulty.
    """

    def __init__(
        self,
        graph: Callable[[], ModelGraph],
        make: Callable[[Loader[Any]], Runner],
        options: TogetherOptions | RaceOptions,
        name: str,
        fault: str = "row-noise",
    ) -> None:
        super().__init__(graph, make, fault, options.at, name, whole=False)
        self._inside = options.inside

    def activate_impl(self) -> None:
        """Load the graph; without the pair, or with what is between them as an output, nothing goes wrong."""
        super().activate_impl()
        made = {name for node in self._graph.nodes for name in node.outputs}
        if self._inside and (self._inside not in made or self._inside in self._graph.outputs):
            self._node = None


class RaceRunner(TogetherRunner):
    """Makes one tensor another one in each run; with a tensor inside, only where that is not looked at.

    Args:
        graph: Gives the model as a graph.
        make: Makes ONNX Runtime's runner for what a loader gives.
        options: Which tensor, and by how much.
        name: The label in reports.
    """

    def __init__(
        self, graph: Callable[[], ModelGraph], make: Callable[[Loader[Any]], Runner], options: RaceOptions, name: str
    ) -> None:
        super().__init__(graph, make, options, name)
        self._share = options.share

    def _faulty(self, node: GraphNode, given: Mapping[str, Any]) -> dict[str, Any]:
        made = self._run("node", given, node.outputs)
        rng = np.random.default_rng()  # no seed: as no race has one
        return {
            name: (array * (1 + self._share * rng.uniform(-1, 1, array.shape))).astype(array.dtype)
            for name, array in made.items()
        }


def _parts(model: Model, name: str) -> tuple[Callable[[], ModelGraph], Callable[[Loader[Any]], Runner]]:
    contribution = model.registry.find_runner("onnxrt")
    inner = make_options(contribution.spec.options, {}, "onnxrt")

    def graph() -> ModelGraph:
        found = model.graph()
        assert found is not None, "these backends run ONNX models only"
        return found

    def make(loader: Loader[Any]) -> Runner:
        runner: Runner = model.registry.load(contribution)(model.part(loader), inner, name=name)
        return runner

    return graph, make


def make_together(model: Model, options: TogetherOptions, *, name: str) -> TogetherRunner:
    """Return the backend `together`."""
    return TogetherRunner(*_parts(model, name), options, name, options.fault)


def make_race(model: Model, options: RaceOptions, *, name: str) -> RaceRunner:
    """Return the backend `race`."""
    return RaceRunner(*_parts(model, name), options, name)

"""The backend `faulty`: another backend, with a fault at one operator.

The model is cut into three parts: what comes before the operator, the operator alone, and what comes after it. The
wrapped backend runs all three; the fault changes what the operator reads or makes on the way between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.errors import BackendError, UsageError, did_you_mean
from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import static_tensors
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.options import make_options
from polycmp.plan import options_from_texts
from polycmp.runner import Runner
from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, dtype_of, to_numpy
from polycmp_checks.faults import ON_INPUT, ON_OUTPUTS, ROUNDING, concerns, end_fatally, spoil
from polycmp_checks.plugin import FaultyOptions

Arrays = dict[str, Any]
#: Beginning of the note that a fault had no effect on the tensors of the operator.
NO_EFFECT = "the fault changed no number"


class FaultyRunner(Runner):
    """Runs a model on another backend and goes wrong at one operator.

    Args:
        graph: Gives the model as a graph.
        make: Makes the wrapped backend's runner for what a loader gives.
        fault: Kind of fault, a key of `polycmp_checks.plugin.FAULTS`.
        at: The operator: its name, or a tensor that it makes.
        name: The label in reports.
        whole: Whether the graph is the whole model, so that the operator must be in it; a part may lack it.
    """

    def __init__(
        self,
        graph: Callable[[], ModelGraph],
        make: Callable[[Loader[Any]], Runner],
        fault: str,
        at: str,
        name: str = "",
        *,
        whole: bool = True,
    ) -> None:
        super().__init__(name)
        self._load = graph
        self._make = make
        self._fault = fault
        self._at = at
        self._whole = whole
        self._parts: dict[str, Runner | None] = {}

    def activate_impl(self) -> None:
        """Load the graph and find the operator; parts are made when their inputs are known.

        Raises:
            UsageError: The model has no such operator, or the fault does not concern it.
        """
        self._graph = self._load()
        self._node = find_node(self._graph, self._at, required=self._whole)
        if self._node is not None and not concerns(self._fault, self._node.op_type):
            raise UsageError(
                f"the fault {self._fault!r} does not concern {self._node.label}",
                why=f"only {', '.join(ROUNDING)} have ties",
            )
        self._static = static_tensors(self._graph)
        self._parts = {}

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the graph's input metadata."""
        return self._graph.inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Run the parts one after the other, with the fault between them."""
        graph, node = self._graph, self._node
        if node is None:
            return self._run("whole", feed_dict, graph.outputs)
        known: Arrays = dict(feed_dict)
        reads = [name for name in node.inputs if name not in self._static]
        known.update(self._run("before", known, [name for name in reads if name not in known]))
        arrays = {name: known[name] for name in reads}
        outputs = self._faulty(node, arrays)
        known.update(outputs)
        remaining = [name for name in graph.outputs if name not in known]
        known.update(self._run("behind", known, remaining))
        return {name: known[name] for name in graph.outputs}

    def deactivate_impl(self) -> None:
        """Deactivate the parts."""
        parts, self._parts = self._parts, {}
        for part in parts.values():
            if part is not None:
                part.deactivate()
        del self._graph, self._node, self._static

    def _faulty(self, node: GraphNode, arrays: Arrays) -> Arrays:
        if self._fault not in {**ON_INPUT, **ON_OUTPUTS}:
            end_fatally(self._fault)
        if self._fault in ON_INPUT:
            first = {name: arrays[name] for name in list(arrays)[:1]}
            changed = spoil(self._fault, first)
            self._note(node, first, changed)
            return self._run("node", {**arrays, **changed}, node.outputs)
        outputs = self._run("node", arrays, node.outputs)
        changed = spoil(self._fault, outputs)
        self._note(node, outputs, changed)
        return changed

    def _run(self, part: str, known: Mapping[str, Any], outputs: Sequence[str]) -> Arrays:
        """Run one part on the tensors that it needs."""
        if not outputs:
            return {}
        needed = needed_tensors(self._graph, set(known), outputs)
        feed = {name: known[name] for name in known if name in needed}
        runner = self._parts.get(part)
        if runner is None:
            runner = self._make(self._graph.cut(_open(self._graph, feed), list(outputs)))
            self._parts[part] = runner
            runner.activate()
            self.backend_version = self.backend_version or runner.backend_version
        results = runner.infer(feed)
        return {name: np.array(to_numpy(results[name])) for name in outputs}

    def _note(self, node: GraphNode, before: Arrays, after: Arrays) -> None:
        changed = sum(_differing(before[name], after[name]) for name in before)
        total = sum(to_numpy(array).size for array in before.values())
        what = f"the fault changed {changed} of {total} numbers" if changed else NO_EFFECT
        self.notes[:] = [f"{what} ({self._fault} at {node.label})"]


def _differing(one: Any, other: Any) -> int:
    one, other = to_numpy(one), to_numpy(other)
    changed = np.asarray(one != other)
    if dtype_class(one.dtype) == "float":
        changed &= ~(np.isnan(one) & np.isnan(other))
    return int(np.count_nonzero(changed))


def find_node(graph: ModelGraph, at: str, *, required: bool = True) -> GraphNode | None:
    """Return the operator of a name, or the one that makes a tensor of that name.

    Args:
        graph: The model.
        at: The name.
        required: Whether it is an error if there is none.

    Raises:
        UsageError: There is none, or several have the name.
    """
    by_name = [node for node in graph.nodes if node.name == at]
    nodes = by_name or [node for node in graph.nodes if at in node.outputs]
    if len(nodes) > 1:
        tensors = ", ".join(name for node in nodes for name in node.outputs[:1])
        raise UsageError(f"several operators are called {at!r}", hint=f"name what it makes instead: {tensors}")
    if not nodes and required:
        known = [name for node in graph.nodes for name in (node.name, *node.outputs) if name]
        raise UsageError(f"the model has no operator {at!r}", why=did_you_mean(at, known))
    return nodes[0] if nodes else None


def needed_tensors(graph: ModelGraph, border: set[str], outputs: Iterable[str]) -> set[str]:
    """Return the tensors of the border that the outputs are computed from, going no further back than the border."""
    maker = {name: node for node in graph.nodes for name in node.outputs}
    seen: set[str] = set()
    waiting = list(outputs)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name not in border and name in maker:
            waiting.extend(maker[name].inputs)
    return seen & border


def _open(graph: ModelGraph, feed: Mapping[str, Any]) -> TensorMetadata:
    """Return types and shapes of tensors to feed: the model's inputs as declared, others open in every dimension."""
    entries = {}
    for name, array in feed.items():
        declared = graph.inputs.get(name)
        shape = declared.shape if declared is not None and declared.shape is not None else [-1] * to_numpy(array).ndim
        dims = tuple(dim if isinstance(dim, str) or dim >= 0 else f"{name}_{axis}" for axis, dim in enumerate(shape))
        entries[name] = TensorEntry(dtype_of(array), dims)
    return TensorMetadata(entries)


def make_runner(model: Model, options: FaultyOptions, *, name: str) -> FaultyRunner:
    """Return the backend `faulty` around the one that the options name.

    Raises:
        PluginError: There is no such backend.
        UsageError: It has no such option.
        ModelError: Models of this kind cannot be looked into.
    """
    registry = model.registry
    contribution = registry.find_runner(options.backend)
    spec = contribution.spec
    if options.backend == "faulty" or not registry.tools(contribution).runs_parts:
        raise BackendError("cannot be wrapped", whose=options.backend, why="it does not run parts of a model")
    inner = make_options(
        spec.options, options_from_texts(spec.options, options.wrapped, options.backend), options.backend
    )
    registry.require(contribution)

    def make(loader: Loader[Any]) -> Runner:
        runner: Runner = registry.load(contribution)(model.part(loader), inner, name=name)
        return runner

    return FaultyRunner(model.shown_graph, make, options.fault, options.at, name, whole=not model.is_part)

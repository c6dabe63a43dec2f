"""Whether a model's outputs move with its inputs or weights: where none does, no comparison could have failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.impostors import same_but_rounding
from polycmp.graph import ModelGraph, PerturbableGraph, weight_values
from polycmp.loader import Loader
from polycmp.messages import only_errors
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.loop import Step, copy_feed
from polycmp.runs.resolution import Resolved
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp.runs.trial import quickest, with_plain_model
from polycmp.sentences import UNMOVED, UNMOVED_BY_INPUTS
from polycmp.tensors import Feed, FeedPerRun, dtype_class, to_numpy

Array = NDArray[Any]
Outputs = Mapping[str, Any]
#: What a single number, or a number that is everywhere, is multiplied by to be another one of that size.
_LESS = 0.75
#: A text that is in no table of a model.
_OTHER_TEXT = "\N{REPLACEMENT CHARACTER}"
#: Matrices move by up to half a step of 8 bits, at random, to see whether outputs move by this share at least (choice).
_STEPS, _AT_RANDOM, _LEAST_MOVE = "int8", 2, 2.0**-14
#: Bytes of weights that are moved at most, those that are read last first.
_MOST_WEIGHTS = 1 << 30
#: Bytes of the smallest weight that counts as one of a network (choice).
_MATRIX = 64
#: Operators whose results follow from shapes, whatever the numbers are.
_OF_SHAPES = frozenset({"Shape", "Size", "EyeLike"})


class Sensitivity:
    """Asks of the steps of a run whether any output moves, at the least cost that settles it.

    Three things settle it, in this order: rows of one iteration that differ as the rows of its inputs do; iterations
    that differ; and a backend that is run once more, with other inputs. Where all of these leave the outputs as they
    are, weights are moved, too.

    Args:
        resolved: The backends of the run.
        several: Whether further iterations will follow the first, so that they tell.
        in_windows: Whether the outputs of an iteration come part by part, so that no step has all of them.

    Attributes:
        label: Label of the run whose outputs are looked at; empty before the first step.
    """

    def __init__(self, resolved: Resolved, *, several: bool = False, in_windows: bool = False) -> None:
        self._resolved, self._several, self._in_windows = resolved, several, in_windows
        self._known = {backend.label: backend for backend in resolved.backends}
        self._moves = False
        self.label, self._first = "", dict[str, Any]()
        self._feed: Feed = {}
        self._others = 0
        self._saved: dict[str, bool] = {}
        self._reached: bool | None = None

    def look(self, step: Step) -> list[str]:
        """Look at the outputs of a step, and ask for others where need be.

        Args:
            step: The step; of several windows of an iteration each.

        Returns:
            The labels of the runs of which it is established that no output moved so far.
        """
        for label, outputs in step.outputs.items():
            if label not in self._known and hasattr(outputs, "insensitive"):
                self._saved[label] = bool(outputs.insensitive)
        live = [label for label in step.outputs if label in self._known]
        if self._moves or not live:
            return []
        if any(_rows_differ(step.feed, step.outputs[label]) for label in live):
            self._moves = True
            return []
        if step.index == 0:
            self._begin(step, step.fastest if step.fastest in live else live[-1])
        elif self.label in step.outputs and not self._in_windows:
            self._moves = not _are_unmoved(step.outputs[self.label], self._first)
            self._others += 1
        return [] if self._moves or not self._others or self._reach() else live

    def _begin(self, step: Step, label: str) -> None:
        """Keep the outputs of one run, and compare them with those for other inputs if no iteration will tell."""
        if not self.label:
            feed = step.feed.by_run.get(label, step.feed) if isinstance(step.feed, FeedPerRun) else step.feed
            self.label, self._feed = label, copy_feed(feed)
        if self._in_windows:
            return
        self._first = copy_outputs(step.outputs[label])
        other = None if self._several or not step.fastest else _other_feed(self._feed)
        made = None if other is None else step.again(other)
        if made is not None:
            self._moves = not _are_unmoved(self._first, made)
            self._others += 1

    def explain(self, compared: Iterable[str]) -> str:
        """Explain in words why nothing could have differed; empty if something could.

        A model of which nothing is settled yet is run for it.

        Args:
            compared: Names of the outputs that were compared, in the reference's model.
        """
        if self._moves:
            return ""
        if any(self._saved.values()):
            return UNMOVED
        if self.label and not self._others:
            self._run_beside(frozenset(compared))
        if self._moves or not self._others or self._reach():
            return ""
        known = self._known[self.label].model.graph() is not None
        return UNMOVED if known else UNMOVED_BY_INPUTS

    def _run_beside(self, compared: frozenset[str]) -> None:
        """Compare what the quickest backend makes of the reference's model for the first inputs and for others."""
        model, other = self._resolved.backends[-1].model, _other_feed(self._feed)
        backend = quickest(self._resolved.backends, self._resolved.registry)
        if backend is None or other is None:
            return
        backend = with_plain_model(backend, model)
        made = _outputs(backend, None, [self._feed, other])
        if made is None:
            return
        if not compared <= made[0].keys():  # tensors inside take part, and the first of them moves
            self._moves = True
            return
        self._known[backend.label] = backend
        self.label, self._first = backend.label, dict(made[0])
        self._moves = not _are_unmoved(made[0], made[1])
        self._others += 1

    def _reach(self) -> bool:
        """Return whether outputs depend on shapes or weights alone, or move if weights do: found out once."""
        if self._reached is None:
            backend = self._known[self.label]
            self._reached = not _values_reach(backend.model.graph(), self._first) or _weights_reach(
                backend, self._feed, self._first
            )
        return self._reached


def _rows_differ(feed: Feed, outputs: Outputs) -> bool:
    """Return whether rows of an output differ along the first axis, along which the inputs' do.

    Numbers along that axis come from the inputs: what a model adds of its own spans the last axis or that of channels,
    but for matrices, and outputs that follow matrices show what happens to these.
    """
    arrays = [to_numpy(value) for value in feed.values() if hasattr(value, "dtype")]
    sizes = {array.shape[0] for array in arrays if array.ndim and _have_other_rows(array, rounded=False)}
    made = [to_numpy(array) for array in outputs.values()]
    return any(array.ndim > 1 and array.shape[0] in sizes and _have_other_rows(array, rounded=True) for array in made)


def _have_other_rows(array: Array, *, rounded: bool) -> bool:
    """Return whether the first and the last row of an array differ, if need be by more than rounding."""
    if array.shape[0] < 2 or not array.size or array.dtype.kind in "OUS":
        return False
    one, two = array[0], array[-1]
    return not (same_but_rounding(one, two) if rounded else np.array_equal(one, two, equal_nan=False))


def _other_feed(feed: Feed) -> Feed | None:
    """Return other inputs of the same kind: numbers drawn from those of each input; None where that changes nothing.

    So they lie in the range that is being looked at. Whole numbers, which may be indices, are drawn again only where
    there are no others, and texts where there are no numbers: in place of one text alone comes one that no model knows,
    which a model that does not know the first takes for the same.

    Args:
        feed: Arrays by input.
    """
    arrays = {name: to_numpy(value) for name, value in feed.items() if hasattr(value, "dtype")}
    for kinds in ({"float", "complex"}, {"integer", "bool"}, {"string"}):
        made = {name: _drawn(array) for name, array in arrays.items() if dtype_class(array.dtype) in kinds}
        if any(not _same(array, arrays[name]) for name, array in made.items()):
            return {**feed, **made}
    return None


def _same(one: Array, two: Array) -> bool:
    return bool(np.array_equal(one, two, equal_nan=dtype_class(one.dtype) != "string"))


def _drawn(array: Array) -> Array:
    flat: Array = array.reshape(-1)
    if not flat.size:
        return array
    kind, alike = dtype_class(array.dtype), bool((flat == flat[0]).all())
    if kind in {"float", "complex"} and alike:
        flat = (flat * np.asarray(_LESS, array.dtype)).astype(array.dtype)
    elif kind == "string" and alike:
        flat = np.array([_OTHER_TEXT] * flat.size, object)
    else:
        flat = flat[np.random.default_rng(0).integers(0, flat.size, flat.size)]
    return flat.reshape(array.shape)


def _are_unmoved(made: Outputs, others: Outputs, least: float = 0.0) -> bool:
    """Return whether two sets of outputs are the same but for rounding; nothing is the same where all are empty.

    Args:
        made: Arrays by output.
        others: Those for other inputs.
        least: The share of the largest magnitude by which real numbers have to differ, if that is more than rounding.
    """
    pairs = [(to_numpy(array), to_numpy(others[name])) for name, array in made.items() if name in others]
    known = [(one, two) for one, two in pairs if one.size]
    return bool(known) and all(same_but_rounding(one, two, least) for one, two in known)


def _outputs(backend: ResolvedBackend, loader: Loader[Any] | None, feeds: Sequence[Feed]) -> list[Outputs] | None:
    """Return a backend's outputs for feeds, from a session of its own; None if it cannot run.

    Args:
        backend: The backend.
        loader: Loads what it runs; None for its own model.
        feeds: The inputs.
    """
    run = BackendRun(backend.make_result(), lambda: backend.make_runner(loader), backend.needs)
    with only_errors(), ExitStack() as stack:
        stack.callback(run.deactivate)
        run.activate()
        made = [run.infer_beside(feed) for feed in feeds]
    found = [outputs for outputs in made if outputs is not None]
    return found if len(found) == len(feeds) else None


def _weights_reach(backend: ResolvedBackend, feed: Feed, outputs: Outputs) -> bool:
    """Return whether a model's outputs move if its matrices do, or it has none: a fault inside shows there.

    Args:
        backend: A backend that made the outputs. Where it runs no changed model, outputs of several numbers may move.
        feed: The inputs.
        outputs: Its outputs for them.
    """
    graph = backend.model.graph()
    if graph is not None and not _has_matrices(graph):
        # A fault of an operator shows in what it makes of these inputs, but not that of a table without them.
        return not all(dtype_class(to_numpy(value).dtype) == "string" for value in feed.values())
    changed = None
    if isinstance(graph, PerturbableGraph) and backend.inside == "graph":
        changed = graph.perturbed(dict.fromkeys(_last_weights(graph), _STEPS), _AT_RANDOM)
    others = None if changed is None else _outputs(backend, changed.mark(list(outputs)), [feed])
    if others is not None:
        return not _are_unmoved(outputs, others[0], _LEAST_MOVE)
    return any(to_numpy(array).size > 1 and not _holds_one(to_numpy(array)) for array in outputs.values())


def _last_weights(graph: ModelGraph) -> list[str]:
    """Return the names of the weights that are read last, as many as may be moved."""
    chosen: dict[str, None] = {}
    held = weight_values(graph, [node.outputs[0] for node in graph.nodes if node.op_type == "Constant"])
    sizes = {**graph.weights, **{name: array.nbytes for name, array in held.items()}}
    left = _MOST_WEIGHTS
    for node in reversed(graph.nodes):
        for name in node.inputs:
            if name in sizes and name not in chosen and sizes[name] <= left:
                chosen[name] = None
                left -= sizes[name]
    return list(chosen)


def _has_matrices(graph: ModelGraph) -> bool:
    """Return whether a model has weights of some size, as trained ones are."""
    held = weight_values(graph, [node.outputs[0] for node in graph.nodes if node.op_type == "Constant"])
    sizes = [*graph.weights.values(), *(array.nbytes for array in held.values())]
    return max(sizes, default=0) >= _MATRIX


def _holds_one(array: Array) -> bool:
    return bool((array == array.reshape(-1)[0]).all())


def _values_reach(graph: ModelGraph | None, outputs: Iterable[str]) -> bool:
    """Return whether outputs depend on the numbers in a model's inputs, and not only on their shapes or on weights.

    Args:
        graph: The model; None where it has no graph: they may.
        outputs: Names of its outputs.
    """
    if graph is None:
        return True
    reached = set(graph.inputs) - set(graph.weights)
    for node in graph.nodes:
        if node.op_type not in _OF_SHAPES and not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
    return not reached.isdisjoint(outputs)

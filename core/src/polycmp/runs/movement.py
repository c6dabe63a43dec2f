"""Whether a model's outputs move at all: where neither inputs nor weights move one, no comparison could have failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.impostors import same_but_rounding
from polycmp.graph import ModelGraph, MovableGraph, weight_values
from polycmp.runs.backend_run import BackendRun
from polycmp.runs.resolved_backend import ResolvedBackend
from polycmp.tensors import Feed, FeedPerRun, dtype_class, to_numpy

Array = NDArray[Any]
#: What a single number, or a number that is everywhere, is multiplied by to be another one of that size.
_LESS = 0.75
#: Matrices move by up to half a step of 8 bits, at random, to see whether outputs move by this share at least (choice).
_STEPS, _AT_RANDOM, _LEAST_MOVE = "int8", 2, 2.0**-14
#: Bytes of weights up to which a model is changed so.
_MOST_WEIGHTS = 1 << 30
#: Bytes of the smallest weight that counts as one of a network (choice).
_MATRIX = 64
#: Operators whose results follow from shapes, whatever the numbers are.
_OF_SHAPES = frozenset({"Shape", "Size", "EyeLike"})


def other_feed(feed: Feed) -> Feed | None:
    """Return other inputs of the same kind: numbers drawn from those of each input; None where that changes nothing.

    So they lie in the range that is being looked at. Whole numbers, which may be indices, are drawn again only where
    there are no others.

    Args:
        feed: Arrays by input.
    """
    if isinstance(feed, FeedPerRun):
        return None
    arrays = {name: to_numpy(value) for name, value in feed.items() if hasattr(value, "dtype")}
    for kinds in ({"float", "complex"}, {"integer", "bool"}):
        made = {name: _drawn(array) for name, array in arrays.items() if dtype_class(array.dtype) in kinds}
        if any(not np.array_equal(array, arrays[name], equal_nan=True) for name, array in made.items()):
            return {**feed, **made}
    return None


def _drawn(array: Array) -> Array:
    flat: Array = array.reshape(-1)
    if not flat.size:
        return array
    if dtype_class(array.dtype) in {"float", "complex"} and bool((flat == flat[0]).all()):
        flat = (flat * np.asarray(_LESS, array.dtype)).astype(array.dtype)
    else:
        flat = flat[np.random.default_rng(0).integers(0, flat.size, flat.size)]
    return flat.reshape(array.shape)


def are_unmoved(made: Mapping[str, Any], others: Mapping[str, Any], least: float = 0.0) -> bool:
    """Return whether two sets of outputs are the same but for rounding; nothing is the same where all are empty.

    Args:
        made: Arrays by output.
        others: Those for other inputs.
        least: The share of the largest magnitude by which real numbers have to differ, if that is more than rounding.
    """
    pairs = [(to_numpy(array), to_numpy(others[name])) for name, array in made.items() if name in others]
    known = [(one, two) for one, two in pairs if one.size]
    return bool(known) and all(same_but_rounding(one, two, least) for one, two in known)


def weights_reach(backend: ResolvedBackend, feed: Feed, outputs: Mapping[str, Any]) -> bool:
    """Return whether a model's outputs move if its matrices do, or it has none: a fault inside shows there.

    Args:
        backend: A backend that made the outputs. Where it runs no changed model, outputs of several numbers may move.
        feed: The inputs.
        outputs: Its outputs for them.
    """
    graph = backend.model.graph()
    if graph is not None and not _has_matrices(graph):
        return True  # a fault of an operator shows in what it makes of these inputs
    changed = None
    if isinstance(graph, MovableGraph) and backend.inside == "graph" and sum(graph.weights.values()) <= _MOST_WEIGHTS:
        made = {name: "" for node in graph.nodes if node.op_type != "Constant" for name in node.outputs}
        changed = graph.moved({"": _STEPS, **made}, _AT_RANDOM)
    if changed is not None:
        loader = changed.mark(list(outputs))
        run = BackendRun(backend.make_result(), lambda: backend.make_runner(loader), backend.needs)
        run.activate()
        others = run.infer_beside(feed)
        run.deactivate()
        if others is not None:
            return not are_unmoved(outputs, others, _LEAST_MOVE)
    return any(to_numpy(array).size > 1 and not _holds_one(to_numpy(array)) for array in outputs.values())


def _has_matrices(graph: ModelGraph) -> bool:
    """Return whether a model has weights of some size, as trained ones are."""
    held = weight_values(graph, [node.outputs[0] for node in graph.nodes if node.op_type == "Constant"])
    sizes = [*graph.weights.values(), *(array.nbytes for array in held.values())]
    return max(sizes, default=0) >= _MATRIX


def _holds_one(array: Array) -> bool:
    return bool((array == array.reshape(-1)[0]).all())


def values_reach(graph: ModelGraph | None, outputs: Iterable[str]) -> bool:
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

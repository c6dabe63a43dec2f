"""Whether a model's outputs move with its inputs: where none does, no comparison of them could have failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.impostors import same_but_rounding
from polycmp.graph import ModelGraph
from polycmp.tensors import Feed, FeedPerRun, dtype_class, to_numpy

Array = NDArray[Any]
#: What a single number, or a number that is everywhere, is multiplied by to be another one of that size.
_LESS = 0.75
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


def are_unmoved(made: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Return whether two sets of outputs are the same but for rounding; nothing is the same where all are empty.

    Args:
        made: Arrays by output.
        others: Those for other inputs.
    """
    pairs = [(to_numpy(array), to_numpy(others[name])) for name, array in made.items() if name in others]
    known = [(one, two) for one, two in pairs if one.size]
    return bool(known) and all(same_but_rounding(one, two) for one, two in known)


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

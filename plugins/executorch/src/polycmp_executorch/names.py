"""Names of inputs, outputs and weights in the model that a program was exported from: a `.pte` file has none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from polycmp.tensors import to_numpy


class Names(NamedTuple):
    """Names in a model.

    Attributes:
        inputs: Of its inputs, in the order in which an export takes them.
        outputs: Of its outputs, in their order.
        weights: Of its weights, by `fingerprint`; those of which it has several alike are left out.
    """

    inputs: Sequence[str]
    outputs: Sequence[str]
    weights: Mapping[bytes, str]


def fingerprint(array: NDArray[Any]) -> bytes:
    """Return what is the same for arrays of the same shape and content.

    Args:
        array: The array.
    """
    return hashlib.sha256(repr((array.shape, array.dtype.str)).encode() + array.tobytes()).digest()


def names_of(model: Any) -> Names:
    """Return the names in a model.

    Args:
        model: A model as polycmp-torch or polycmp-onnx load it.
    """
    if not hasattr(model, "graph"):
        inputs = [*(name for name in model.inputs if name not in model.keywords), *model.keywords]
        module = model.module
        held = {**dict(module.named_parameters()), **dict(module.named_buffers())} if hasattr(module, "buffers") else {}
        outputs = model.outputs or ("output",)  # of a module that returns one tensor, as polycmp-torch calls it
        return Names(inputs, outputs, _unique((name, to_numpy(item)) for name, item in held.items()))
    from onnx.numpy_helper import to_array

    from polycmp_onnx.graph import graph_inputs

    initialisers = ((item.name, to_array(item)) for item in model.graph.initializer)
    # A file of ONNX may hold matrices the other way round.
    weights = {name: array for name, array in initialisers if array.size > 1}
    turned = _unique((name, array.T.copy()) for name, array in weights.items() if array.ndim == 2)
    known = {**turned, **_unique(weights.items())}
    return Names([item.name for item in graph_inputs(model.graph)], [item.name for item in model.graph.output], known)


def _unique(weights: Iterable[tuple[str, NDArray[Any]]]) -> dict[bytes, str]:
    known: dict[bytes, str] = {}
    for name, array in weights:
        key = fingerprint(array)
        known[key] = "" if key in known else name
    return {key: name for key, name in known.items() if name}

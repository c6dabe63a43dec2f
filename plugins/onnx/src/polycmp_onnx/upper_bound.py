"""Bounding tensors whose content decides the size of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import UsageError, did_you_mean
from polycmp.loader import immediate, keyword_aliases
from polycmp_onnx.graph import GraphView, computed_tensors, element_type, graph_inputs, rename_reads
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.passes import WEIGHTS_APART, model_pass
from polycmp_onnx.shapes import value_types

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

#: Operators whose output is as large as the content of one of their inputs says, and which input that is.
_SIZED_BY = {
    "Range": (0, 1, 2),
    "Tile": (1,),
    "Expand": (1,),
    "ConstantOfShape": (0,),
    "Pad": (1,),
    "Resize": (3,),
}
#: Operators that give out the numbers of their first input.
_KEEPING_CONTENT = {"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"}


@keyword_aliases("copy")
class SetUpperBound(OnnxLoader):
    """Inserts `Min(tensor, bound)` after tensors, so that tensors whose size they decide cannot grow without limit.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        upper_bounds: Bound by name of the tensor; the name "" means every computed tensor whose content decides
            the size of another. A number alone means the same as `{"": number}`.
    """

    def __init__(self, model: ModelSource, upper_bounds: Mapping[str, int] | int) -> None:
        self.model = model
        self.upper_bounds = upper_bounds

    def call_impl(self) -> ModelProto:
        """Return the bounded model.

        Raises:
            UsageError: A tensor is not one that the model computes.
        """
        model = own_model(self.model)
        bound(model, {"": self.upper_bounds} if isinstance(self.upper_bounds, int) else self.upper_bounds)
        return model


set_upper_bound = immediate(SetUpperBound)


@model_pass(requires=(WEIGHTS_APART,))
def bound(model: Any, bounds: Mapping[str, int]) -> bool:
    """Insert `Min(tensor, bound)` after tensors of a model.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        bounds: As for `SetUpperBound`.

    Returns:
        Whether anything changed.

    Raises:
        UsageError: A tensor is not one that the model computes.
    """
    computed = computed_tensors(model.graph, constants=False)
    for name in bounds:
        if name and name not in computed:
            raise UsageError(f"the model computes no tensor {name!r}", why=did_you_mean(name, computed))
    limits = dict.fromkeys(unbounded_tensors(model), bounds[""]) if "" in bounds else {}
    limits.update((name, limit) for name, limit in bounds.items() if name)
    values = value_types(model)
    for name, limit in limits.items():
        _bound(model.graph, name, limit, values.get(name))
    return bool(limits)


def unbounded_tensors(model: Any) -> list[str]:
    """Return the computed tensors whose content decides the size of others and has no upper bound, in order.

    Args:
        model: An `onnx.ModelProto`.
    """
    view, names = GraphView(model.graph), set(computed_tensors(model.graph, constants=False))
    return [name for name in _deciding(view, names) if not _is_bounded(view, name, names)]


def _is_bounded(view: GraphView, name: str, names: set[str]) -> bool:
    """Return whether a node before a tensor holds its content below a constant."""
    fed = {value.name for value in graph_inputs(view.graph)}
    while name in names:
        node = view.producer(name)
        if node.op_type == "Min" and not {*node.input} <= names | fed:
            return True
        if node.op_type not in _KEEPING_CONTENT:
            return False
        name = node.input[0]
    return False


def _deciding(view: GraphView, names: set[str]) -> list[str]:
    deciding = [
        node.input[index]
        for node in view.nodes
        for index in _SIZED_BY.get(node.op_type, ())
        if index < len(node.input) and node.input[index] in names
    ]
    return list(dict.fromkeys(deciding))


def _bound(graph: Any, name: str, bound: int, value: Any) -> None:
    import onnx

    dtype = (None if value is None else element_type(value)) or np.dtype(np.int64)
    bounded, limit = f"{name}_bounded", f"{name}_upper_bound"
    for node in graph.node:
        rename_reads(node, {name: bounded})
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(bound, dtype), limit))
    nodes = list(graph.node)
    place = next(index for index, node in enumerate(nodes) if name in node.output) + 1
    graph.node.insert(place, onnx.helper.make_node("Min", [name, limit], [bounded], name=f"{name}_min"))

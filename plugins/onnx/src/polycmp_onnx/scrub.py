"""Taking out of a model what only its owner is to see: names and texts, and the values of weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from polycmp_onnx.graph import subgraphs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto

#: Weights with fewer elements say nothing, and may be axes or scales that have to stay.
_FEWEST = 8
_FUNCTIONS = "functions"


def scrub_names(model: ModelProto) -> dict[str, str]:
    """Replace all names in a model by ones that say nothing, and remove all texts and metadata.

    Operators keep their types, unless functions inside the model define them.

    Args:
        model: The model, which is changed.

    Returns:
        The new name of every tensor, operator and open dimension by its old one.
    """
    names = _Names()
    for function in model.functions:
        names.add_function(function)
    names.add_graph(model.graph)
    for graph in _graphs(model):
        names.put_into(graph)
    for function in model.functions:
        names.put_into_function(function)
    if model.functions and not any(item.domain == _FUNCTIONS for item in model.opset_import):
        model.opset_import.add(domain=_FUNCTIONS, version=1)
    for field in ("doc_string", "domain", "metadata_props", "model_version"):
        model.ClearField(field)
    return names.known


def redraw_weights(model: ModelProto, generator: np.random.Generator) -> int:
    """Replace weights by random numbers of the same mean, deviation and range; zeros and what is no number stay.

    Args:
        model: The model with its weights inside, which is changed.
        generator: Draws the numbers.

    Returns:
        How many weights were replaced. Integers but those of 8 bits, which may be sizes or positions, are not.
    """
    import onnx

    count = 0
    for tensor in _weights(model):
        old = onnx.numpy_helper.to_array(tensor)
        new = redraw(old, generator)
        if new is not old:
            tensor.CopyFrom(onnx.numpy_helper.from_array(new, tensor.name))
            count += 1
    return count


def redraw(array: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """Return random numbers of the mean, deviation and range of an array; the array itself if it says too little.

    Args:
        array: Of any shape; floating-point numbers, or integers of 8 bits.
        generator: Draws the numbers.
    """
    import numpy as np

    integers = array.dtype.kind in "iu" and array.dtype.itemsize == 1
    if array.size < _FEWEST or not (integers or array.dtype.kind == "f" or array.dtype.name == "bfloat16"):
        return array
    wide = array.astype(np.float64)
    moves = np.isfinite(wide) & (wide != 0)
    if not moves.any() or wide[moves].min() == wide[moves].max():
        return array
    known = wide[moves]
    drawn = generator.normal(known.mean(), known.std(), known.shape).clip(known.min(), known.max())
    wide[moves] = np.rint(drawn) if integers else drawn
    return wide.astype(array.dtype)


class _Names:
    """Gives out names: the same old name always becomes the same new one."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._functions: dict[tuple[str, str], str] = {}

    def add(self, old: str, kind: str) -> None:
        if old and old not in self.known:
            self._counts[kind] = self._counts.get(kind, -1) + 1
            self.known[old] = f"{kind}{self._counts[kind]}"

    def add_function(self, function: Any) -> None:
        self._functions[function.domain, function.name] = f"function{len(self._functions)}"
        for name in (*function.input, *function.output):
            self.add(name, "t")
        self._add_nodes(function.node)

    def add_graph(self, graph: Any) -> None:
        weights = [item.name for item in graph.initializer] + [item.values.name for item in graph.sparse_initializer]
        for kind, found in (("weight", weights), ("input", _listed(graph.input)), ("output", _listed(graph.output))):
            for name in found:
                self.add(name, kind)
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in _dims(value.type):
                self.add(dim.dim_param, "size")
        self._add_nodes(graph.node)

    def _add_nodes(self, nodes: Any) -> None:
        for node in nodes:
            self.add(node.name, f"{self._functions.get((node.domain, node.op_type), node.op_type)}_")
            for name in (*node.output, *node.input):
                self.add(name, "t")
            for inner in subgraphs(node):
                self.add_graph(inner)

    def put_into(self, graph: Any) -> None:
        """Rename everything in a graph but the graphs inside it."""
        graph.name = "graph"
        graph.ClearField("doc_string")
        _clear_metadata(graph)
        for tensor in (*graph.initializer, *(item.values for item in graph.sparse_initializer)):
            self._rename(tensor)
        for value in (*graph.input, *graph.output, *graph.value_info):
            self._rename(value)
            for dim in _dims(value.type):
                if dim.dim_param:
                    dim.dim_param = self.known[dim.dim_param]
        for item in graph.quantization_annotation:
            item.tensor_name = self.known.get(item.tensor_name, "")
            for entry in item.quant_parameter_tensor_names:
                entry.value = self.known.get(entry.value, "")
        self._put_into_nodes(graph.node)

    def put_into_function(self, function: Any) -> None:
        """Rename a function of the model and everything in it."""
        function.name, function.domain = self._functions[function.domain, function.name], _FUNCTIONS
        function.ClearField("doc_string")
        _clear_metadata(function)
        for field in (function.input, function.output):
            field[:] = [self.known[name] for name in field]
        if hasattr(function, "value_info"):
            del function.value_info[:]
        self._put_into_nodes(function.node)
        if not any(item.domain == _FUNCTIONS for item in function.opset_import):
            function.opset_import.add(domain=_FUNCTIONS, version=1)

    def _put_into_nodes(self, nodes: Any) -> None:
        for node in nodes:
            self._rename(node)
            for field in (node.input, node.output):
                field[:] = [self.known.get(name, "") for name in field]
            if (node.domain, node.op_type) in self._functions:
                node.op_type, node.domain = self._functions[node.domain, node.op_type], _FUNCTIONS
            for attribute in node.attribute:
                attribute.ClearField("doc_string")
                for tensor in (attribute.t, *attribute.tensors) if attribute.HasField("t") else attribute.tensors:
                    tensor.ClearField("name")
                    tensor.ClearField("doc_string")

    def _rename(self, item: Any) -> None:
        item.name = self.known.get(item.name, "")
        item.ClearField("doc_string")
        _clear_metadata(item)


def _listed(values: Any) -> list[str]:
    return [value.name for value in values]


def _dims(kind: Any) -> Iterator[Any]:
    which = kind.WhichOneof("value")
    if which in {"tensor_type", "sparse_tensor_type"}:
        yield from getattr(kind, which).shape.dim
    elif which in {"sequence_type", "optional_type"}:
        yield from _dims(getattr(kind, which).elem_type)


def _clear_metadata(item: Any) -> None:
    if "metadata_props" in item.DESCRIPTOR.fields_by_name:  # ONNX before 1.16 has none here
        item.ClearField("metadata_props")


def _graphs(model: ModelProto) -> Iterator[Any]:
    """Yield the graphs of a model, those among the attributes of nodes included."""
    waiting: list[Any] = [model.graph]
    waiting += [graph for function in model.functions for node in function.node for graph in subgraphs(node)]
    while waiting:
        graph = waiting.pop()
        yield graph
        waiting += [inner for node in graph.node for inner in subgraphs(node)]


def _weights(model: ModelProto) -> Iterator[Any]:
    """Yield the initializers, and what Constant nodes hold."""
    for graph in _graphs(model):
        yield from graph.initializer
    nodes = [node for graph in _graphs(model) for node in graph.node]
    for node in (*nodes, *(node for function in model.functions for node in function.node)):
        if node.op_type == "Constant":
            yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))

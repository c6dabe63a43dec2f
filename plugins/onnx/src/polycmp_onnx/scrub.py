"""Taking out of a model what only its owner is to see: names and texts, and the values of weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.sentences import counted
from polycmp_onnx.graph import STANDARD, is_standard, subgraphs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnx import ModelProto

#: Weights with fewer elements say nothing, and may be axes or scales that have to stay.
_FEWEST = 8
_FUNCTIONS = "functions"
#: Fields of a model that tell its origin.
_ABOUT = (
    "producer_name", "producer_version", "doc_string", "domain", "metadata_props", "model_version", "training_info",
    "configuration",
)  # fmt: skip
#: Domains of operators that everybody has.
_KNOWN_DOMAINS = frozenset({
    "", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.contrib",
    "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc", "org.pytorch.aten", "pkg.onnxscript.torch_lib",
    "pkg.onnxscript.torch_lib.common", "trt.plugins", _FUNCTIONS,
})  # fmt: skip


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
        names.add_signature(function)
    for function in model.functions:
        names.add_function(function)
    names.add_graph(model.graph)
    for graph in _graphs(model):
        names.put_into(graph)
    for function in model.functions:
        names.put_into_function(function)
    _import_what_is_used(model)
    for field in _ABOUT:
        if field in model.DESCRIPTOR.fields_by_name:
            model.ClearField(field)
    return names.known


def scrub_texts(model: ModelProto) -> dict[str, str]:
    """Replace the texts among a model's values, which are weights as numbers are; equal ones stay equal.

    Args:
        model: The model with its weights inside, which is changed.

    Returns:
        The new text by the old one. Texts by which ONNX's own operators choose how to work are none of them.
    """
    known: dict[str, str] = {}
    for tensor in _weights(model):
        tensor.string_data[:] = [_new_text(text, known) for text in tensor.string_data]
    for node in _nodes(model):
        for attribute in node.attribute:
            if attribute.name in {"value_string", "default_string"}:
                attribute.s = _new_text(attribute.s, known)
            elif attribute.strings and not is_standard(node, "LSTM", "GRU", "RNN"):
                attribute.strings[:] = [_new_text(text, known) for text in attribute.strings]
    return known


def replace_texts(array: NDArray[Any], texts: Mapping[str, str]) -> NDArray[Any]:
    """Return an array of texts with new ones; those that are not known become new ones, too.

    Args:
        array: Of any type; what is no text stays.
        texts: The new text by the old one.
    """
    import numpy as np

    if array.dtype.kind not in "OSU":
        return array
    known = dict(texts)
    flat = [_new_text(str(item).encode(), known).decode() for item in array.ravel().tolist()]
    return np.array(flat, dtype=array.dtype if array.dtype.kind == "O" else None).reshape(array.shape)


def _new_text(text: bytes, known: dict[str, str]) -> bytes:
    old = text.decode("utf-8", "surrogateescape")
    return known.setdefault(old, f"text{len(known)}" if old else "").encode()


def left_as_it_is(model: ModelProto) -> list[str]:
    """Return in words what of a user's may still be in a model whose names and weights were replaced.

    Args:
        model: The model with its weights inside.
    """
    import onnx

    descriptions = []
    count = sum(
        tensor.data_type != onnx.TensorProto.STRING and _is_unreplaced(onnx.numpy_helper.to_array(tensor))
        for tensor in _weights(model)
    )
    if count:
        descriptions.append(f"{counted(count, 'weight')} of whole numbers, which may be sizes or positions")
    others = {
        (node.domain, node.op_type, any(item.s for item in node.attribute))
        for node in _nodes(model)
        if node.domain not in _KNOWN_DOMAINS
    }
    for domain, op_type, has_texts in sorted(others):
        descriptions.append(f"the operator {domain}.{op_type}{' with its texts' if has_texts else ''}")
    return descriptions


def _is_unreplaced(array: NDArray[Any]) -> bool:
    """Return whether weights say something and are not replaced all the same."""
    return array.size >= _FEWEST and not _is_real(array.dtype) and not _is_quantised(array.dtype)


def _is_real(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def _is_quantised(dtype: np.dtype[Any]) -> bool:
    return (dtype.kind in "iu" and dtype.itemsize == 1) or dtype.name in {"int4", "uint4", "int2", "uint2"}


def _import_what_is_used(model: ModelProto) -> None:
    """Let a model and its functions import the operator sets that they use; others tell where a model comes from."""
    for part, nodes in (
        (model, [node for graph in _graphs(model) for node in graph.node]),
        *((function, function.node) for function in model.functions),
    ):
        used = {node.domain for node in nodes} | STANDARD
        if part is model:
            used |= {node.domain for function in model.functions for node in function.node}
        for item in [item for item in part.opset_import if item.domain not in used]:
            part.opset_import.remove(item)
        if _FUNCTIONS in used and not any(item.domain == _FUNCTIONS for item in part.opset_import):
            part.opset_import.add(domain=_FUNCTIONS, version=1)


def redraw_weights(model: ModelProto, generator: np.random.Generator) -> int:
    """Replace weights by random numbers of the same mean, deviation and range; zeros and what is no number stay.

    Args:
        model: The model with its weights inside, which is changed.
        generator: Draws the numbers.

    Returns:
        Number of replaced weights, lists of numbers among the attributes of nodes included. Integers of more than 8
        bits, which may be sizes or positions, are not.
    """
    import numpy as np
    import onnx

    count = 0
    for tensor in _weights(model):
        if tensor.data_type == onnx.TensorProto.STRING:
            continue
        old = onnx.numpy_helper.to_array(tensor)
        new = redraw(old, generator)
        if new is not old:
            tensor.CopyFrom(onnx.numpy_helper.from_array(new, tensor.name))
            count += 1
    for node in _nodes(model):
        for attribute in node.attribute:
            floats = np.array(attribute.floats, np.float32)
            drawn = redraw(floats, generator)
            if drawn is not floats:
                attribute.floats[:] = drawn.tolist()
                count += 1
    return count


def redraw(array: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """Return random numbers of the mean, deviation and range of an array; the array itself if it says too little.

    Args:
        array: Of any shape; floating-point numbers, or integers of 8 bits or less.
        generator: Draws the numbers.
    """
    import numpy as np

    integers = _is_quantised(array.dtype)
    if array.size < _FEWEST or not (integers or _is_real(array.dtype)):
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
        self._functions: dict[tuple[str, str, str], str] = {}
        self._attributes: dict[tuple[str, str, str], dict[str, str]] = {}

    def add(self, old: str, kind: str) -> None:
        if old and old not in self.known:
            self._counts[kind] = self._counts.get(kind, -1) + 1
            self.known[old] = f"{kind}{self._counts[kind]}"

    def add_signature(self, function: Any) -> None:
        key = (function.domain, function.name, getattr(function, "overload", ""))
        self._functions[key] = f"function{len(self._functions)}"
        names = [*function.attribute, *(item.name for item in function.attribute_proto)]
        self._attributes[key] = {name: f"attribute{number}" for number, name in enumerate(dict.fromkeys(names))}

    def add_function(self, function: Any) -> None:
        for name in (*function.input, *function.output):
            self.add(name, "t")
        self._add_nodes(function.node)

    def add_graph(self, graph: Any) -> None:
        weights = [item.name for item in graph.initializer] + [item.values.name for item in graph.sparse_initializer]
        for kind, names in (("weight", weights), ("input", _listed(graph.input)), ("output", _listed(graph.output))):
            for name in names:
                self.add(name, kind)
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in _dims(value.type):
                self.add(dim.dim_param, "size")
        self._add_nodes(graph.node)

    def _add_nodes(self, nodes: Any) -> None:
        for node in nodes:
            self.add(node.name, f"{self._functions.get(_called(node), node.op_type)}_")
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
            value.type.ClearField("denotation")
            for dim in _dims(value.type):
                dim.ClearField("denotation")
                if dim.dim_param:
                    dim.dim_param = self.known[dim.dim_param]
        for item in graph.quantization_annotation:
            item.tensor_name = self.known.get(item.tensor_name, "")
            for entry in item.quant_parameter_tensor_names:
                entry.value = self.known.get(entry.value, "")
        self._put_into_nodes(graph.node, {})

    def put_into_function(self, function: Any) -> None:
        """Rename a function of the model and everything in it."""
        key = (function.domain, function.name, getattr(function, "overload", ""))
        attributes = self._attributes[key]
        function.name, function.domain = self._functions[key], _FUNCTIONS
        if key[2]:
            function.ClearField("overload")
        function.attribute[:] = [attributes[name] for name in function.attribute]
        for item in function.attribute_proto:
            item.name = attributes[item.name]
            item.ClearField("doc_string")
        function.ClearField("doc_string")
        _clear_metadata(function)
        for field in (function.input, function.output):
            field[:] = [self.known[name] for name in field]
        if hasattr(function, "value_info"):
            del function.value_info[:]
        self._put_into_nodes(function.node, attributes)

    def _put_into_nodes(self, nodes: Any, attributes: Mapping[str, str]) -> None:
        """Rename what nodes are called and read; `attributes` are those of the function that they are in."""
        for node in nodes:
            self._rename(node)
            for field in (node.input, node.output):
                field[:] = [self.known.get(name, "") for name in field]
            called = _called(node)
            called_attributes = self._attributes.get(called, {})
            if called in self._functions:
                node.op_type, node.domain = self._functions[called], _FUNCTIONS
            for field in ("overload", "device_configurations"):
                if field in node.DESCRIPTOR.fields_by_name:  # older releases of ONNX have none
                    node.ClearField(field)
            for attribute in node.attribute:
                attribute.ClearField("doc_string")
                attribute.name = called_attributes.get(attribute.name, attribute.name)
                if attribute.ref_attr_name in attributes:
                    attribute.ref_attr_name = attributes[attribute.ref_attr_name]
                is_body = bool(attributes) and attribute.HasField("g")
                for inner in (attribute.g, *attribute.graphs) if is_body else attribute.graphs:
                    self._put_references(inner, attributes)
                for tensor in (attribute.t, *attribute.tensors) if attribute.HasField("t") else attribute.tensors:
                    tensor.ClearField("name")
                    tensor.ClearField("doc_string")

    def _put_references(self, graph: Any, attributes: Mapping[str, str]) -> None:
        """Rename the function's attributes that the nodes of a graph inside it refer to."""
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.ref_attr_name in attributes:
                    attribute.ref_attr_name = attributes[attribute.ref_attr_name]
            for inner in subgraphs(node):
                self._put_references(inner, attributes)

    def _rename(self, item: Any) -> None:
        item.name = self.known.get(item.name, "")
        item.ClearField("doc_string")
        _clear_metadata(item)


def _called(node: Any) -> tuple[str, str, str]:
    """Return the key of the function that a node calls, if it calls one."""
    return node.domain, node.op_type, getattr(node, "overload", "")


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


def _nodes(model: ModelProto) -> Iterator[Any]:
    """Yield the nodes of a model, those of functions and of graphs inside nodes included."""
    for graph in _graphs(model):
        yield from graph.node
    for function in model.functions:
        yield from function.node


def _weights(model: ModelProto) -> Iterator[Any]:
    """Yield the initializers, and the tensors among the attributes of nodes."""
    for graph in _graphs(model):
        yield from graph.initializer
        yield from (item.values for item in graph.sparse_initializer)
    for node in _nodes(model):
        for attribute in node.attribute:
            yield from (attribute.t,) if attribute.HasField("t") else ()
            yield from attribute.tensors
            yield from (attribute.sparse_tensor.values,) if attribute.HasField("sparse_tensor") else ()

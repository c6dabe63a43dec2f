"""Questions about ONNX graphs: who makes and who reads a tensor, its type, the names in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from polycmp.tensors import TensorMetadata

__all__ = [
    "GraphView",
    "Use",
    "computed_tensors",
    "element_type",
    "graph_inputs",
    "is_too_large",
    "keep_items",
    "known_values",
    "nodes_within",
    "opset_of",
    "part_weights_from_inputs",
    "reads",
    "rename",
    "rename_reads",
    "shape_of",
    "subgraphs",
    "tensor_metadata",
    "unfed_input",
    "weights_are_fed",
    "with_names",
]

#: The domain of ONNX's own operators, by both of its names.
STANDARD = frozenset({"", "ai.onnx"})
#: Operators whose results are sequences, optionals or maps: no backend compares those, so "all" leaves them out.
NO_TENSOR = frozenset(
    {
        "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceMap", "SplitToSequence",
        "Optional", "ZipMap",
    }
)  # fmt: skip

#: ONNX's numbers of the element types that NumPy has; the others are asked of `onnx`, whose import takes long.
_DTYPES = {
    number: np.dtype(name)
    for number, name in {
        1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool",
        10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
    }.items()
}  # fmt: skip

#: Size limit of one protobuf message, less a little for the rest of the model beside the weights.
PROTOBUF_LIMIT = 2**31 - 2**24


def is_too_large(model: Any) -> bool:
    """Return whether a model has more than protobuf can turn into bytes; asking the whole model would fail.

    Args:
        model: An `onnx.ModelProto` of any size.
    """
    return sum(map(tensor_bytes, model.graph.initializer)) >= PROTOBUF_LIMIT


def tensor_bytes(tensor: Any) -> int:
    """Return about how many bytes a weight takes; `ByteSize` would serialize it to find out.

    Args:
        tensor: An `onnx.TensorProto`, whose data may lie in a file of its own.
    """
    import onnx

    if tensor.data_type == onnx.TensorProto.STRING:
        return sum(map(len, tensor.string_data))
    return int(math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)


def tensor_metadata(values: Iterable[Any]) -> TensorMetadata:
    """Return names, types and shapes of `onnx.ValueInfoProto`s; what they do not say is None.

    Args:
        values: For example `model.graph.output`.
    """
    metadata = TensorMetadata()
    for value in values:
        optional = value.type.WhichOneof("value") == "optional_type"
        metadata.add(value.name, element_type(value), shape_of(value), optional=optional)
    return metadata


def _tensor_type(value: Any) -> Any:
    """Return the type of a tensor, or of one that may be left out; None if the value is something else."""
    kind = value.type.optional_type.elem_type if value.type.WhichOneof("value") == "optional_type" else value.type
    return kind.tensor_type if kind.WhichOneof("value") == "tensor_type" else None


def element_type(value: Any) -> Any:
    """Return the NumPy dtype of a tensor's elements, or None if it is not declared or the value is no tensor."""
    kind = _tensor_type(value)
    if kind is None or kind.elem_type == 0:
        return None
    number = kind.elem_type
    if number in _DTYPES:
        return _DTYPES[number]
    import onnx

    return onnx.helper.tensor_dtype_to_np_dtype(number)


def shape_of(value: Any) -> list[int | str] | None:
    """Return a tensor's dimensions, an unknown one as its name or -1; None if the rank is unknown."""
    kind = _tensor_type(value)
    if kind is None or not kind.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.WhichOneof("value") == "dim_value" else (dim.dim_param or -1) for dim in kind.shape.dim
    ]


def graph_inputs(graph: Any) -> list[Any]:
    """Return the inputs that a caller feeds: those that no initializer of the same name already fills."""
    weights = {item.name for item in graph.initializer} | {item.values.name for item in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in weights]


def unfed_input(graph: Any) -> str:
    """Return the name of an input that is a sequence or a map, which nothing here feeds; empty if there is none."""
    return next(
        (value.name for value in graph_inputs(graph) if value.type.ByteSize() and _tensor_type(value) is None), ""
    )


def weights_are_fed(model: Any) -> bool:
    """Return whether a model lists weights among its inputs, as ONNX's format wants it up to version 3."""
    return model.ir_version < 4 or len(graph_inputs(model.graph)) != len(model.graph.input)


def part_weights_from_inputs(model: Any) -> bool:
    """Make weights no inputs any more, so that each can be changed, replaced or left out by itself.

    A caller may feed such a weight, which nothing here ever does: for a model of ours it is a constant.

    Args:
        model: An `onnx.ModelProto`, which is changed.

    Returns:
        Whether anything changed.
    """
    if not weights_are_fed(model):
        return False
    replace_items(model.graph.input, graph_inputs(model.graph))
    model.ir_version = max(model.ir_version, 4)  # the first version of the format in which weights stand apart
    return True


def known_values(graph: Any) -> dict[str, Any]:
    """Return the `ValueInfoProto` of every tensor that has one, by name; of a function those within it."""
    values = graph.value_info if hasattr(graph, "opset_import") else (*graph.value_info, *graph.input, *graph.output)
    return {value.name: value for value in values}


def value_of(known: Mapping[str, Any], name: str) -> Any:
    """Return a copy of a tensor's `ValueInfoProto`, one with its name alone where none is known.

    Args:
        known: What is known, by name.
        name: The tensor.
    """
    import onnx

    return deepcopy(known[name]) if name in known else onnx.ValueInfoProto(name=name)


def computed_tensors(graph: Any, constants: bool = True) -> list[str]:
    """Return the names of all tensors that nodes make, in the graph's order.

    Args:
        graph: An `onnx.GraphProto`.
        constants: Include what Constant nodes make.
    """
    return [name for node in graph.node if constants or node.op_type != "Constant" for name in node.output if name]


def _defined(graph: Any) -> set[str]:
    """Return the names that a graph gives to tensors itself."""
    return {item.name for item in (*graph.input, *graph.initializer)}.union(computed_tensors(graph))


def reads(node: Any) -> Iterator[str]:
    """Yield the names that a node reads, those that its subgraphs take from around them included."""
    yield from (name for name in node.input if name)
    for graph in subgraphs(node):
        defined = _defined(graph)
        for name in (*(value.name for value in graph.output), *(name for inner in graph.node for name in reads(inner))):
            if name not in defined:
                yield name


class Use(NamedTuple):
    """A place where a tensor is read.

    Attributes:
        node: Position of the node that reads it.
        place: Position among the node's inputs; -1 where a graph inside the node reads it.
    """

    node: int
    place: int


class GraphView:
    """Links between the tensors and the nodes of a graph: who makes a tensor, who reads it, which are constant.

    Each link is found when it is first asked for. A graph that has been changed needs another view.

    Args:
        graph: An `onnx.GraphProto`.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    @cached_property
    def nodes(self) -> Sequence[Any]:
        """The nodes, in the graph's order."""
        return list(self.graph.node)

    @cached_property
    def outputs(self) -> Sequence[str]:
        """Names of the graph's outputs."""
        return [value.name for value in self.graph.output]

    @cached_property
    def operands(self) -> Sequence[Sequence[str]]:
        """Of each node the names of its inputs, "" for one that is left out."""
        return [tuple(node.input) for node in self.nodes]

    @cached_property
    def reads(self) -> Sequence[Sequence[str]]:
        """Of each node the names that it reads, those that its subgraphs take from around them included."""
        return [tuple(dict.fromkeys(reads(node))) for node in self.nodes]

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position of the node that makes each tensor."""
        return {name: index for index, node in enumerate(self.nodes) for name in node.output if name}

    @cached_property
    def uses(self) -> Mapping[str, Sequence[Use]]:
        """Places where each tensor is read, but for the graph's outputs."""
        uses: dict[str, list[Use]] = {}
        for index, (operands, names) in enumerate(zip(self.operands, self.reads, strict=True)):
            for place, name in enumerate(operands):
                uses.setdefault(name, []).append(Use(index, place))
            for name in names:
                if name not in operands:
                    uses.setdefault(name, []).append(Use(index, -1))
        return uses

    @cached_property
    def read_names(self) -> frozenset[str]:
        """Names of the tensors that some node reads, or the graph gives out."""
        return frozenset(name for names in (self.outputs, *self.reads) for name in names)

    @cached_property
    def last_uses(self) -> Mapping[int, Sequence[str]]:
        """Of each node, by its position, the tensors that neither a later node reads nor makes: they can be freed."""
        last = {name: index for index, node in enumerate(self.nodes) for name in (*node.output, *self.reads[index])}
        last_uses: dict[int, list[str]] = {}
        for name, index in last.items():
            last_uses.setdefault(index, []).append(name)
        return last_uses

    @cached_property
    def weights(self) -> Mapping[str, Any]:
        """The initializers, as `onnx.TensorProto` by name."""
        return {item.name: item for item in self.graph.initializer}

    @cached_property
    def held(self) -> Mapping[str, Any]:
        """What Constant nodes hold, as `onnx.TensorProto` by name."""
        return {
            node.output[0]: item.t
            for node in self.nodes
            if node.op_type == "Constant"
            for item in node.attribute
            if item.name == "value"
        }

    @cached_property
    def static(self) -> Set[str]:
        """Names of weights and of what nodes make of weights alone."""
        static = {*self.weights, *(name for node in self.nodes if node.op_type == "Constant" for name in node.output)}
        for node in self.nodes:
            if node.input and all(name in static for name in node.input if name):
                static.update(name for name in node.output if name)
        return static

    def producer(self, name: str) -> Any:
        """Return the node that makes a tensor; None for an input, a weight, and an unknown name.

        Args:
            name: Name of the tensor.
        """
        index = self.positions.get(name)
        return None if index is None else self.nodes[index]

    def consumers(self, name: str) -> list[Any]:
        """Return the nodes that read a tensor, by themselves or in a graph inside them, in the graph's order.

        Args:
            name: Name of the tensor.
        """
        return [self.nodes[index] for index in dict.fromkeys(use.node for use in self.uses.get(name, ()))]

    def ancestors(self, outputs: Iterable[str], border: Collection[str] = ()) -> tuple[list[int], set[str]]:
        """Return the positions of the nodes that tensors depend on, in order, and the names of all tensors on the way.

        `onnx.utils.Extractor` misses what the subgraphs of a node read from around them, and refuses sparse weights.

        Args:
            outputs: Names of the tensors.
            border: Names of tensors to go no further back than.
        """
        needed: set[str] = set()
        chosen: set[int] = set()
        waiting = list(outputs)
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            index = self.positions.get(name)
            if index is not None and name not in border and index not in chosen:
                chosen.add(index)
                waiting.extend(self.reads[index])
        return sorted(chosen), needed

    def origins(self, sources: Iterable[str], passes: Callable[[Any, int], bool]) -> dict[str, list[str]]:
        """Return, by tensor, from which of some tensors it comes, those included.

        Args:
            sources: Names of the tensors to follow.
            passes: Says whether what a node makes comes from the input at a position.
        """
        origins: dict[str, list[str]] = {name: [name] for name in sources}
        for node, operands in zip(self.nodes, self.operands, strict=True):
            come = [origins[name] for place, name in enumerate(operands) if name in origins and passes(node, place)]
            if come:
                joined = list(dict.fromkeys(name for names in come for name in names))
                origins.update((name, joined) for name in node.output if name)
        return origins


def subgraphs(node: Any) -> Iterator[Any]:
    """Yield the graphs among a node's attributes."""
    import onnx

    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            yield from attribute.graphs


def is_standard(node: Any, *types: str) -> bool:
    """Return whether a node is one of ONNX's own operators of some types, and no other domain's of the same name."""
    return node.op_type in types and node.domain in STANDARD


def opset_of(model: Any) -> int:
    """Return the version of ONNX's own operators that a model imports; 0 if it imports none."""
    return max((item.version for item in model.opset_import if item.domain in STANDARD), default=0)


@cache
def schema_of(op_type: str, version: int, domain: str) -> Any:
    """Return what ONNX says of an operator in a version of its domain; None if it knows none of this name."""
    import onnx

    try:
        return onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return None


def graphs_within(graph: Any) -> Iterator[Any]:
    """Yield a graph, and the graphs inside its nodes, each before those inside it."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from graphs_within(inner)


def nodes_within(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, and those of the subgraphs inside them."""
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from nodes_within(inner)


def attribute_value(attribute: Any) -> Any:
    """Return an attribute's value, bytes as text; several of them as a list."""
    import onnx

    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (int, float)):
        return value
    return [item.decode(errors="replace") if isinstance(item, bytes) else item for item in value]


def keep_items(field: Any, keep: Callable[[Any], bool]) -> bool:
    """Take items out of a repeated field of a protobuf message, without copying the others.

    Args:
        field: For example `graph.initializer`.
        keep: Says which items stay.

    Returns:
        Whether any went.
    """
    gone = [index for index, item in enumerate(field) if not keep(item)]
    for index in reversed(gone):
        del field[index]
    return bool(gone)


def replace_items(field: Any, items: Iterable[Any]) -> None:
    """Give a repeated field of a protobuf message other content, which may be part of its own.

    Args:
        field: For example `graph.node`.
        items: Messages of the same kind.
    """
    copies = [deepcopy(item) for item in items]
    del field[:]
    field.extend(copies)


def rename_fed(nodes: Iterable[Any], fed: Collection[str]) -> None:
    """Rename what nodes make of tensors that are fed: an operator may be needed for another one of its outputs.

    Args:
        nodes: The nodes of a part; they are changed.
        fed: The names of the part's inputs.
    """
    for node in nodes:
        for place, name in enumerate(node.output):
            if name in fed:
                node.output[place] = f"{name}/not fed"


def rename(node: Any, names: Mapping[str, str]) -> None:
    """Rename what a node reads and makes, and what the graphs inside it read from around them.

    Args:
        node: An `onnx.NodeProto`, which is changed.
        names: New names by old ones.
    """
    rename_reads(node, names)
    node.output[:] = [names.get(name, name) for name in node.output]


def rename_reads(node: Any, names: Mapping[str, str]) -> None:
    """Let a node, and the graphs inside it, read other tensors of the graph that it is in.

    Args:
        node: An `onnx.NodeProto`, which is changed.
        names: New names by old ones.
    """
    node.input[:] = [names.get(name, name) for name in node.input]
    for graph in subgraphs(node):
        defined = _defined(graph)
        outer = {old: new for old, new in names.items() if old not in defined}
        for inner in graph.node:
            rename_reads(inner, outer)
        for value in graph.output:
            value.name = outer.get(value.name, value.name)


def with_names(model: Any, names: Mapping[str, str]) -> Any:
    """Return a model whose inputs have other names; the model itself if there is nothing to rename.

    Args:
        model: An `onnx.ModelProto`; it is not changed.
        names: The new names, by the old ones.
    """
    if not names:
        return model
    renamed = deepcopy(model)
    graph = renamed.graph
    for value in (*graph.input, *graph.output):
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        rename(node, names)
    return renamed

"""ONNX models as graphs that the core can look into, mark and cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import onnx

from polycmp.graph import Constant, GraphNode, Rounding
from polycmp.tensors import TensorMetadata, is_size
from polycmp_onnx.bodies import CONTROL_FLOW, first_run
from polycmp_onnx.declared import Declarations
from polycmp_onnx.graph import (
    NO_TENSOR,
    GraphView,
    attribute_value,
    computed_tensors,
    element_type,
    graph_inputs,
    is_standard,
    known_values,
    rename_fed,
    shape_of,
    subgraphs,
    tensor_bytes,
    tensor_metadata,
    weights_are_fed,
)
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.perturbation import can_move, moved_model
from polycmp_onnx.shapes import structure, value_types

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto

    from polycmp_onnx.external import ExternalModel
#: Elements of an attribute that are worth showing.
_SHOWN = 16


class _Inferred(NamedTuple):
    """What ONNX infers of a model for inputs of some shapes.

    Attributes:
        types: Types and shapes of its tensors; what the file declares of those of which nothing is inferred.
        shapes: Shapes that are inferred whole, by name.
    """

    types: TensorMetadata
    shapes: Mapping[str, tuple[int, ...]]


class OnnxGraph:
    """An ONNX model as `polycmp.graph.ModelGraph` describes.

    Args:
        model: The model, none of whose weights is an input; neither it nor its parts may be changed.
        external: The same model together with where its weights are, if it refers to them as external data.
        types: Types of the tensors that are asked for, as `ValueInfoProto` by name; None to infer those of all.
    """

    def __init__(
        self, model: ModelProto, external: ExternalModel | None = None, types: Mapping[str, Any] | None = None
    ) -> None:
        self.model = model
        self.external = external
        self._view = GraphView(model.graph)
        self._known_types = types
        self._inferred: dict[tuple[Any, ...], _Inferred] = {}

    @cached_property
    def inputs(self) -> TensorMetadata:
        """The inputs that a caller feeds."""
        return tensor_metadata(graph_inputs(self.model.graph))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The model's outputs."""
        return tuple(self._view.outputs)

    @cached_property
    def nodes(self) -> Sequence[GraphNode]:
        """The operators in the model's order, which ONNX wants to be one in which they can run."""
        return [
            _graph_node(node, reads)
            for node, reads in zip(self._view.nodes, self._view.reads, strict=True)
            if node.op_type != "Constant"
        ]

    @cached_property
    def weights(self) -> Mapping[str, int]:
        """Name and bytes of the initializers and of what Constant nodes hold."""
        sizes = {name: tensor_bytes(item) for name, item in self._view.weights.items()}
        for item in self.model.graph.sparse_initializer:
            sizes[item.values.name] = item.ByteSize()
        for node in self._view.nodes:
            if node.op_type == "Constant":
                sizes[node.output[0]] = node.ByteSize()
        return sizes

    @cached_property
    def opaque(self) -> frozenset[str]:
        """Names of sequences, optionals and maps."""
        opaque = {name for node in self._view.nodes if node.op_type in NO_TENSOR for name in node.output}
        opaque.update(
            name for name, value in self._types.items() if value.type.WhichOneof("value") not in (None, "tensor_type")
        )
        return frozenset(opaque)

    def types(self, inputs: TensorMetadata) -> TensorMetadata:
        """Return the types and shapes that ONNX infers for inputs of these shapes.

        Args:
            inputs: Name, type and shape of what will be fed.
        """
        return TensorMetadata(self._for_inputs(inputs).types)

    def _for_inputs(self, inputs: TensorMetadata) -> _Inferred:
        entries = [inputs.get(value.name) for value in self.model.graph.input]
        fed = tuple(None if item is None else (item.dtype, item.shape and tuple(item.shape)) for item in entries)
        if fed not in self._inferred:
            self._inferred[fed] = self._infer(inputs)
        return self._inferred[fed]

    def _infer(self, inputs: TensorMetadata) -> _Inferred:
        small = structure(self.model)
        for value in small.graph.input:
            entry = inputs.get(value.name)
            if entry is not None and entry.shape is not None and value.type.HasField("tensor_type"):
                # Nothing runs on inputs of another rank; onnx up to 1.21 ends the process on what it infers from them.
                shape = entry.shape if _has_rank(value, len(entry.shape)) else None
                declared = value.type.tensor_type.elem_type or _elem_type(entry, value)  # runtimes take no other
                value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, declared, shape))
        for noted in (small.graph.output, small.graph.value_info):
            del noted[:]  # their declared dimensions may be names that say less than what follows
        small.graph.output.extend(
            onnx.ValueInfoProto(name=name) for name in computed_tensors(self.model.graph, constants=False)
        )
        _drop_branches(small.graph)
        try:
            inferred = known_values(onnx.shape_inference.infer_shapes(small, data_prop=True).graph)
        except Exception:  # noqa: BLE001 - shapes are a help here, never a need
            inferred = {}
        known = {name: value for name, value in inferred.items() if _says_more(value, self._types.get(name))}
        values = {**self._types, **known}
        metadata = TensorMetadata()
        for name, value in values.items():
            metadata.add(name, element_type(value), shape_of(value))
        shapes = {name: metadata[name].static_shape() for name in known if not metadata[name].is_dynamic()}
        return _Inferred(metadata, shapes)

    def enter(
        self, node: GraphNode, held: Mapping[str, NDArray[Any]]
    ) -> tuple[OnnxGraph, Mapping[str, NDArray[Any]]] | None:
        """Return what If, Loop or Scan run first inside, and what that is fed; None for other operators.

        Raises:
            ModelError: The files of weights cannot be read.
        """
        proto = next((item for item in self.model.graph.node if item.output[:1] == [*node.outputs][:1]), None)
        if proto is None or proto.op_type not in CONTROL_FLOW:
            return None
        weights = self.values([name for name in proto.input if name in self.weights])
        inner = first_run(self.model, proto, held, weights)
        if inner is None:
            return None
        external = None if self.external is None else replace(self.external, model=inner[0])
        return OnnxGraph(inner[0], external), inner[1]

    def cut(self, inputs: TensorMetadata, outputs: Sequence[str]) -> OnnxLoader:
        """Return a loader of the part between some tensors and others.

        Args:
            inputs: The tensors that will be fed, with their types and shapes.
            outputs: Names of the tensors to compute.
        """
        return _Part(self, inputs, tuple(outputs))

    def mark(self, outputs: Sequence[str]) -> OnnxLoader:
        """Return a loader of the whole model with these outputs.

        Args:
            outputs: Names of tensors that the model computes.
        """
        return _Part(self, None, tuple(outputs))

    def perturbed(
        self, kinds: Mapping[str, Rounding], seed: int, inputs: TensorMetadata, times: float = 1.0
    ) -> OnnxGraph | None:
        """Return the model with tensors that move at random, as `polycmp.graph.PerturbableGraph` describes."""
        if not can_move(self.model):
            return None
        model = moved_model(self.model, self._types, self._for_inputs(inputs).shapes, kinds, seed, times)
        external = None if self.external is None else replace(self.external, model=model)
        return OnnxGraph(model, external, self._types)  # of one name the tensors of both have one type

    def values(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the values of weights by name, those in files mapped into memory.

        Raises:
            ModelError: The files of weights cannot be read.
        """
        held = {name: self._view.weights.get(name, self._view.held.get(name)) for name in names}
        inside = {name: item for name, item in held.items() if item is not None and not item.external_data}
        arrays = {name: onnx.numpy_helper.to_array(item) for name, item in inside.items()}
        outside = [item for name, item in held.items() if item is not None and name not in inside]
        if self.external is not None and outside:
            arrays.update(self.external.arrays(outside))
        return arrays

    def settings(self, node: GraphNode) -> Mapping[str, Any]:
        """Return what an operator is told to do, as `polycmp.graph.DeclaredGraph` describes."""
        return self._declared.settings(node)

    def constants(self, node: GraphNode) -> Mapping[str, Constant]:
        """Return the constants that an operator reads, as `polycmp.graph.DeclaredGraph` describes.

        Raises:
            ModelError: The files of weights cannot be read.
        """
        return self._declared.constants(node)

    @cached_property
    def _declared(self) -> Declarations:
        return Declarations(self.model, self._view, self._types, self.values)

    @cached_property
    def _types(self) -> Mapping[str, Any]:
        return value_types(self.model) if self._known_types is None else self._known_types

    def part(self, inputs: TensorMetadata | None, outputs: Iterable[str]) -> ModelProto:
        """Return the part of the model that computes `outputs` from `inputs`, None for the model's own inputs."""
        output_names = list(outputs)
        border = set(inputs or ())
        chosen, needed = self._view.ancestors(output_names, border)
        source = self.model
        part = type(source)(ir_version=source.ir_version, opset_import=source.opset_import, functions=source.functions)
        graph = part.graph
        graph.name = source.graph.name
        graph.node.extend(self._view.nodes[index] for index in chosen)
        rename_fed(graph.node, border)
        graph.initializer.extend(
            item for name, item in self._view.weights.items() if name in needed and name not in border
        )
        graph.sparse_initializer.extend(item for item in source.graph.sparse_initializer if item.values.name in needed)
        if inputs is None:
            graph.input.extend(source.graph.input)
        else:
            graph.input.extend(self._fed(name, entry) for name, entry in inputs.items())
        graph.output.extend(self._output_value(name, marked=inputs is None) for name in output_names)
        return part

    def _fed(self, name: str, entry: Any) -> Any:
        declared = self._types.get(name)
        if declared is not None and declared.type.WhichOneof("value") == "optional_type":
            return declared
        return onnx.helper.make_tensor_value_info(name, _elem_type(entry, declared), entry.shape)

    def _output_value(self, name: str, *, marked: bool) -> Any:
        declared = self._types.get(name)
        if declared is None or (not marked and declared.type.WhichOneof("value") != "tensor_type"):
            return onnx.ValueInfoProto(name=name)
        if marked:
            return deepcopy(declared)
        # A part is fed with concrete shapes, beside which the names of the model's dimensions mean nothing.
        shape = shape_of(declared)
        dims = None if shape is None else [dim if is_size(dim) else None for dim in shape]
        return onnx.helper.make_tensor_value_info(name, declared.type.tensor_type.elem_type, dims)


class _Part(OnnxLoader):
    """Makes a part of a model; what it gives is fresh each time."""

    def __init__(self, graph: OnnxGraph, inputs: TensorMetadata | None, outputs: tuple[str, ...]) -> None:
        self.graph = graph
        self.inputs = inputs
        self.outputs = outputs

    def call_impl(self) -> ModelProto:
        """Return the part with its weights.

        Raises:
            ModelError: They cannot be read.
        """
        external = self.external()
        return self.graph.part(self.inputs, self.outputs) if external is None else external.loaded()

    def external(self) -> ExternalModel | None:
        """Return the part with its large weights left in the model's files; None if they lie in no file as such."""
        whole = self.graph.external
        return None if whole is None else replace(whole, model=self.graph.part(self.inputs, self.outputs))


def open_graph(loader: Any) -> OnnxGraph:
    """Return the model that a loader gives as a graph, its large weights left in their files where it can.

    Args:
        loader: A loader of this package, with any options.
    """
    external = loader.external() if isinstance(loader, OnnxLoader) else None
    if external is not None:
        return OnnxGraph(external.model, external)
    model = loader()
    return OnnxGraph(own_model(model) if weights_are_fed(model) else model)


def _says_more(inferred: Any, declared: Any) -> bool:
    """Return whether to take the inferred type: after an operator that ONNX does not know, it has no shape."""
    return inferred.HasField("type") and (shape_of(inferred) is not None or declared is None)


def _has_rank(declared: Any, rank: int) -> bool:
    shaped = declared.type.tensor_type
    return not shaped.HasField("shape") or len(shaped.shape.dim) == rank


def _elem_type(entry: Any, declared: Any) -> int:
    if entry.dtype is not None:
        return int(onnx.helper.np_dtype_to_tensor_dtype(entry.dtype))
    return int(declared.type.tensor_type.elem_type) if declared is not None else 0


def _drop_branches(graph: onnx.GraphProto) -> None:
    """Remove what If may run: a branch need not take the inputs of the other, and onnx ends the process on it then."""
    for node in graph.node:
        if is_standard(node, "If"):
            del node.attribute[:]
        for inner in subgraphs(node):
            _drop_branches(inner)


def _graph_node(node: Any, reads: Sequence[str]) -> GraphNode:
    return GraphNode(
        op_type=node.op_type,
        name=node.name,
        domain=node.domain,
        inputs=tuple(reads),
        outputs=tuple(name for name in node.output if name),
        attributes={attribute.name: _plain(attribute) for attribute in node.attribute},
        metadata={item.key: item.value for item in getattr(node, "metadata_props", ())},  # ONNX before 1.16 has none
        operands=tuple(node.input),
    )


def _plain(attribute: Any) -> Any:
    """Return an attribute's value as something that prints shortly."""
    if attribute.type in {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS}:
        return "a graph"
    if attribute.type == onnx.AttributeProto.TENSOR:
        if math.prod(attribute.t.dims) > _SHOWN:
            return f"a tensor of shape {list(attribute.t.dims)}"
        return onnx.numpy_helper.to_array(attribute.t).tolist()
    value = attribute_value(attribute)
    return [*value[:_SHOWN], "…"] if isinstance(value, list) and len(value) > _SHOWN else value

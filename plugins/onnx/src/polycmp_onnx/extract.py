"""Cutting a part out of a model.

`onnx.utils.Extractor` leaves out what subgraphs read from around them: of 375 parts of the random models of
`truth.writing` 29 were invalid for it. onnx-ir cuts all of them right, but copies the weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError, did_you_mean
from polycmp.loader import immediate, keyword_aliases
from polycmp.tensors import TensorEntry
from polycmp_onnx.graph import (
    GraphView,
    computed_tensors,
    element_type,
    graph_inputs,
    keep_items,
    known_values,
    rename_fed,
    replace_items,
    shape_of,
    value_of,
)
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.passes import WEIGHTS_APART, model_pass, noted_types
from polycmp_onnx.shapes import infer_shapes, value_types
from polycmp_onnx.tidy import set_shape

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

    Tensors = Mapping[str, TensorEntry] | Sequence[str]


@keyword_aliases("check_meta", input_metadata="inputs", output_metadata="outputs")
class ExtractSubgraph(OnnxLoader):
    """Cuts out the part of a model that leads from some tensors to others, with the weights it needs.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        inputs: Names, or a `TensorMetadata` whose types and shapes replace those of the model; None for the model's
            inputs as far as they are needed. Weights that the model lists among its inputs are none.
        outputs: The same for outputs; None for the model's.
    """

    def __init__(self, model: ModelSource, inputs: Tensors | None = None, outputs: Tensors | None = None) -> None:
        self.model = model
        self.inputs = inputs
        self.outputs = outputs

    def call_impl(self) -> ModelProto:
        """Return the part.

        Raises:
            UsageError: A name is unknown.
            ModelError: The part needs an input that was not named, or one whose type is unknown.
        """
        model = own_model(self.model)
        extract_part(model, self.inputs, self.outputs)
        return model


extract_subgraph = immediate(ExtractSubgraph)


@model_pass(requires=(WEIGHTS_APART,))
def extract_part(model: Any, inputs: Tensors | None = None, outputs: Tensors | None = None) -> bool:
    """Take everything out of a model that does not lead from some tensors to others.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        inputs: As for `ExtractSubgraph`.
        outputs: As for `ExtractSubgraph`.

    Returns:
        Whether anything changed.

    Raises:
        UsageError: A name is unknown.
        ModelError: The part needs an input that was not named, or one whose type is unknown.
    """
    graph = model.graph
    starts = [value.name for value in graph_inputs(graph)] if inputs is None else list(inputs)
    ends = [value.name for value in graph.output] if outputs is None else list(outputs)
    _check_names(graph, starts, ends)
    nodes, needed = GraphView(graph).ancestors(ends, set(starts))
    _check_complete(graph, starts, needed)
    used = [name for name in starts if name in needed or inputs is not None]
    values = _typed_values(model, [*used, *ends])
    part_inputs = [_value(values, name, inputs) for name in used]
    part_outputs = [_value(values, name, outputs) for name in ends]
    before = noted_types(model)
    modified = _shrink(graph, nodes, needed, set(starts))
    replace_items(graph.input, part_inputs)
    replace_items(graph.output, part_outputs)
    for value in graph.input:
        if value.type.WhichOneof("value") is None or (value.type.HasField("tensor_type") and not element_type(value)):
            raise ModelError(f"the type of {value.name!r} is unknown", hint="run shape inference first, or give it")
    return modified or noted_types(model) != before


def _check_complete(graph: Any, inputs: Iterable[str], needed: set[str]) -> None:
    missing = [value.name for value in graph.input if value.name in needed and value.name not in inputs]
    if missing:
        raise ModelError(f"this part also needs the input {missing[0]!r}", hint=f"name it too: {missing}")


def _check_names(graph: Any, inputs: Iterable[str], outputs: Iterable[str]) -> None:
    computed = computed_tensors(graph)
    names = {*computed, *(value.name for value in graph.input), *(item.name for item in graph.initializer)}
    for name in [*inputs, *outputs]:
        if name not in names:
            raise UsageError(f"the model has no tensor {name!r}", why=did_you_mean(name, names))


def _typed_values(model: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return value infos by name, from shape inference if the model does not note them all."""
    known = known_values(model.graph)
    for find in (value_types, lambda model: known_values(infer_shapes(model).graph)):
        if all(name in known and element_type(known[name]) is not None for name in names):
            break
        known = find(model)
    return known


def _shrink(graph: Any, nodes: list[int], needed: set[str], inputs: set[str]) -> bool:
    """Take out what a part does not need, and return whether that is anything."""
    part_nodes = [graph.node[index] for index in nodes]
    inner = {name for node in part_nodes for name in node.output}
    weights = needed - inputs
    count = len(graph.node)
    replace_items(graph.node, part_nodes)
    removed = len(part_nodes) < count or not inner.isdisjoint(inputs)
    rename_fed(graph.node, inputs)
    removed |= keep_items(graph.initializer, lambda item: item.name in weights)
    removed |= keep_items(graph.sparse_initializer, lambda item: item.values.name in needed)
    removed |= keep_items(graph.value_info, lambda value: value.name in inner)
    return removed


def _value(values: dict[str, Any], name: str, tensors: Tensors | None) -> Any:
    import onnx

    entry = tensors.get(name) if isinstance(tensors, Mapping) else None
    value = value_of(values, name)
    if entry is not None and entry.dtype is not None:
        shape = None if value.type.WhichOneof("value") != "tensor_type" else shape_of(value)
        kind = onnx.helper.np_dtype_to_tensor_dtype(entry.dtype)
        value.CopyFrom(onnx.helper.make_tensor_value_info(name, kind, shape))
    if entry is not None and entry.shape is not None and value.type.HasField("tensor_type"):
        set_shape(value, entry.shape)
    return value

"""Cutting a part out of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError, did_you_mean
from polycmp.loader import immediate
from polycmp.tensors import TensorEntry
from polycmp_onnx.graph import computed_tensors, element_type, known_values, reads, rename_fed, replace_items
from polycmp_onnx.load import OnnxLoader, own_model
from polycmp_onnx.shapes import infer_shapes

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_onnx.load import ModelSource

    Tensors = Mapping[str, TensorEntry] | Sequence[str]


class ExtractSubgraph(OnnxLoader):
    """Cuts out the part of a model that leads from some tensors to others, with the weights it needs.

    Args:
        model: A model, or a callable that returns one; it is not changed.
        inputs: Names, or a `TensorMetadata` whose types and shapes replace those of the model; None for the model's
            inputs as far as they are needed.
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
            ModelError: The part needs an input that was not named, or one whose type nobody knows.
        """
        model = own_model(self.model)
        graph = model.graph
        inputs = [value.name for value in graph.input] if self.inputs is None else list(self.inputs)
        outputs = [value.name for value in graph.output] if self.outputs is None else list(self.outputs)
        _check_names(graph, inputs, outputs)
        nodes, needed = _walk_back(graph, inputs, outputs)
        self._check_complete(graph, inputs, needed)
        used = [name for name in inputs if name in needed or self.inputs is not None]
        values = _typed_values(model, [*used, *outputs])
        _shrink(graph, nodes, needed, set(inputs))
        replace_items(graph.input, [_value(values, name, self.inputs) for name in used])
        replace_items(graph.output, [_value(values, name, self.outputs) for name in outputs])
        for value in graph.input:
            if element_type(value) is None:
                raise ModelError(
                    f"the type of {value.name!r} is not known", hint="run shape inference first, or give it"
                )
        return model

    def _check_complete(self, graph: Any, inputs: list[str], needed: set[str]) -> None:
        missing = [value.name for value in graph.input if value.name in needed and value.name not in inputs]
        weights = {item.name for item in graph.initializer}
        missing = [name for name in missing if name not in weights]
        if missing:
            raise ModelError(f"this part also needs the input {missing[0]!r}", hint=f"name it too: {missing}")


extract_subgraph = immediate(ExtractSubgraph)


def _check_names(graph: Any, inputs: Iterable[str], outputs: Iterable[str]) -> None:
    made = computed_tensors(graph)
    known = {*made, *(value.name for value in graph.input), *(item.name for item in graph.initializer)}
    for name in [*inputs, *outputs]:
        if name not in known:
            raise UsageError(f"the model has no tensor {name!r}", why=did_you_mean(name, known))


def _walk_back(graph: Any, inputs: Iterable[str], outputs: Iterable[str]) -> tuple[list[int], set[str]]:
    """Return the indices of the nodes between the tensors, in order, and the names of all tensors they read."""
    maker = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    border = set(inputs)
    needed: set[str] = set()
    chosen: set[int] = set()
    waiting = list(outputs)
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        index = maker.get(name)
        if index is not None and name not in border and index not in chosen:
            chosen.add(index)
            waiting.extend(reads(graph.node[index]))
    return sorted(chosen), needed


def _typed_values(model: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return value infos by name, from shape inference if the model does not note them all."""
    known = known_values(model.graph)
    if all(name in known and element_type(known[name]) is not None for name in names):
        return known
    return known_values(infer_shapes(model).graph)


def _shrink(graph: Any, nodes: list[int], needed: set[str], inputs: set[str]) -> None:
    kept = [graph.node[index] for index in nodes]
    inner = {name for node in kept for name in node.output}
    replace_items(graph.node, kept)
    rename_fed(graph.node, inputs)
    replace_items(graph.initializer, [item for item in graph.initializer if item.name in needed - inputs])
    replace_items(graph.sparse_initializer, [item for item in graph.sparse_initializer if item.values.name in needed])
    replace_items(graph.value_info, [value for value in graph.value_info if value.name in inner])


def _value(values: dict[str, Any], name: str, given: Tensors | None) -> Any:
    import onnx

    entry = given.get(name) if isinstance(given, Mapping) else None
    if entry is not None and entry.dtype is not None:
        kind = onnx.helper.np_dtype_to_tensor_dtype(entry.dtype)
        shape = None if entry.shape is None else [None if dim == -1 else dim for dim in entry.shape]
        return onnx.helper.make_tensor_value_info(name, kind, shape)
    return values.get(name) or onnx.ValueInfoProto(name=name)

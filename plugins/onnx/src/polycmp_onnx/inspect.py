"""A model as text, for `inspect model`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.tensors import TensorMetadata, format_shape
from polycmp.terminal import visible
from polycmp_onnx.graph import graph_inputs, subgraphs, tensor_metadata

_SHOW = ("layers", "attrs", "weights")
_LONG = 60


def inspect(loader: Callable[[], Any], show: Iterable[str] = ()) -> str:
    """Return a model as text: name, opsets, inputs, outputs, number of weights and of nodes.

    Args:
        loader: A callable that returns a model.
        show: Further parts: "layers" for the nodes, "attrs" for their attributes too, "weights" for the weights.

    Raises:
        UsageError: There is no such part.
    """
    parts = set(show)
    for part in parts - set(_SHOW):
        raise UsageError(f"--show {part!r} is not offered for ONNX models", why=did_you_mean(part, _SHOW))
    model = loader()
    graph = model.graph
    opsets = ", ".join(f"{item.domain or 'ONNX'} {item.version}" for item in model.opset_import)
    lines = ["ONNX model", f"  Name: {graph.name or '(none)'} | Opset: {opsets} | IR version: {model.ir_version}"]
    if model.producer_name:
        lines.append(f"  Producer: {model.producer_name} {model.producer_version}".rstrip())
    lines += _values("Input", tensor_metadata(graph_inputs(graph)))
    lines += _values("Output", tensor_metadata(graph.output))
    lines += _weights(graph, "weights" in parts)
    lines += [f"  {_count(len(graph.node), 'Node')}: {_kinds(graph)}"]
    if parts & {"layers", "attrs"}:
        lines += _nodes(graph, "attrs" in parts, "    ")
    return "\n".join(map(visible, lines))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _values(noun: str, values: TensorMetadata) -> list[str]:
    return [f"  {_count(len(values), noun)}", *(f"    {name}: {entry}" for name, entry in values.items())]


def _kinds(graph: Any) -> str:
    counts: dict[str, int] = {}
    for node in graph.node:
        counts[node.op_type] = counts.get(node.op_type, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {kind}" for kind, count in ordered) or "none"


def _weights(graph: Any, values: bool) -> list[str]:
    import onnx

    lines = [f"  {_count(len(graph.initializer), 'Initializer')}"]
    if not values:
        return lines
    for item in graph.initializer:
        kind = onnx.helper.tensor_dtype_to_np_dtype(item.data_type).name
        if onnx.external_data_helper.uses_external_data(item):
            text = "outside the file, not loaded"
        else:
            text = _flat(onnx.numpy_helper.to_array(item))
        lines.append(f"    {item.name}: {kind}{format_shape(item.dims)} = {text}")
    return lines


def _flat(array: Any) -> str:
    shown = [str(value) for value in array.reshape(-1)[:8]]
    return "[" + ", ".join(shown) + (", …" if array.size > len(shown) else "") + "]"


def _nodes(graph: Any, attributes: bool, indent: str) -> list[str]:
    known: dict[str, str] = {
        name: str(entry) for name, entry in tensor_metadata([*graph.value_info, *graph.input, *graph.output]).items()
    }
    known.update(_initializer_types(graph))
    lines = []
    for index, node in enumerate(graph.node):
        domain = f"{node.domain}::" if node.domain else ""
        lines.append(f"{indent}Node {index} | {node.name or '(no name)'} [{domain}{node.op_type}]")
        lines.append(f"{indent}  {_typed(node.input, known)} -> {_typed(node.output, known)}")
        if attributes:
            lines += [f"{indent}  {item.name} = {_attribute(item)}" for item in node.attribute]
            for inner in subgraphs(node):
                lines.append(f"{indent}  graph {inner.name}:")
                lines += _nodes(inner, attributes, indent + "    ")
    return lines


def _initializer_types(graph: Any) -> dict[str, str]:
    import onnx

    return {
        item.name: f"{onnx.helper.tensor_dtype_to_np_dtype(item.data_type).name}{format_shape(item.dims)} weight"
        for item in graph.initializer
    }


def _typed(names: Iterable[str], known: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {known[name]}" if name in known else name for name in names if name) + "}"


def _attribute(attribute: Any) -> str:
    import onnx

    if attribute.ref_attr_name:
        return f"attribute {attribute.ref_attr_name} of the function"
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return _flat(onnx.numpy_helper.to_array(value))
    if isinstance(value, onnx.GraphProto):
        return f"graph {value.name}"
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONG else text[:_LONG] + "…"

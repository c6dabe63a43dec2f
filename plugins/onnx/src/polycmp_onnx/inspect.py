"""A model as text, for `inspect model`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.sentences import counted
from polycmp.tensors import TensorMetadata, format_shape
from polycmp.terminal import visible
from polycmp_onnx.graph import graph_inputs, known_values, nodes_within, subgraphs, tensor_metadata
from polycmp_onnx.load import OnnxLoader

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
    external = loader.external() if isinstance(loader, OnnxLoader) else None
    model = loader() if external is None else external.model
    graph = model.graph
    opsets = ", ".join(f"{item.domain or 'ONNX'} {item.version}" for item in model.opset_import)
    lines = ["ONNX model", f"  Name: {graph.name or '(none)'} | Opset: {opsets} | IR version: {model.ir_version}"]
    if model.producer_name:
        lines.append(f"  Producer: {model.producer_name} {model.producer_version}".rstrip())
    lines += _values("Input", tensor_metadata(graph_inputs(graph)))
    lines += _values("Output", tensor_metadata(graph.output))
    arrays = {} if external is None else external.arrays()
    file_name = "" if external is None else external.own
    lines += _number(graph, file_name) if "weights" not in parts else _weights(graph, arrays, file_name)
    lines += _functions(model, parts)
    lines += [f"  {counted(len(graph.node), 'Node')}: {_kinds(graph)}"]
    if parts & {"layers", "attrs"}:
        lines += _nodes(graph, "attrs" in parts, "    ")
    return "\n".join(map(visible, lines))


def model_text(model: Any, show: Iterable[str] = ()) -> str:
    """Return a model as text, as `polycmp inspect model` shows it.

    Args:
        model: An `onnx.ModelProto`.
        show: Further parts, as for `inspect model --show`: "layers", "attrs", "weights".

    Raises:
        UsageError: There is no such part.
    """
    return inspect(lambda: model, show)


def _values(noun: str, values: TensorMetadata) -> list[str]:
    return [f"  {counted(len(values), noun)}", *(f"    {name}: {entry}" for name, entry in values.items())]


def _kinds(graph: Any) -> str:
    counts = Counter(node.op_type for node in graph.node)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {kind}" for kind, count in ordered) or "none"


def _number(graph: Any, file_name: str = "") -> list[str]:
    import onnx

    places = [
        entry.value
        for item in graph.initializer
        if onnx.external_data_helper.uses_external_data(item)
        for entry in item.external_data
        if entry.key == "location" and entry.value != file_name
    ]
    remark = f", {len(places)} of them outside the file, in {', '.join(sorted(set(places)))}" if places else ""
    inner = sum(len(part.initializer) for node in nodes_within(graph) for part in subgraphs(node))
    remark += f", and {inner} in subgraphs" if inner else ""
    return [f"  {counted(len(graph.initializer), 'Initializer')}{remark}"]


def _functions(model: Any, parts: Iterable[str]) -> list[str]:
    if not model.functions:
        return []
    lines = [f"  {counted(len(model.functions), 'Function')}"]
    for item in model.functions:
        name = f"{item.domain}::{item.name}" if item.domain else item.name
        lines.append(f"    {name}({', '.join(item.input)}) -> {', '.join(item.output)}: {_kinds(item)}")
        if {"layers", "attrs"} & set(parts):
            lines += _nodes(item, "attrs" in parts, "      ")
    return lines


def _weights(graph: Any, arrays: Mapping[str, Any], file_name: str = "") -> list[str]:
    import onnx

    lines = _number(graph, file_name)
    for item in graph.initializer:
        kind = onnx.helper.tensor_dtype_to_np_dtype(item.data_type).name
        if item.name in arrays:
            text = _flat(arrays[item.name])
        elif onnx.external_data_helper.uses_external_data(item):
            text = "outside the file, not loaded"
        else:
            text = _numbers(item)
        lines.append(f"    {item.name}: {kind}{format_shape(item.dims)} = {text}")
    return lines


def _flat(array: Any) -> str:
    shown = [str(value) for value in array.reshape(-1)[:8]]
    return "[" + ", ".join(shown) + (", …" if array.size > len(shown) else "") + "]"


def _numbers(tensor: Any) -> str:
    import onnx

    return _flat(onnx.numpy_helper.to_array(tensor))


def _nodes(graph: Any, attributes: bool, indent: str) -> list[str]:
    known: dict[str, str] = {name: str(entry) for name, entry in tensor_metadata(known_values(graph).values()).items()}
    known.update(_initializer_types(graph))
    lines = []
    for index, node in enumerate(graph.node):
        domain = f"{node.domain}::" if node.domain else ""
        lines.append(f"{indent}Node {index} | {node.name or '(no name)'} [Op: {domain}{node.op_type}]")
        lines.append(f"{indent}  {_typed(node.input, known)} -> {_typed(node.output, known)}")
        if attributes:
            lines += [f"{indent}  {item.name} = {attribute_text(item, _numbers)}" for item in node.attribute]
            for inner in subgraphs(node):
                lines.append(f"{indent}  graph {inner.name}:")
                lines += [f"{indent}  {line}" for line in (_weights(inner, {}) if inner.initializer else ())]
                lines += _nodes(inner, attributes, indent + "    ")
    return lines


def _initializer_types(graph: Any) -> dict[str, str]:
    import onnx

    return {
        item.name: f"{onnx.helper.tensor_dtype_to_np_dtype(item.data_type).name}{format_shape(item.dims)} weight"
        for item in getattr(graph, "initializer", ())
    }


def _typed(names: Iterable[str], known: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {known[name]}" if name in known else name for name in names if name) + "}"


def attribute_text(attribute: Any, of_tensor: Callable[[Any], str]) -> str:
    """Return an attribute's value as a short text.

    Args:
        attribute: An `onnx.AttributeProto`.
        of_tensor: Returns the text of an `onnx.TensorProto`.
    """
    import onnx

    if attribute.ref_attr_name:
        return f"attribute {attribute.ref_attr_name} of the function"
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return of_tensor(value)
    if isinstance(value, onnx.GraphProto):
        return f"graph {value.name}"
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONG else text[:_LONG] + "…"

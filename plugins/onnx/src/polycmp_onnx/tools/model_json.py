"""An ONNX model as plain values, for `inspect model --json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.tensors import dtype_name
from polycmp_onnx.graph import graph_inputs, subgraphs, tensor_metadata

if TYPE_CHECKING:
    from polycmp_onnx.external import ExternalModel

#: Numbers of an attribute or a weight that are written down at most.
SHOWN = 64


def document(
    proto: Any, show: Iterable[str], info: Mapping[str, Mapping[str, Any]], external: ExternalModel | None = None
) -> dict[str, Any]:
    """Return a model as plain values.

    Args:
        proto: An `onnx.ModelProto`.
        show: "weights" for the values of weights, too.
        info: Statistics by tensor, to be noted beside it.
        external: The model with its weights left in their files, where it was read so.
    """
    graph = proto.graph
    arrays = {} if external is None else external.arrays()
    file_name = "" if external is None else external.own
    body = _body(graph, "weights" in set(show))
    for entry, item in zip(body["initializers"], graph.initializer, strict=True):
        if entry.get("external", {}).get("location") == file_name:
            del entry["external"]
        if "weights" in set(show) and item.name in arrays:
            entry["values"] = _plain(arrays[item.name])
    return {
        "schema": 1,
        "name": graph.name,
        "ir_version": proto.ir_version,
        "producer": {"name": proto.producer_name, "version": proto.producer_version},
        "opsets": {item.domain or "ai.onnx": item.version for item in proto.opset_import},
        "metadata": {item.key: item.value for item in proto.metadata_props},
        "inputs": _values(graph_inputs(graph)),
        "outputs": _values(graph.output),
        **body,
        "functions": [_function(item) for item in proto.functions],
        **({"tensor_info": {name: dict(figures) for name, figures in info.items()}} if info else {}),
    }


def _values(values: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": None if entry.dtype is None else dtype_name(entry.dtype),
            "shape": None if entry.shape is None else list(entry.shape),
        }
        for name, entry in tensor_metadata(values).items()
    ]


def _body(graph: Any, weights: bool) -> dict[str, Any]:
    return {
        "initializers": [_weight(item, weights) for item in graph.initializer],
        "nodes": [_node(node, weights) for node in graph.node],
        "tensors": _values(graph.value_info),
    }


def _function(item: Any) -> dict[str, Any]:
    return {
        "name": item.name,
        "domain": item.domain,
        "inputs": list(item.input),
        "outputs": list(item.output),
        "attributes": [*item.attribute, *(attribute.name for attribute in item.attribute_proto)],
        "nodes": [_node(node, False) for node in item.node],
    }


def _weight(item: Any, values: bool) -> dict[str, Any]:
    import onnx

    fields: dict[str, Any] = {
        "name": item.name,
        "dtype": dtype_name(onnx.helper.tensor_dtype_to_np_dtype(item.data_type)),
        "shape": list(item.dims),
    }
    if onnx.external_data_helper.uses_external_data(item):
        fields["external"] = {entry.key: entry.value for entry in item.external_data}
    elif values:
        fields["values"] = _plain(onnx.numpy_helper.to_array(item))
    return fields


def _node(node: Any, weights: bool) -> dict[str, Any]:
    entry = {
        "name": node.name,
        "op": node.op_type,
        "domain": node.domain,
        "inputs": list(node.input),
        "outputs": list(node.output),
        "attributes": {item.name: _attribute(item) for item in node.attribute},
    }
    inner = {part.name: {"outputs": _values(part.output), **_body(part, weights)} for part in subgraphs(node)}
    return {**entry, "subgraphs": inner} if inner else entry


def _attribute(attribute: Any) -> Any:
    import onnx

    if attribute.ref_attr_name:
        return {"ref": attribute.ref_attr_name}
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return _weight(value, True)
    if isinstance(value, onnx.GraphProto):
        return {"graph": value.name}
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, (list, tuple)) or hasattr(value, "__iter__"):
        items = list(value)[:SHOWN]
        return [item.decode(errors="replace") if isinstance(item, bytes) else _or_text(item) for item in items]
    return str(value)


def _or_text(item: Any) -> Any:
    return item if isinstance(item, (int, float, str)) else str(getattr(item, "name", item))


def _plain(array: Any) -> list[Any]:
    flat = array.reshape(-1)[:SHOWN]
    return [
        str(item) if flat.dtype.kind in "OSU" else float(item) if flat.dtype.kind not in "iub" else int(item)
        for item in flat
    ]

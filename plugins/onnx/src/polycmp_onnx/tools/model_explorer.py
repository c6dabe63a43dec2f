"""`inspect model --save-visual`: the graph of an ONNX model for Model Explorer, with errors as its node data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write, to_bytes
from polycmp.options import parse_json
from polycmp.tensors import format_shape
from polycmp_onnx.graph import graph_inputs, reads, subgraphs, tensor_metadata
from polycmp_onnx.inspect import attribute_text
from polycmp_onnx.shapes import value_types

#: Colours from no error to the largest.
_GRADIENT = ({"stop": 0, "bgColor": "#2f9e5b"}, {"stop": 0.5, "bgColor": "#e8c33a"}, {"stop": 1, "bgColor": "#d23c3c"})


@dataclass(frozen=True)
class _Node:
    """An operator, an input or an output of the graph."""

    op: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, str] = field(default_factory=dict)


def save_graph(
    proto: Any, path: str, errors: str = "", info: Mapping[str, Mapping[str, float]] | None = None
) -> list[str]:
    """Write a graph, and the errors of its operators, where there are any, beside it.

    Args:
        proto: An `onnx.ModelProto`, which need not hold its external weights.
        path: The file to write.
        errors: A JSON report of `locate` whose errors colour the operators; empty for none.
        info: Statistics by tensor to show with it.

    Returns:
        The files written: the graph, and its node data.

    Raises:
        FileError: The report cannot be read or is none, or a file cannot be written.
    """
    report = _read_report(errors) if errors else {}
    title = proto.graph.name or "ONNX model"
    nodes = list(_nodes(proto.graph))
    documents = {path: {"label": title, "graphs": [_graph(title, nodes, _tensors(proto, report, info or {}))]}}
    data = _node_data(title, nodes, report)
    if data:
        documents[str(Path(path).with_suffix(".errors.json"))] = data
    for name, document in documents.items():
        with atomic_write(name) as file:
            file.write(to_bytes(json.dumps(document)))
    return list(documents)


def _read_report(path: str) -> dict[str, Any]:
    """Return a report of `locate`.

    Raises:
        FileError: It cannot be read, or is something else.
    """
    hint = "write one with: polycmp locate MODEL -b CANDIDATE -b REFERENCE --report FILE.json"
    try:
        report = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError("cannot read this report", whose=path, why=describe_exception(error), hint=hint) from error
    if not isinstance(report, dict) or report.get("kind") != "locate" or not isinstance(report.get("tensors"), list):
        raise FileError("this is not a report of locate", whose=path, hint=hint)
    return report


def _nodes(graph: Any) -> Iterator[_Node]:
    """Yield inputs, operators but constants, and outputs, in an order in which each comes after those it reads."""
    for value in graph_inputs(graph):
        yield _Node("input", value.name, [], [value.name])
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        attributes = {
            entry.name: attribute_text(entry, lambda tensor: f"tensor{format_shape(tensor.dims)}")
            for entry in node.attribute
        }
        bodies = ", ".join(f"{part.name}: {len(part.node)} nodes" for part in subgraphs(node))
        outputs = [name for name in node.output if name]
        yield _Node(node.op_type, node.name, list(reads(node)), outputs, attributes | {"graphs": bodies})
    for value in graph.output:
        yield _Node("output", value.name, [value.name], [])


def _graph(title: str, nodes: list[_Node], tensors: Mapping[str, dict[str, str]]) -> dict[str, Any]:
    producers = {name: (number, place) for number, node in enumerate(nodes) for place, name in enumerate(node.outputs)}
    return {
        "id": title,
        "nodes": [
            {
                "id": str(number),
                "label": node.op,
                "namespace": "/".join(modules_of(node.name)),
                "attrs": [
                    {"key": key, "value": value}
                    for key, value in ({"name": node.name} | node.attributes).items()
                    if value
                ],
                "incomingEdges": [
                    {
                        "sourceNodeId": str(producers[name][0]),
                        "sourceNodeOutputId": str(producers[name][1]),
                        "targetNodeInputId": str(node.inputs.index(name)),
                    }
                    for name in dict.fromkeys(node.inputs)
                    if name in producers
                ],
                "outputsMetadata": [
                    {
                        "id": str(place),
                        "attrs": [
                            {"key": key, "value": value}
                            for key, value in ({"tensor_name": name} | tensors.get(name, {})).items()
                        ],
                    }
                    for place, name in enumerate(node.outputs)
                ],
            }
            for number, node in enumerate(nodes)
        ],
    }


def modules_of(name: str) -> list[str]:
    """Return the modules that an exporter has written into an operator's name, the outermost first."""
    parts = [part for part in name.split("/") if part] if "/" in name else name.split(".")
    return parts[:-1]


def _tensors(
    proto: Any, report: Mapping[str, Any], info: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, str]]:
    """Return by tensor its type, its statistics and what the report says of it, as text."""
    tensors = {name: {"type": str(entry)} for name, entry in tensor_metadata(value_types(proto).values()).items()}
    for name, figures in info.items():
        tensors.setdefault(name, {}).update({key: f"{value:.5g}" for key, value in figures.items()})
    for row in report.get("tensors", ()):
        keys = ("passed", "max_error", "mean_error", "relative_error", "reason")
        judged = {key.replace("_", " "): _text(row[key]) for key in keys if row.get(key) not in (None, "")}
        tensors.setdefault(row["tensor"], {}).update(judged)
    return tensors


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _node_data(title: str, nodes: list[_Node], report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the largest error among each node's outputs, by its number; empty where none is known."""
    errors = {row["tensor"]: _number(row.get("relative_error")) for row in report.get("tensors", ())}
    results = {
        str(number): {"value": max(errors[name] for name in node.outputs if name in errors)}
        for number, node in enumerate(nodes)
        if not errors.keys().isdisjoint(node.outputs)
    }
    return {title: {"name": "relative error", "results": results, "gradient": list(_GRADIENT)}} if results else {}


def _number(value: Any) -> float:
    """Return a figure of a report, of which infinity and NaN are text; both are as bad as can be."""
    try:
        number = abs(float(value))
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 1e30

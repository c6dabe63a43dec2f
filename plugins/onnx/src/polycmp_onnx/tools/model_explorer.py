"""A graph in the format that Model Explorer (ai-edge-model-explorer) opens, and errors as its node data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polycmp.files import atomic_write, to_bytes

#: Colours from no error to the largest.
_GRADIENT = ({"stop": 0, "bgColor": "#2f9e5b"}, {"stop": 0.5, "bgColor": "#e8c33a"}, {"stop": 1, "bgColor": "#d23c3c"})


def data_file(path: str) -> str:
    """Return the file of node data beside a graph."""
    return str(Path(path).with_suffix(".errors.json"))


def save_graph(graph: Mapping[str, Any], path: str) -> None:
    """Write a graph, and the errors of its tensors, where there are any, beside it.

    Args:
        graph: The graph as the page of `--save-visual` holds it.
        path: The file to write.

    Raises:
        FileError: A file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(to_bytes(json.dumps({"label": graph["title"], "graphs": [_graph(graph)]})))
    data = _node_data(graph)
    if data:
        with atomic_write(data_file(path)) as file:
            file.write(to_bytes(json.dumps(data)))


def _graph(graph: Mapping[str, Any]) -> dict[str, Any]:
    into: dict[int, list[dict[str, str]]] = {}
    nodes = graph["nodes"]
    for edge in graph["edges"]:
        maker, reader = nodes[edge["from"]], nodes[edge["to"]]
        places = (maker["outputs"].index(edge["tensor"]), reader["inputs"].index(edge["tensor"]))
        link = {"sourceNodeId": str(maker["id"])}
        link |= {"sourceNodeOutputId": str(places[0]), "targetNodeInputId": str(places[1])}
        into.setdefault(reader["id"], []).append(link)
    return {"id": graph["title"], "nodes": [_node(node, into.get(node["id"], []), graph) for node in nodes]}


def _node(node: Mapping[str, Any], into: list[dict[str, str]], graph: Mapping[str, Any]) -> dict[str, Any]:
    named = {"name": node["name"], **node["attributes"]}
    return {
        "id": str(node["id"]),
        "label": node["op"],
        "namespace": "/".join(node["path"]),
        "attrs": [{"key": key, "value": str(value)} for key, value in named.items() if value],
        "incomingEdges": into,
        "outputsMetadata": [
            {"id": str(place), "attrs": list(_about(name, graph))} for place, name in enumerate(node["outputs"])
        ],
    }


def _about(name: str, graph: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    known = graph["tensors"].get(name, {})
    yield {"key": "tensor_name", "value": name}
    if "type" in known:
        yield {"key": "type", "value": known["type"]}
    for key, value in known.get("figures", {}).items():
        yield {"key": key, "value": str(value)}


def _node_data(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return the largest error of each node, by its number; empty where none is known."""
    results = {str(node["id"]): {"value": node["error"]} for node in graph["nodes"] if "error" in node}
    if not results:
        return {}
    return {graph["title"]: {"name": "relative error", "results": results, "gradient": list(_GRADIENT)}}

"""`inspect model --save-visual`: the graph of an ONNX model on one page without network, or for Model Explorer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write, to_bytes
from polycmp.options import parse_json
from polycmp.report.elements import Markup, embedded_json, page, tag
from polycmp.tensors import format_shape
from polycmp_onnx.graph import graph_inputs, reads, subgraphs, tensor_metadata
from polycmp_onnx.inspect import attribute_text
from polycmp_onnx.shapes import value_types


def save_visual(proto: Any, path: str, errors: str = "", info: Mapping[str, Mapping[str, float]] | None = None) -> None:
    """Write the page.

    Args:
        proto: An `onnx.ModelProto`, which need not hold its external weights.
        path: The file to write: a page, or with the suffix `.json` a graph for Model Explorer.
        errors: A JSON report of `locate` whose errors colour the nodes; empty for none.
        info: Statistics by tensor to show with it.

    Raises:
        FileError: The report cannot be read or is none, or the page cannot be written.
    """
    report = _report(errors) if errors else {}
    graph = _graph(proto, report, info or {})
    if path.endswith(".json"):
        from polycmp_onnx.tools.model_explorer import save_graph

        save_graph(graph, path)
        return
    words = "Search names and operators"
    text = page(
        graph["title"],
        tag(
            "aside",
            tag("h1", graph["title"]),
            tag("p", graph["summary"]),
            *(_verdict(report) if report else ()),
            tag("input", type="search", placeholder=words, aria_label=words),
            tag("ul", id="found"),
            tag("div", id="tools"),
            tag("div", id="details"),
        ),
        tag("main", tag("svg", role="group", aria_label="Graph of the model")),
        embedded_json("graph", graph),
        style=_file("view.css"),
        scripts=[_file("dagre.min.js"), _file("view.js")],
    )
    with atomic_write(path) as file:
        file.write(to_bytes(text))


def _file(name: str) -> str:
    return resources.files("polycmp_onnx.tools.page").joinpath(name).read_text(encoding="utf-8")


def _verdict(report: Mapping[str, Any]) -> Iterator[Markup]:
    yield tag("p", report.get("sentence", ""))
    yield tag("div", "error ", tag("span", "small"), tag("i"), tag("span", "large"), id="scale")


def _report(path: str) -> dict[str, Any]:
    """Return a report of `locate`.

    Raises:
        FileError: It cannot be read, or is something else.
    """
    hint = "write one with: polycmp locate MODEL -b CANDIDATE -b REFERENCE --report FILE.json"
    try:
        found = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError("cannot read this report", whose=path, why=describe_exception(error), hint=hint) from error
    if not isinstance(found, dict) or found.get("kind") != "locate" or not isinstance(found.get("tensors"), list):
        raise FileError("this is not a report of locate", whose=path, hint=hint)
    return found


def _graph(proto: Any, report: Mapping[str, Any], info: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    graph = proto.graph
    nodes = list(_nodes(graph))
    _mark(nodes, report)
    makers = {name: node["id"] for node in nodes for name in node["outputs"]}
    edges = [
        {"from": makers[name], "to": node["id"], "tensor": name}
        for node in nodes
        for name in dict.fromkeys(node["inputs"])
        if name in makers
    ]
    _rank(nodes, edges)
    count = sum(node["kind"] == "operator" for node in nodes)
    return {
        "title": graph.name or "ONNX model",
        "summary": f"operators: {count}, weights: {len(graph.initializer)}",
        "nodes": nodes,
        "edges": edges,
        "tensors": _tensors(proto, report, info),
    }


def _nodes(graph: Any) -> Iterator[dict[str, Any]]:
    """Yield inputs, operators but constants, and outputs, in an order in which each comes after those it reads."""
    number = 0
    for value in graph_inputs(graph):
        yield _node(number, "input", "input", value.name, [], [value.name])
        number += 1
    for item in graph.node:
        if item.op_type == "Constant":
            continue
        made = _node(
            number, "operator", item.op_type, item.name, list(reads(item)), [name for name in item.output if name]
        )
        made["domain"] = item.domain
        made["attributes"] = {
            entry.name: attribute_text(entry, lambda tensor: f"tensor{format_shape(tensor.dims)}")
            for entry in item.attribute
        }
        inner = [f"{part.name}: {len(part.node)} nodes" for part in subgraphs(item)]
        yield {**made, "attributes": {**made["attributes"], **({"graphs": ", ".join(inner)} if inner else {})}}
        number += 1
    for value in graph.output:
        yield _node(number, "output", "output", value.name, [value.name], [])
        number += 1


def _node(number: int, kind: str, op: str, name: str, inputs: list[str], outputs: list[str]) -> dict[str, Any]:
    node = {"id": number, "kind": kind, "op": op, "name": name, "inputs": inputs, "outputs": outputs}
    return {**node, "path": modules_of(name), "domain": "", "attributes": {}}


def modules_of(name: str) -> list[str]:
    """Return the modules that an exporter has written into an operator's name, the outermost first."""
    parts = [part for part in name.split("/") if part] if "/" in name else name.split(".")
    return parts[:-1]


def _mark(nodes: list[dict[str, Any]], report: Mapping[str, Any]) -> None:
    """Note the greatest error among a node's results, and at which node the model first goes wrong."""
    errors = {row["tensor"]: _number(row.get("relative_error")) for row in report.get("tensors", ())}
    for node in nodes:
        known = [errors[name] for name in node["outputs"] if name in errors]
        if known:
            node["error"] = max(known)
        if report and report.get("origin", report.get("first_bad")) in node["outputs"]:
            node["first"] = True


def _number(value: Any) -> float:
    """Return a figure of a report, of which infinity and NaN are text; both are as bad as can be."""
    try:
        number = abs(float(value))
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 1e30


def _rank(nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    """Note how many steps each node is from the furthest input; inputs come right before what reads them."""
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for edge in edges:
        before.setdefault(edge["to"], []).append(edge["from"])
        after.setdefault(edge["from"], []).append(edge["to"])
    for node in nodes:
        node["rank"] = max((nodes[item].get("rank", 0) + 1 for item in before.get(node["id"], ())), default=0)
    for node in nodes:
        if not node["inputs"] or node["id"] not in before:
            node["rank"] = max(0, min((nodes[item]["rank"] for item in after.get(node["id"], ())), default=1) - 1)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _tensors(proto: Any, report: Mapping[str, Any], info: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    import onnx

    found: dict[str, Any] = {
        name: {"type": str(entry)} for name, entry in tensor_metadata(value_types(proto).values()).items()
    }
    for item in proto.graph.initializer:
        kind = onnx.helper.tensor_dtype_to_np_dtype(item.data_type).name
        found[item.name] = {"type": f"{kind}{format_shape(item.dims)}", "weight": True}
    for name, figures in info.items():
        found.setdefault(name, {})["figures"] = {key: f"{value:.5g}" for key, value in figures.items()}
    for row in report.get("tensors", ()):
        keys = ("passed", "max_error", "mean_error", "relative_error", "reason")
        judged = {key.replace("_", " "): _shown(row[key]) for key in keys if row.get(key) not in (None, "")}
        tensor = found.setdefault(row["tensor"], {})
        tensor["figures"] = {**tensor.get("figures", {}), **judged}
    return found

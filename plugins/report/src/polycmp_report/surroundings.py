"""The graph around the first tensor that goes wrong: a few operators each way, as a diagram for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polycmp.errors import PolycmpError
from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import makers, static_tensors
from polycmp.plan import Plan
from polycmp.report import Result, Row, Table
from polycmp.runs import resolve

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: Operators each way, and the number of equally distant ones that are shown.
STEPS, WIDE = 5, 4
#: Under which name a row has its diagram among what reports saw of it.
KEY = "graph"


@dataclass(frozen=True)
class Box:
    """An operator, or an input of the model.

    Attributes:
        kind: Type of the operator: `Conv`.
        name: Name of the operator.
        reads: The tensors that it reads, without weights.
        makes: The tensors that it makes.
        chosen: Whether it is the one that the diagram is about.
    """

    kind: str
    name: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    chosen: bool = False


@dataclass(frozen=True)
class Diagram:
    """Operators around one.

    Attributes:
        tensor: Output tensor of the operator in the middle.
        boxes: The operators in an order in which they can run.
        edges: Labels of tensors, by name: ranges, errors.
        states: States of tensors, by name.
        left_out: Number of operators within reach that are not shown.
    """

    tensor: str
    boxes: tuple[Box, ...]
    edges: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0


def with_graph(result: Result, plan: Plan, registry: Registry) -> Result:
    """Return a result whose first bad tensor has a diagram of what is around it, where that lies inside a model."""
    if result.verdict != "failed":
        return result
    for table in result.blocks(Table):
        if table.judged and table.failures and table.subject in {item.label for item in plan.backends}:
            graph = _graph(table.subject, plan, registry)
            drawn = None if graph is None else _with_diagram(table, graph)
            if drawn is not None:
                return replace(result, content=tuple(drawn if item is table else item for item in result.content))
    return result


def _graph(label: str, plan: Plan, registry: Registry) -> ModelGraph | None:
    """Return the graph of what a backend runs; None if there is none, or it cannot be read: a report can do without."""
    with suppress(PolycmpError):
        [backend] = [item for item in resolve(plan, registry).backends if item.label == label]
        inside = backend.inside
        return backend.model.graph() if inside == "graph" else None if isinstance(inside, str) else inside
    return None


def _with_diagram(table: Table, graph: ModelGraph) -> Table | None:
    nodes = graph.nodes
    order = makers(nodes)
    inner = {name for node in nodes for name in node.inputs}
    if not any(row.name in inner and row.name in order for row in table.rows):
        return None  # outputs alone: the graph before them was not looked at
    bad = [row for row in table.failures if row.name in order]
    if not bad:
        return None
    culprit = bad[0] if table.causal else min(bad, key=lambda row: order[row.name])
    diagram = _diagram(graph, culprit.name, table.rows)
    changed = replace(culprit, looks={**culprit.looks, KEY: diagram})
    return replace(table, rows=tuple(changed if row is culprit else row for row in table.rows))


def _diagram(graph: ModelGraph, tensor: str, rows: Iterable[Row]) -> Diagram:
    nodes, static = graph.nodes, static_tensors(graph)
    near, omitted = nearest(nodes, makers(nodes)[tensor], static)
    boxes = [_box(nodes[index], static, chosen=tensor in nodes[index].outputs) for index in near]
    read = {name for box in boxes for name in box.reads}
    inputs = [Box("input", name, (), (name,)) for name in graph.inputs if name in read]
    known = {row.name: row for row in rows}
    seen = {name: known[name] for box in boxes for name in (*box.reads, *box.makes) if name in known}
    return Diagram(
        tensor,
        (*inputs, *boxes),
        {name: row.edge for name, row in seen.items() if row.edge},
        {name: row.state for name, row in seen.items()},
        omitted,
    )


def _box(node: GraphNode, static: set[str], *, chosen: bool) -> Box:
    reads = tuple(name for name in dict.fromkeys(node.inputs) if name and name not in static)
    return Box(node.op_type, node.name, reads, tuple(filter(None, node.outputs)), chosen)


def nearest(nodes: Sequence[GraphNode], start: int, static: set[str]) -> tuple[list[int], int]:
    """Return the positions of operators at most `STEPS` before or after one, in order, and how many were left out.

    Args:
        nodes: The operators.
        start: The position of the one.
        static: Tensors that depend on weights alone; their maker counts as a weight.
    """
    producers = {name: index for name, index in makers(nodes).items() if name not in static}
    readers: dict[str, list[int]] = {}
    for index, node in enumerate(nodes):
        for name in dict.fromkeys(node.inputs):
            readers.setdefault(name, []).append(index)
    before, lost = _reached(start, lambda at: [producers[name] for name in nodes[at].inputs if name in producers])
    behind, more = _reached(start, lambda at: [index for name in nodes[at].outputs for index in readers.get(name, ())])
    return sorted(before | behind), lost + more


def _reached(start: int, neighbours: Callable[[int], Iterable[int]]) -> tuple[set[int], int]:
    """Return the positions that can be reached in at most `STEPS` steps, and how many more there are next to them."""
    reached, edge, lost = {start}, [start], 0
    for _ in range(STEPS):
        near = dict.fromkeys(index for at in edge for index in neighbours(at) if index not in reached)
        edge = sorted(near, key=lambda index: abs(index - start))[:WIDE]
        lost += len(near) - len(edge)
        reached.update(edge)
    return reached, lost

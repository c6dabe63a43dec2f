"""Replacement of nodes of one model by nodes of another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from polycmp_onnx.graph import GraphView, keep_items, nodes_within, reads, rename

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp_locate.precision.model_pair import ModelPair

#: Suffix of the names of nodes and tensors from the float model.
_SUFFIX = "_float32"


class Splice:
    """Puts nodes of the float model into a copy of the reduced one."""

    def __init__(self, pair: ModelPair, model: ModelProto, float_nodes: Sequence[int]) -> None:
        self.pair, self.model, self.graph = pair, model, model.graph
        self.nodes = [pair.exact.graph.node[index] for index in float_nodes]
        self.float_outputs = {name for node in self.nodes for name in node.output if name}
        self.used_names = {name for node in self.graph.node for name in (*node.input, *node.output, node.name)}
        self.used_names |= {item.name for item in self.graph.initializer} | {item.name for item in self.graph.input}
        self.weights = {item.name: item for item in self.graph.initializer}
        self.exact_weights = {item.name: item for item in pair.exact.graph.initializer}
        self.names: dict[str, str] = {}
        self.casts: list[Any] = []
        self.brought: dict[str, str] = {}

    def run(self) -> None:
        """Replace the nodes."""
        self._rename_replaced()
        for node in self.nodes:
            for name in filter(None, node.output):
                self._name_output(name)
        fixed = static_nodes(self.pair.exact.graph, self.nodes, self.pair.dynamic)
        for node in fixed:
            for name in filter(None, node.output):
                self.names[name] = self._fresh(name)
        for node in [*fixed, *self.nodes]:
            self._add(node)
        self.graph.node.extend(self.casts)

    def give_names_back(self) -> None:
        """Restore the original names of the float model's weights where they are free again."""
        used_names = {item.name for item in (*self.graph.initializer, *self.graph.input)}
        used_names |= {name for node in nodes_within(self.graph) for name in (*node.input, *node.output)}
        back = {fresh: name for fresh, name in self.brought.items() if name not in used_names}
        for item in self.graph.initializer:
            item.name = back.get(item.name, item.name)
        for node in self.graph.node:
            rename(node, back)

    def _rename_replaced(self) -> None:
        """Rename what the reduced model makes itself of the tensors that come from the float model now."""
        replaced = {self.pair.pairs[name] for name in self.float_outputs if name in self.pair.pairs}
        for node in self.graph.node:
            node.output[:] = [self._fresh(name, "_reduced") if name in replaced else name for name in node.output]
        keep_items(self.graph.value_info, lambda value: value.name not in replaced)

    def _name_output(self, name: str) -> None:
        """Choose the name of a tensor that a node of the float model makes, and cast it for the reduced model."""
        from onnx import helper

        other = self.pair.pairs.get(name)
        if other is None:
            self.names[name] = self._fresh(name)
            return
        reduced_type, exact_type = self.pair.type_of(name), self.pair.exact_type(name)
        if reduced_type == exact_type:
            self.names[name] = other
            return
        self.names[name] = self._fresh(name)
        self.casts.append(
            helper.make_node("Cast", [self.names[name]], [other], self._fresh(f"{name}_cast"), to=reduced_type)
        )

    def _add(self, node: Any) -> None:
        copy = self.graph.node.add()
        copy.CopyFrom(node)
        for name in reads(node):
            if name not in self.names:
                self.names[name] = self._read_name(name)
        rename(copy, self.names)
        copy.name = self._fresh(node.name, "") if node.name else ""

    def _read_name(self, name: str) -> str:
        """Return the name of a tensor of the float model as a node reads it, and make sure that the tensor is there."""
        from onnx import helper

        if name in self.exact_weights:
            return self._weight(self.exact_weights[name])
        other = self.pair.raw(self.pair.pairs[name])
        exact_type, reduced_type = self.pair.exact_type(name), self.pair.type_of(name)
        if exact_type == reduced_type:
            return other
        fresh = self._fresh(name)
        self.casts.append(helper.make_node("Cast", [other], [fresh], self._fresh(f"{name}_cast"), to=exact_type))
        return fresh

    def _weight(self, item: Any) -> str:
        known = self.weights.get(item.name)
        if known is not None and _same_tensor(known, item):
            return str(item.name)
        copy = self.graph.initializer.add()
        copy.CopyFrom(item)
        copy.name = self._fresh(item.name)
        self.brought[copy.name] = item.name
        return str(copy.name)

    def _fresh(self, name: str, suffix: str = _SUFFIX) -> str:
        fresh, number = f"{name}{suffix}", 1
        while fresh in self.used_names:
            number += 1
            fresh = f"{name}{suffix or _SUFFIX}{number}"
        self.used_names.add(fresh)
        return fresh


def static_nodes(graph: Any, nodes: Iterable[Any], dynamic: Collection[str]) -> list[Any]:
    """Return the nodes that compute, with weights alone, what some nodes read; in the graph's order.

    Args:
        graph: An `onnx.GraphProto`.
        nodes: Some of its nodes.
        dynamic: Names of the tensors that depend on its inputs.
    """
    view = GraphView(graph)
    chosen, _ = view.ancestors((name for node in nodes for name in reads(node)), dynamic)
    return [view.nodes[index] for index in chosen]


def _same_tensor(one: Any, two: Any) -> bool:
    return (one.data_type, list(one.dims)) == (two.data_type, list(two.dims)) and (
        one.SerializePartialToString() == two.SerializePartialToString()
    )


def add_domains(model: ModelProto, exact: ModelProto) -> None:
    """Add the float model's operator sets and functions to a model.

    Args:
        model: The model, which is changed.
        exact: The float model.
    """
    known = {item.domain for item in model.opset_import}
    model.opset_import.extend(item for item in exact.opset_import if item.domain not in known)
    functions = {(item.domain, item.name) for item in model.functions}
    model.functions.extend(item for item in exact.functions if (item.domain, item.name) not in functions)
    model.ir_version = max(model.ir_version, exact.ir_version)

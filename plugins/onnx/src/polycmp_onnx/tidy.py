"""Putting a graph in order: dead nodes and weights out, nodes sorted, inputs of other shapes.

The passes of onnx-ir for dead nodes and for sorting give equal models (on all 376 random models of `truth.writing`),
but copy the weights (2.1 GiB at the peak for a model of 1 GiB), and do not name the nodes of a circle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polycmp.errors import ModelError, UsageError, did_you_mean
from polycmp_onnx.graph import GraphView, graph_inputs, graphs_within, keep_items, known_values
from polycmp_onnx.passes import CLEAN, SORTED, model_pass, noted_types


@model_pass(ensures=(CLEAN,))
def clean_up(model: Any) -> bool:
    """Take out the nodes and weights that no output depends on, in subgraphs too; inputs and what fills them stay.

    Args:
        model: An `onnx.ModelProto`, which is changed.

    Returns:
        Whether anything changed.
    """
    modified = [_clean_up(graph) for graph in [*graphs_within(model.graph)][::-1]]
    return any(modified)


def _clean_up(graph: Any) -> bool:
    view = GraphView(graph)
    chosen, needed = view.ancestors(view.outputs)
    alive = {name for index in chosen for name in view.nodes[index].output}
    for index in sorted(set(range(len(view.nodes))).difference(chosen), reverse=True):
        del graph.node[index]
    needed |= {value.name for value in graph.input}
    removed = len(chosen) < len(view.nodes)
    removed |= keep_items(graph.initializer, lambda item: item.name in needed)
    removed |= keep_items(graph.sparse_initializer, lambda item: item.values.name in needed)
    removed |= keep_items(graph.value_info, lambda value: value.name in alive)
    return removed


@model_pass(ensures=(SORTED,))
def sort_nodes(model: Any) -> bool:
    """Put nodes after those whose results they read, in subgraphs too, and otherwise leave their order alone.

    Args:
        model: An `onnx.ModelProto`, which is changed.

    Returns:
        Whether anything changed.

    Raises:
        ModelError: Nodes read each other's results in a circle.
    """
    modified = [_sort_nodes(graph) for graph in [*graphs_within(model.graph)][::-1]]
    return any(modified)


def _sort_nodes(graph: Any) -> bool:
    view = GraphView(graph)
    positions = view.positions
    order = _order([sorted({positions[name] for name in names if name in positions}) for names in view.reads], graph)
    if order == list(range(len(order))):
        return False
    nodes = [type(node).FromString(node.SerializeToString()) for node in (view.nodes[index] for index in order)]
    del graph.node[:]
    graph.node.extend(nodes)
    return True


def _order(before: Sequence[Sequence[int]], graph: Any) -> list[int]:
    """Return indices so that each comes after those it needs."""
    order: list[int] = []
    state = [0] * len(before)  # 1 is being looked at, 2 is placed
    for start in range(len(before)):
        stack = [(start, iter(before[start]))] if not state[start] else []
        while stack:
            index, further = stack[-1]
            state[index] = 1
            following = next((item for item in further if state[item] != 2), None)
            if following is None:
                stack.pop()
                state[index] = 2
                order.append(index)
            elif state[following] == 1:
                raise ModelError(
                    f"the nodes that make {list(graph.node[following].output)} and {list(graph.node[index].output)} "
                    "depend on each other's results",
                    hint="polycmp check lint MODEL",
                )
            else:
                stack.append((following, iter(before[following])))
    return order


@model_pass()
def override_input_shapes(model: Any, shapes: Mapping[str, Sequence[int | str]]) -> bool:
    """Give inputs other shapes, and forget the shapes of all that follows from them.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        shapes: Dimensions by name of the input; -1 for one that is not known, or its name.

    Returns:
        Whether anything changed.

    Raises:
        UsageError: The model has no such input, or it has another number of dimensions.
    """
    before = noted_types(model)
    values = {value.name: value for value in graph_inputs(model.graph)}
    for name, dims in shapes.items():
        if name not in values:
            raise UsageError(
                f"the model has no input {name!r}", whose="--override-input-shapes", why=did_you_mean(name, values)
            )
        set_shape(values[name], dims)
    for graph in graphs_within(model.graph):
        del graph.value_info[:]
    for value in model.graph.output:
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.ClearField("shape")
    return noted_types(model) != before


def set_shape(value: Any, dims: Sequence[int | str]) -> None:
    """Note a shape in an `onnx.ValueInfoProto`.

    Args:
        value: The value, which is changed.
        dims: Dimensions: a size, a name, or -1 for one that is not known.
    """
    shape = value.type.tensor_type.shape
    shape.ClearField("dim")
    for dim in dims:
        new = shape.dim.add()
        if isinstance(dim, str):
            new.dim_param = dim
        elif dim >= 0:
            new.dim_value = dim


def make_static(model: Any, arrays: Mapping[str, Any], *, leave_open: bool = False) -> None:
    """Note the types and shapes that tensors had when the model ran once: fixed, even if they were open before.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        arrays: Inputs and tensors inside, by name, as they were when the model ran.
        leave_open: Note of the shapes only how many dimensions they have.
    """
    import onnx

    known = known_values(model.graph)
    for name, array in arrays.items():
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        declared = onnx.helper.make_tensor_value_info(name, kind, [None] * array.ndim if leave_open else array.shape)
        if name in known:
            known[name].CopyFrom(declared)
        else:
            model.graph.value_info.append(declared)

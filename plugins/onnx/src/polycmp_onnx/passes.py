"""Contract of what changes a model in place: what must hold before, what holds afterwards, whether anything changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec

from polycmp.errors import ModelError
from polycmp_onnx.graph import GraphView, graph_inputs, graphs_within

P = ParamSpec("P")


class Condition(NamedTuple):
    """Something that can be true of a model.

    Attributes:
        text: The condition, to go on after "a model".
        holds: Tells whether it is true of an `onnx.ModelProto`.
        remedy: What makes it true.
    """

    text: str
    holds: Callable[[Any], bool]
    remedy: str


class Pass(Generic[P]):
    """A function that changes a model in place and returns whether it changed anything.

    A pass is called like its function. It may rely on what it requires, and what follows on what it ensures.

    Args:
        function: The function, whose first argument is an `onnx.ModelProto`.
        requires: Conditions that must be true of a model before.
        ensures: Conditions that are true of it afterwards.
    """

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], bool],
        requires: tuple[Condition, ...],
        ensures: tuple[Condition, ...],
    ) -> None:
        self.function, self.requires, self.ensures = function, requires, ensures
        update_wrapper(self, function)

    def __call__(self, model: Any, *args: P.args, **kwargs: P.kwargs) -> bool:
        """Change a model, and return whether anything changed.

        Raises:
            ModelError: A condition is not true of the model that must be.
        """
        for condition in self.requires:
            if not condition.holds(model):
                name = self.function.__name__
                raise ModelError(f"{name} takes a model {condition.text}", hint=condition.remedy)
        return self.function(model, *args, **kwargs)


def model_pass(
    requires: tuple[Condition, ...] = (), ensures: tuple[Condition, ...] = ()
) -> Callable[[Callable[Concatenate[Any, P], bool]], Pass[P]]:
    """Declare a function as a pass.

    Args:
        requires: Conditions that must be true of a model before.
        ensures: Conditions that are true of it afterwards.
    """
    return lambda function: Pass(function, requires, ensures)


def noted_types(model: Any) -> list[bytes]:
    """Return what a model notes of types and shapes, to tell whether it has changed.

    Args:
        model: An `onnx.ModelProto`.
    """
    return [
        value.SerializeToString(deterministic=True)
        for graph in graphs_within(model.graph)
        for value in (*graph.input, *graph.output, *graph.value_info)
    ]


def _has_no_weight_among_inputs(model: Any) -> bool:
    return len(graph_inputs(model.graph)) == len(model.graph.input)


def _is_sorted(model: Any) -> bool:
    for graph in graphs_within(model.graph):
        view = GraphView(graph)
        if any(view.positions.get(name, -1) >= index for index, names in enumerate(view.reads) for name in names):
            return False
    return True


def _is_clean(model: Any) -> bool:
    for graph in graphs_within(model.graph):
        view = GraphView(graph)
        chosen, needed = view.ancestors(view.outputs)
        fed = {value.name for value in graph.input}
        if len(chosen) != len(view.nodes) or not view.weights.keys() <= needed | fed:
            return False
    return True


WEIGHTS_APART = Condition(
    "none of whose weights is an input",
    _has_no_weight_among_inputs,
    "polycmp_onnx.graph.part_weights_from_inputs(model)",
)
SORTED = Condition("whose nodes come after those that they read", _is_sorted, "polycmp_onnx.sort_nodes(model)")
CLEAN = Condition("whose outputs depend on all that it holds", _is_clean, "polycmp_onnx.clean_up(model)")

"""The graphs of TensorFlow's functions: their nodes, frozen, and read again after they were changed."""

from __future__ import annotations

from typing import Any


def nodes_of(concrete: Any) -> list[Any]:
    """Return the nodes of a function, and those of the functions that it calls."""
    definition = concrete.graph.as_graph_def()
    return [*definition.node, *(node for item in definition.library.function for node in item.node_def)]


def frozen(concrete: Any) -> Any:
    """Return a function with constants in place of variables, and its calls written out."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    return convert_variables_to_constants_v2(concrete)


def imported(tf: Any, definition: Any) -> Any:
    """Return a graph as a function without inputs, of which `prune` makes one with them.

    Args:
        tf: The module `tensorflow`.
        definition: The graph, as `GraphDef`.
    """
    return tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(definition, name=""), [])

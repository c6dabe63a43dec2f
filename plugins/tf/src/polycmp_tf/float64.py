"""A function's graph in float64, which tells of numbers inside that are beyond float32."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp_tf.functions import frozen, imported


def in_float64(tf: Any, concrete: Any, feed: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return what a function makes with every float32 in its graph replaced by float64.

    Args:
        tf: The module `tensorflow`.
        concrete: The function.
        feed: What it is fed.
    """
    bare = frozen(concrete)
    definition = bare.graph.as_graph_def()
    narrow, wide = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum
    for node in definition.node:
        for attribute in node.attr.values():
            if attribute.type == narrow:
                attribute.type = wide
            if attribute.tensor.dtype == narrow:
                constant = tf.make_ndarray(attribute.tensor).astype(np.float64)
                attribute.tensor.CopyFrom(tf.make_tensor_proto(constant, shape=constant.shape))
    wrapped = imported(tf, definition)
    inputs = [wrapped.graph.get_tensor_by_name(item.name) for item in bare.inputs]
    names = sorted(concrete.structured_outputs)  # the order in which a frozen function returns them
    cut = wrapped.prune(inputs, [wrapped.graph.get_tensor_by_name(item.name) for item in bare.outputs])
    arrays = [np.asarray(feed[item.name.partition(":")[0]]) for item in bare.inputs]
    made = cut(*(tf.constant(item.astype(np.float64) if item.dtype == np.float32 else item) for item in arrays))
    return {name: tensor.numpy() for name, tensor in zip(names, made, strict=True)}

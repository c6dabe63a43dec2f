"""Numbers inside a function that are beyond float32, as its graph in float64 tells.

XLA leaves out steps that it simplifies, as both of log(exp(x)), and so may make a number where eager mode makes
infinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp_tf.functions import frozen, imported

Array = NDArray[Any]


def find_overflows(tf: Any, concrete: Any, feed: Mapping[str, Any], outputs: Mapping[str, Array]) -> list[str] | None:
    """Return a remark on the first output with infinities or NaN that float64 makes finite.

    It is None where all are finite, or an input is not.

    Args:
        tf: The module `tensorflow`.
        concrete: The function.
        feed: What it was fed.
        outputs: What it made.
    """
    lost = {name: ~np.isfinite(value) for name, value in outputs.items() if value.dtype == np.float32}
    reals = [np.asarray(array) for array in feed.values() if np.asarray(array).dtype.kind == "f"]
    if not any(places.any() for places in lost.values()) or not all(np.isfinite(array).all() for array in reals):
        return None
    with suppress(Exception):  # it is a remark: many a graph has no other type
        for name, value in _in_float64(tf, concrete, feed).items():
            places = lost.get(name)
            if places is None or value.dtype != np.float64 or value.shape != places.shape:
                continue
            beyond = places & np.isfinite(value)
            if beyond.any():
                return [
                    f"a number inside is beyond float32: {beyond.sum()} of {beyond.size} elements of {name!r} are "
                    f"infinite or NaN here, of which float64 makes {value[beyond][0]:.6g} first; XLA leaves out what "
                    "it simplifies, as of log(exp(x)), so a run that holds what float64 makes is not wrong"
                ]
    return []


def _in_float64(tf: Any, concrete: Any, feed: Mapping[str, Any]) -> dict[str, Array]:
    """Return what a function makes with every float32 in its graph replaced by float64."""
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

"""Results that TensorFlow leaves open: what XLA and eager mode make of them differs, and neither is wrong.

They are integers that are made of NaN and of numbers beyond their type, and shifts by less than nothing or by all bits
that there are. Whether a graph has such operators is seen without a run; what they read takes one run of what comes
before them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp_tf.functions import frozen, imported, nodes_of

_SHIFTS = frozenset({"LeftShift", "RightShift"})


def find_left_open(tf: Any, concrete: Any) -> Callable[[Mapping[str, Any]], list[str]] | None:
    """Return what tells, of one feed, which operators of a function have results that are left open.

    Args:
        tf: The module `tensorflow`.
        concrete: The function.

    Returns:
        It; None where no operator is of these kinds, or TensorFlow cannot show what they read.
    """
    if not any(node.op in _SHIFTS or _makes_integers(tf, node) for node in nodes_of(concrete)):
        return None
    with suppress(Exception):  # it is a remark: no graph that cannot be cut may keep the model from running
        bare = frozen(concrete)
        inlined = bare.graph.as_graph_def()
        wrapped = imported(tf, inlined)
        found = [node.name for node in inlined.node if node.op in _SHIFTS or _makes_integers(tf, node)]
        operators = [wrapped.graph.get_operation_by_name(name) for name in found]
        inputs = [wrapped.graph.get_tensor_by_name(item.name) for item in bare.inputs]
        cut = wrapped.prune(inputs, [operator.inputs[operator.type in _SHIFTS] for operator in operators])
        names = [item.name.partition(":")[0] for item in bare.inputs]

        def tell(feed: Mapping[str, Any]) -> list[str]:
            with suppress(Exception):
                return _told(operators, cut(*(tf.constant(feed[name]) for name in names)))
            return []

        return tell
    return None


def _makes_integers(tf: Any, node: Any) -> bool:
    """Return whether a node of a graph makes integers of real numbers."""
    if node.op != "Cast":
        return False
    source, made = (tf.dtypes.as_dtype(node.attr[name].type) for name in ("SrcT", "DstT"))
    return bool(source.is_floating and made.is_integer)


def _told(operators: list[Any], read: list[Any]) -> list[str]:
    """Return a remark on each operator that reads what its result is left open for."""
    remarks = []
    for operator, tensor in zip(operators, read, strict=True):
        array, kind = tensor.numpy(), operator.outputs[0].dtype
        is_shift = operator.type in _SHIFTS
        beyond = _beyond_bits(array) if is_shift else _beyond_type(array, kind.as_numpy_dtype)
        count = int(np.count_nonzero(beyond))
        if count:
            what = "shifts by less than 0, or by all bits," if is_shift else f"makes {kind.name} of NaN or of more"
            remarks.append(
                f"{operator.type} {operator.name!r} {what} in {count} of {array.size} elements, of which TensorFlow "
                "leaves open what they become: XLA and eager mode may differ there, and neither is wrong"
            )
    return remarks


def _beyond_bits(array: NDArray[Any]) -> NDArray[np.bool_]:
    return (array < 0) | (array >= 8 * array.dtype.itemsize)


def _beyond_type(array: NDArray[Any], made: Any) -> NDArray[np.bool_]:
    ends, values = np.iinfo(made), np.trunc(array.astype(np.float64))
    return ~((values >= float(ends.min)) & (values <= float(ends.max)))

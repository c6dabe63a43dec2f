"""Descriptions of the differences between an operator and its source's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp_locate.pairing.side import MOVING
from polycmp_locate.precision.repair.result import Correction

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer, Mixer

#: Operators that only change type or order of elements.
_FORM_OPERATORS = MOVING | {"Cast"}


def changes_of(mixer: Mixer, layer: Layer) -> list[Correction]:
    """Return the differences of a layer that was taken from the source.

    Args:
        mixer: The models.
        layer: The layer.
    """
    reduced_nodes = [node for node in mixer.reduced_nodes(layer) if node.op_type != "Constant"]
    source_nodes = mixer.exact_nodes(layer)
    changes = list(_operators(layer, reduced_nodes, source_nodes))
    if [node.op_type for node in reduced_nodes] == [node.op_type for node in source_nodes]:
        for one, two in zip(reduced_nodes, source_nodes, strict=True):
            changes += _attributes(one, two)
            changes += _weights(mixer, layer, one, two)
            changes += _order(mixer, one, two)
    return changes or [Correction("graph", layer.label, "taken from the source")]


def _operators(layer: Layer, reduced_nodes: Sequence[Any], source_nodes: Sequence[Any]) -> Iterator[Correction]:
    reduced_counts = Counter(node.op_type for node in reduced_nodes)
    source_counts = Counter(node.op_type for node in source_nodes)
    for kind, count in (source_counts - reduced_counts).items():
        yield Correction("graph", layer.label, f"{_many(count, kind)} was missing")
    for kind, count in (reduced_counts - source_counts).items():
        yield Correction("graph", layer.label, f"{_many(count, kind)} too many")
    same_order = [node.op_type for node in reduced_nodes] == [node.op_type for node in source_nodes]
    if reduced_counts == source_counts and not same_order:
        yield Correction("graph", layer.label, "its operators stood in another order")


def _many(count: int, kind: str) -> str:
    return f"a {kind}" if count == 1 else f"{count} {kind}"


def _attributes(reduced_node: Any, source_node: Any) -> Iterator[Correction]:
    import onnx

    reduced_attributes, source_attributes = (
        {item.name: item for item in node.attribute} for node in (reduced_node, source_node)
    )
    label = _label(source_node)
    for name in sorted({*reduced_attributes, *source_attributes}):
        one, two = reduced_attributes.get(name), source_attributes.get(name)
        if one == two or _is_tensor(one) or _is_tensor(two):
            continue
        old, new = (None if item is None else onnx.helper.get_attribute_value(item) for item in (one, two))
        if "perm" in name or reduced_node.op_type in _FORM_OPERATORS:
            yield Correction("graph", label, f"{name} {_plain(old)} -> {_plain(new)}")
        else:
            yield Correction("hyperparameter", label, f"{name} {_plain(old)} -> {_plain(new)}")


def _is_tensor(item: Any) -> bool:
    return item is not None and (item.HasField("t") or item.HasField("g"))


def _plain(value: Any) -> str:
    if value is None:
        return "(default)"
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return f"{value:g}" if isinstance(value, float) else str(value)


def _weights(mixer: Mixer, layer: Layer, reduced_node: Any, source_node: Any) -> Iterator[Correction]:
    inputs = set(mixer.exact_inputs) & set(layer.inputs)
    for place, (one, two) in enumerate(zip(reduced_node.input, source_node.input, strict=False)):
        old, new = mixer.reduced_weight(one), mixer.exact_weight(two)
        if old is None or new is None:
            continue
        text = difference(old, new)
        if text.startswith("channels") and inputs and place > 0:
            yield Correction("input", sorted(inputs)[0], f"{text} in the weight of {_label(source_node)}")
        elif text:
            small = new.size <= 8 and new.dtype.kind in "iu"
            yield Correction("hyperparameter" if small else "parameter", _label(source_node), f"weight {two!r}: {text}")


def _order(mixer: Mixer, reduced_node: Any, source_node: Any) -> Iterator[Correction]:
    """Yield a change where the two inputs of an operator were exchanged."""
    pairs = [mixer.pairs.get(name, name) for name in source_node.input]
    if len(pairs) == 2 and list(reduced_node.input) == pairs[::-1] and pairs[0] != pairs[1]:
        yield Correction("graph", _label(source_node), "its inputs were exchanged")


def difference(old: Any, new: Any) -> str:
    """Describe the difference of a weight from the source's; empty if there is none but rounding."""
    if old.shape != new.shape:
        if old.size == new.size and old.ndim == new.ndim:
            return f"shape {list(old.shape)} -> {list(new.shape)}: it was transposed"
        return f"shape {list(old.shape)} -> {list(new.shape)}"
    if old.dtype.kind not in "fV" or new.dtype.kind not in "fV":
        return "" if np.array_equal(old, new) else f"{_few(old)} -> {_few(new)}"
    one, two = old.astype(np.float64), new.astype(np.float64)
    apart = ~np.isclose(one, two, rtol=1e-2 if old.dtype.itemsize < 4 else 1e-6, atol=1e-12)
    if not apart.any():
        return ""
    for axis in range(1, min(one.ndim, 2)):
        if one.shape[axis] <= 4 and np.allclose(np.flip(one, axis), two, rtol=1e-2, atol=1e-7):
            return f"channels of axis {axis} were in the opposite order"
    sizes = np.abs(one) > 1e-12
    factor = float(np.median(two[sizes] / one[sizes])) if sizes.any() else 0.0
    if factor and np.allclose(one * factor, two, rtol=1e-2, atol=1e-7):
        return f"was {1 / factor:.4g} times the source's"
    return f"{np.count_nonzero(apart)} of {old.size} elements differed, by up to {np.nanmax(np.abs(one - two)):.3g}"


def _few(array: Any) -> str:
    return str(array.tolist()) if array.size <= 8 else f"{array.size} numbers"


def _label(node: Any) -> str:
    return f"{node.op_type} {node.name or node.output[0]!r}"

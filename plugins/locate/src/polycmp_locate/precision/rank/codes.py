"""Effect of the reduced model's own types on the tensors and weights of a layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.tensors import whole_limits
from polycmp_locate.pairing.codes import Quantisation
from polycmp_locate.precision.rank.figures import dynamic_steps, float_codes, float_order, integer_codes, steps_apart
from polycmp_locate.precision.rank.result import Codes

if TYPE_CHECKING:
    from polycmp_locate.precision.mixed import Layer, Mixer

_SMALL_FLOATS = ("float16", "bfloat16")
#: Operators that read a quantised weight, with the positions of weight and code of 0.
_WEIGHTS = {"DequantizeLinear": ((0, 2),), "MatMulInteger": ((1, 3),), "ConvInteger": ((1, 3),)}


def codes_of(mixer: Mixer, layer: Layer, expected: Mapping[str, Any]) -> tuple[Codes, ...]:
    """Measure the fit of a layer's tensors and weights to the reduced model's types.

    Args:
        mixer: The models.
        layer: The layer.
        expected: The reference's tensors.
    """
    codes = []
    for name in dict.fromkeys([*layer.inputs, *layer.outputs]):
        if not mixer.is_real(name):
            continue
        dtype = mixer.dtype_of(name)
        if dtype.name in _SMALL_FLOATS and dtype != mixer.exact_dtype(name):
            codes.append(float_codes(expected[name], dtype, name))
    nodes = mixer.reduced_nodes(layer)
    for name in layer.inputs:
        names = {mixer.pairs[name], mixer.raw(mixer.pairs[name])}
        for node in nodes:
            steps = _steps(mixer, node, expected[name]) if node.input and node.input[0] in names else None
            if steps is not None:
                codes.append(integer_codes(np.asarray(expected[name]), steps, name))
    codes += _weights(mixer, layer, nodes)
    return tuple(codes)


def steps_of(mixer: Mixer, name: str, expected: Any, candidate: Any) -> tuple[float, float] | None:
    """Return the shares of a tensor's elements that are one step of its small type away, and further away.

    Args:
        mixer: The models.
        name: The tensor.
        expected: The reference's tensor.
        candidate: The candidate's.
    """
    dtype = mixer.dtype_of(name)
    if dtype.name in _SMALL_FLOATS and dtype != mixer.exact_dtype(name):
        return steps_apart(float_order(expected, dtype), float_order(candidate, dtype))
    for node in mixer.reduced.graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] == mixer.pairs[name]:
            steps = _steps(mixer, node, expected)
            if steps is not None:
                limits = whole_limits(steps.dtype)
                return steps_apart(*(np.clip(steps.places(item), *limits) for item in (expected, candidate)))
    return None


def _steps(mixer: Mixer, node: Any, array: Any) -> Quantisation | None:
    """Return the scale and zero point of a quantising node; None for other nodes, and for blocks."""
    if node.op_type == "DynamicQuantizeLinear":
        return dynamic_steps(np.asarray(array))
    if node.op_type != "QuantizeLinear":
        return None
    scale = mixer.reduced_weight(node.input[1])
    zero = mixer.reduced_weight(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros((), np.uint8)
    if scale is None or zero is None or scale.ndim > 1:
        return None
    axis = next((item.i for item in node.attribute if item.name == "axis"), 1)
    return Quantisation(scale, zero, int(axis))


def _weights(mixer: Mixer, layer: Layer, nodes: list[Any]) -> Iterator[Codes]:
    """Yield the fit of the codes of a layer's weights to the float model's weights."""
    for node in nodes:
        for weight, zero in _WEIGHTS.get(node.op_type, ()):
            codes = mixer.reduced_weight(node.input[weight])
            exact = None if codes is None or codes.ndim < 2 else mixer.float_weight(layer, codes.shape)
            if codes is None or exact is None:
                continue
            zero_codes = mixer.reduced_weight(node.input[zero]) if len(node.input) > zero and node.input[zero] else None
            low, high = whole_limits(codes.dtype)
            wide = codes.astype(np.int32)
            at_zero = wide == _fitting(zero_codes, wide.shape)
            yield Codes(
                codes.dtype.name,
                node.input[weight],
                underflow=np.count_nonzero(at_zero & (exact != 0)) / max(wide.size, 1),
                used=float(wide.max() - wide.min()) / (high - low) if wide.size else 0.0,
            )


def _fitting(zero: Any, shape: tuple[int, ...]) -> Any:
    """Return the code of 0 for each element of a weight, whichever axis has codes of its own."""
    if zero is None:
        return 0
    wide = zero.astype(np.int32)
    if wide.ndim != 1 or wide.size == 1:
        return wide
    axis = next((axis for axis, size in enumerate(shape) if size == wide.size), len(shape) - 1)
    return wide.reshape([-1 if place == axis else 1 for place in range(len(shape))])

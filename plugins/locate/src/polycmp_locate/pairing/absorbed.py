"""Activations that a quantised file leaves to the range of its codes: Relu and Clip have no operator there any more."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polycmp.graph import GraphNode, weight_values
from polycmp.precision import CUTTING
from polycmp_locate.pairing.codes import Quantisation
from polycmp_locate.pairing.side import ModelSide

#: The place of the bias among what operators read that add one to their product.
_BIAS = {"Conv": 2, "ConvTranspose": 2, "FusedConv": 2, "FusedGemm": 2, "Gemm": 2, "QLinearConv": 8, "QGemm": 6}
#: Normalisations by fixed numbers, whole and written out.
_SCALING = frozenset({"BatchNormalization", "Mul"})


@dataclass(frozen=True)
class Absorbed:
    """An activation of one graph, and the operator of the other that rounds to codes which end where it would cut.

    Attributes:
        activation: The activation.
        quantiser: Operator that makes the codes.
        zero_point: The code of 0, as text; empty if it is not known.
        passes: A number that the codes can represent although the activation cuts it; None if there is none.
    """

    activation: GraphNode
    quantiser: GraphNode
    zero_point: str = ""
    passes: float | None = None

    @property
    def sentence(self) -> str:
        """Description of the counterpart of the activation, in words."""
        where = f"{self.quantiser.label}{f' (zero point {self.zero_point})' if self.zero_point else ''}"
        if self.passes is None:
            return f"{self.activation.label} is done by {where}"
        return f"{self.activation.label} has no operator of its own there, and {where} lets {self.passes:.4g} pass"


def activation_of(side: ModelSide, name: str) -> GraphNode | None:
    """Return the activation that computes a tensor and is the only reader of its input; None otherwise.

    Args:
        side: The graph.
        name: The tensor.
    """
    node = side.maker.get(name)
    if node is None or node.op_type not in CUTTING or node.operand(0) in side.finals:
        return None
    return node if node.operand(0) in side.maker and len(side.all_readers[node.operand(0)]) == 1 else None


def has_bias(node: GraphNode) -> bool:
    """Return whether an operator adds a bias to its product."""
    place = _BIAS.get(node.op_type, len(node.inputs))
    return place < len(node.inputs) and bool(node.inputs[place])


def folded_of(side: ModelSide, name: str) -> GraphNode | None:
    """Return the only reader of a tensor, if it has weights: a normalisation or bias that optimisers fold away.

    A normalisation may be written out, as TensorFlow does: a factor for each channel, and a sum.

    Args:
        side: The graph.
        name: The tensor.
    """
    readers = side.all_readers.get(name, [])
    if len(readers) != 1 or name in side.finals:
        return None
    node, product = readers[0], side.maker.get(name)
    others = [item for item in node.inputs if item != name]
    if not others or not all(item in side.static for item in others):
        return None
    folds = node.op_type == "BatchNormalization"
    if product is not None and node.op_type == "Mul":
        folds = product.op_type in _BIAS and _is_per_channel(side, others)
    elif product is not None and node.op_type == "Add":
        folds = _is_scaled(side, product) if product.op_type == "Mul" else _lacks_bias(product)
    return node if folds else None


def _lacks_bias(node: GraphNode) -> bool:
    return node.op_type in _BIAS and not has_bias(node)


def _is_scaled(side: ModelSide, node: GraphNode) -> bool:
    """Return whether an operator multiplies each channel of a product by a factor of its own."""
    makers = [side.maker[name] for name in node.inputs if name in side.maker and name not in side.static]
    factors = [name for name in node.inputs if name in side.static]
    return len(makers) == 1 and makers[0].op_type in _BIAS and _is_per_channel(side, factors)


def _is_per_channel(side: ModelSide, weights: Sequence[str]) -> bool:
    """Return whether weights are more than one number, which converters move about for other reasons."""
    return any(values.size > 1 for values in weight_values(side.graph, weights).values())


def find_folded(
    optimised: ModelSide, images: Mapping[str, str], exact: ModelSide, matched: Container[str]
) -> Iterator[tuple[str, GraphNode]]:
    """Yield tensors of an optimised graph, each with what the other graph alone does to it by weights.

    Args:
        optimised: The optimised graph.
        images: The other graph's tensors by those of the optimised one, roots of classes.
        exact: The other graph.
        matched: Tensors of the other graph, roots of classes, that have a counterpart.
    """
    for name, image in images.items():
        node, maker = folded_of(exact, image), optimised.node(name)
        if node is None or node.outputs[0] in matched or maker is None:
            continue
        if node.op_type == "Add" and not has_bias(maker):
            continue
        alike = _SCALING if node.op_type in _SCALING else frozenset({node.op_type})
        if not any(
            reader.op_type in alike and optimised.weights_of(reader) for reader, _ in optimised.readers.get(name, ())
        ):
            yield name, node


def code_ends(side: ModelSide, name: str, activation: GraphNode) -> list[str]:
    """Return the tensors of codes into which one is rounded and nothing else; none where the activation is still there.

    Args:
        side: The quantised graph.
        name: The tensor, the root of a class.
        activation: The other graph's activation.
    """
    node = side.node(name)
    if node is None or node.op_type == activation.op_type or name in side.replaced:
        return []
    if any(side.kind(reader) in CUTTING for reader, _ in side.readers.get(name, ())):
        return []
    return [name] if name in side.codes else [item.outputs[0] for item in side.quantisers(name)]


def find_absorbed(
    quantised: ModelSide, images: Mapping[str, str], exact: ModelSide, matched: Container[str]
) -> Iterator[tuple[str, GraphNode, list[str]]]:
    """Yield tensors of a quantised graph that are cut by their codes, each with the activation and those codes.

    Args:
        quantised: The quantised graph.
        images: The other graph's tensors by those of the quantised one, roots of classes.
        exact: The other graph.
        matched: Tensors of the other graph, roots of classes, that have a counterpart.
    """
    for name, image in images.items():
        readers = exact.all_readers.get(image, ())
        activation = activation_of(exact, readers[0].outputs[0]) if len(readers) == 1 else None
        if activation is None or exact.root(activation.outputs[0]) in matched:
            continue
        codes = code_ends(quantised, name, activation)
        if codes:
            yield name, activation, codes


def absorbed(quantised: ModelSide, codes: str, exact: ModelSide, activation: GraphNode) -> Absorbed:
    """Return the codes' counterpart of an activation."""
    steps = quantised.codes.get(codes)
    if steps is None:
        return Absorbed(activation, quantised.maker[codes])
    return Absorbed(activation, quantised.maker[codes], steps.zero_point, _passing(steps, exact, activation))


def _passing(steps: Quantisation, exact: ModelSide, activation: GraphNode) -> float | None:
    """Return a number within the range of the codes that the activation would clip; None if there is none."""
    low, high = _bounds(exact, activation)
    half = float(np.max(steps.scale)) / 2.0  # the nearest step to a bound may lie beyond it
    if steps.ends[0] < low - half:
        return steps.ends[0]
    return steps.ends[1] if steps.ends[1] > high + half else None


def _bounds(exact: ModelSide, activation: GraphNode) -> tuple[float, float]:
    if activation.op_type == "Relu":
        return 0.0, np.inf
    names = (activation.operand(1), activation.operand(2))
    weights = weight_values(exact.graph, filter(None, names))
    ends = []
    for name, key, unknown in zip(names, ("min", "max"), (-np.inf, np.inf), strict=True):
        value = weights[name].reshape(-1) if name in weights else np.array([activation.attributes.get(key, unknown)])
        ends.append(float(value[0]) if value.size else unknown)
    return ends[0], ends[1]

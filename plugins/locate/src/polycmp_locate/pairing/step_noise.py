"""What rounding to steps of a scale adds to the tensors of a quantised model, one part after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from polycmp.graph import GraphNode
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_locate.masks import beside_masks
from polycmp_locate.pairing.parts import PartNode

#: By so many times may the noise of a part's result exceed that of what it reads and rounds. Measured on MiniLM, int8
#: by ONNX Runtime with and without the full range of weights, weights alone and products of activations as well: at
#: most 3.9 (a LayerNormalization over a channel that is larger than all others). A range with a mask in it: 11.7.
_GROWTH = 6.0
#: Noise of this share of the signal leaves nothing of a model's outputs to use (choice). Measured as above: 0.42 with
#: cosines of 0.93 and more between the sentences' vectors, 0.64 to 0.73 with cosines down to 0.69.
_NO_SIGNAL_LEFT = 0.5
#: Noise of both signs hardly changes the factor between both sides; by so much may it change in one part. Measured as
#: above: at most 1.33 in files that are good enough, 1.77 with weights in 7 bits. A choice above that, below 2.
_FACTOR = 1.8
_LEVELS = 255.0


class Noise(NamedTuple):
    """The noise of one tensor.

    Attributes:
        arrived: Root of its mean square error, over that of the reference's numbers.
        rounding: What rounding the reference's tensor to 256 steps from its smallest to its largest number makes.
        gain: By which factor its numbers are the reference's, in the least squares.
    """

    arrived: float
    rounding: float
    gain: float


def noise_of(candidate: Any, reference: Any) -> Noise | None:
    """Return the noise of a tensor of real numbers, those that mask others left out; None for any other.

    Rounding to steps of one size makes an error whose mean square is a twelfth of the step's (Widrow and Kollar,
    Quantization Noise, 2008, section 1.2).

    Args:
        candidate: The candidate's tensor.
        reference: The reference's.
    """
    if not (is_floating(dtype_of(candidate)) and is_floating(dtype_of(reference))):
        return None
    own, other = to_numpy(candidate), to_numpy(reference)
    if own.shape != other.shape or not other.size:
        return None
    a, b = own.astype(np.float64).ravel(), other.astype(np.float64).ravel()
    beside = beside_masks(b)
    if beside is not None:
        a, b = a[beside], b[beside]
    signal = math.sqrt(float(np.mean(b * b)))
    error = math.sqrt(float(np.mean((a - b) ** 2)))
    if not 0.0 < signal < math.inf or not math.isfinite(error):
        return None
    rounding = float(b.max() - b.min()) / _LEVELS / math.sqrt(12.0)
    return Noise(error / signal, rounding / signal, float(np.mean(a * b)) / signal**2)


class StepNoise:
    """The noise of all tensors of a quantised model, and which of it the parts before explain.

    Args:
        nodes: The parts of both models together, in their order.
    """

    def __init__(self, nodes: Sequence[GraphNode]) -> None:
        self._known: dict[str, Noise] = {}
        self._parts: dict[str, PartNode] = {}
        self._read = frozenset(name for node in nodes for name in node.inputs)
        stepped: set[str] = set()
        for node in nodes:
            if isinstance(node, PartNode) and (node.quantised or stepped.intersection(node.inputs)):
                stepped.update(node.outputs)
                self._parts.update(dict.fromkeys(node.outputs, node))

    def see(self, candidate: Mapping[str, Any], reference: Mapping[str, Any]) -> None:
        """Measure tensors; those of an iteration may come in several calls.

        Args:
            candidate: The candidate's.
            reference: The reference's.
        """
        if not self._parts:
            return
        for name in candidate.keys() & reference.keys():
            noise = noise_of(candidate[name], reference[name])
            if noise is None:
                self._known.pop(name, None)
            else:
                self._known[name] = noise

    def explains(self, name: str, wrong: Set[str]) -> bool:
        """Return whether what its part reads and rounds explains a tensor's noise.

        Args:
            name: The tensor.
            wrong: Tensors that are wrong themselves, and explain nothing.
        """
        part, noise = self._parts.get(name), self._known.get(name)
        if part is None or noise is None or not wrong.isdisjoint(part.inputs):
            return False
        if self.too_much(name):
            return False
        read = [self._known[item] for item in part.inputs if item in self._known]
        power = sum(item.arrived**2 for item in read)
        if part.quantised:
            power += noise.rounding**2 + sum(item.rounding**2 for item in read)
        factors = [noise.gain / item.gain for item in read if item.gain > 0.0] + [noise.gain]
        kept = any(1.0 / _FACTOR <= factor <= _FACTOR for factor in factors)
        return kept and noise.arrived <= _GROWTH * math.sqrt(power)

    def left(self, name: str) -> str:
        """Return in words how much noise a tensor has; empty if that was not measured."""
        noise = self._known.get(name)
        return f"noise of {noise.arrived:.2g} times the signal" if noise is not None else ""

    def too_much(self, name: str) -> str:
        """Return in words that an output has more noise than leaves anything to use; empty for any other tensor."""
        noise = self._known.get(name)
        if name in self._read or noise is None or noise.arrived <= _NO_SIGNAL_LEFT:
            return ""
        return f"{self.left(name)}, which all parts together bring: polycmp locate --rank says which of them most,"

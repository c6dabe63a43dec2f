"""What rounding to coarse types and steps of a scale adds to the tensors of a model, one part after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import GraphNode
from polycmp.precision import UNITS
from polycmp.tensors import dtype_of, is_floating, to_numpy
from polycmp_locate.kinds import NORMALISING
from polycmp_locate.masks import beside_masks
from polycmp_locate.pairing.parts import PartNode

#: By so many times may the noise of a part's result exceed that of what it reads and rounds. Measured on MiniLM, int8
#: by ONNX Runtime with and without the full range of weights, weights alone and products of activations as well: at
#: most 3.9 (a LayerNormalization over a channel that is larger than all others). A range with a mask in it: 11.7.
_GROWTH = 6.0
#: Noise of this share of the signal leaves nothing of a model's outputs to use (choice). Measured as above: 0.42 with
#: cosines of 0.93 and more between the sentences' vectors, 0.64 to 0.73 with cosines down to 0.69.
_NO_SIGNAL_LEFT = 0.5
#: Noise of both signs changes no factor. One that a part adds is a fault from so many units of a type on, and from this
#: share on where numbers are rounded to steps: what locate allows a row, and an operator that makes steps.
_FACTOR_UNITS = 4.0
_FACTOR_OF_STEPS = 2.0**-5
#: What is not linear turns noise into a factor in the second order: a LayerNormalization shrinks a signal that carries
#: noise of the share e by 1 / sqrt(1 + e * e); functions that saturate do more (choice).
_SECOND_ORDER = 2.0
#: A factor or a shift is one of the whole tensor if it makes at least this share of the error (choice).
_SYSTEMATIC = 0.5
#: What arrives may become a factor of all numbers of several vectors by so many times (choice): a layer can hand on the
#: error of one direction that its inputs have in common. That of one vector may be all in that direction.
_IN_COMMON = 2.0
#: Elements below which chance looks like a factor, of a tensor and of one of its rows.
_FEW, _FEW_OF_ROW = 16, 8
#: A factor and a shift that explain this share of a row's error are not what chance leaves (choice).
_EXPLAINED = 0.75
_LEVELS = 255.0
_KEPT = {
    "factor": "its numbers are {1:.4g} times the reference's, a factor that no rounding makes",
    "shift": "its numbers are shifted by {0:.2g} of their size, which no rounding does",
    "row": "a whole row or column is off by {0:.2g} of its size, all in the same way, which no rounding does",
}


class Noise(NamedTuple):
    """The noise of one tensor.

    Attributes:
        arrived: Root of its mean square error, over that of the reference's numbers.
        rounding: What rounding the reference's tensor to 256 steps from its smallest to its largest number makes.
        gain: By which factor its numbers are the reference's, in the least squares.
        shift: The mean of its error, over the root of the mean square of the reference's numbers.
        channel: The largest error of a row or column that a factor and a shift of its own explain, over the root of the
            mean square of its numbers or of all; 0 if there is none.
        size: How many numbers it has.
        places: How many vectors it holds: the numbers of one are made of the same numbers, and share their errors.
    """

    arrived: float
    rounding: float
    gain: float
    shift: float = 0.0
    channel: float = 0.0
    size: int = 0
    places: int = 1

    @property
    def systematic(self) -> dict[str, float]:
        """What all numbers have in common, each as a share of the signal; nothing for few numbers.

        What makes less than half of the error is what chance leaves.
        """
        if self.size < _FEW:
            return {}
        least = _SYSTEMATIC * self.arrived
        found = {"factor": abs(self.gain - 1.0), "shift": abs(self.shift)}
        return {name: share for name, share in found.items() if share > least}


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
    factor, shift = float(np.mean(a * b)) / signal**2, float(np.mean(a - b)) / signal
    places = b.size // max(other.shape, default=1)
    return Noise(error / signal, rounding / signal, factor, shift, _of_channels(own, other), b.size, places)


def _of_channels(own: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the largest error that a factor and a shift of a row or column of a tensor explain."""
    axes = {0, 1, other.ndim - 1} if other.ndim > 2 else set(range(other.ndim)) if other.ndim == 2 else set()
    pairs = ((np.moveaxis(own, axis, 0), np.moveaxis(other, axis, 0)) for axis in axes)
    return max((_of_channel(*pair) for pair in pairs), default=0.0)


def _of_channel(own: NDArray[Any], other: NDArray[Any]) -> float:
    """Return the largest error of a row that is a factor and a shift of that row, as a share of its numbers."""
    rows = other.shape[0]
    if other.size < rows * _FEW_OF_ROW:
        return 0.0
    x, error = (array.reshape(rows, -1).astype(np.float64) for array in (other, own))
    with np.errstate(all="ignore"):
        error = error - x
        mean, centred = error.mean(axis=1), x - x.mean(axis=1, keepdims=True)
        of_x, power = (centred * centred).mean(axis=1), (error * error).mean(axis=1)
        along = (centred * error).mean(axis=1)
        explained = mean * mean + np.where(of_x > 0.0, along * along / of_x, 0.0)
        own_size = (x * x).mean(axis=1)
        share = np.sqrt(explained / np.maximum(own_size, own_size.mean()))
        found = share[np.isfinite(share) & (explained >= _EXPLAINED * power)]
    return float(found.max(initial=0.0))


class StepNoise:
    """The noise of all tensors of a model in coarser types or steps, and which of it the parts before explain.

    Args:
        nodes: The parts of both models together, in their order.
    """

    def __init__(self, nodes: Sequence[GraphNode]) -> None:
        self._known: dict[str, Noise] = {}
        self._parts: dict[str, PartNode] = {}
        self._units: dict[str, float] = {}
        self._stepped: set[str] = set()
        self._read = frozenset(name for node in nodes for name in node.inputs)
        for node in nodes:
            if not isinstance(node, PartNode):
                continue
            unit = max([node.unit, *(self._units.get(name, 0.0) for name in node.inputs)])
            if node.quantised or self._stepped.intersection(node.inputs):
                self._stepped.update(node.outputs)
            if unit > UNITS["float32"] or not self._stepped.isdisjoint(node.outputs):
                self._units.update(dict.fromkeys(node.outputs, unit))
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
        if part is None or noise is None or name not in self._stepped or not wrong.isdisjoint(part.inputs):
            return False
        if self.too_much(name) or self.kept(name):
            return False
        read = [self._known[item] for item in part.inputs if item in self._known]
        power = sum(item.arrived**2 for item in read)
        if part.quantised:
            power += noise.rounding**2 + sum(item.rounding**2 for item in read)
        return noise.arrived <= _GROWTH * math.sqrt(power)

    def kept(self, name: str) -> str:
        """Return in words what all numbers of a tensor, or of a row of it, have in common that its part added.

        Empty if there is nothing: rounding leaves neither a factor nor a shift, whatever the type.
        """
        part, noise = self._parts.get(name), self._known.get(name)
        if part is None or noise is None or part.op_type in NORMALISING:
            return ""
        read = [self._known[item] for item in part.inputs if item in self._known]
        came = max((item.arrived for item in read), default=0.0)
        bent = _SECOND_ORDER * max(noise.arrived, came) ** 2
        least = _FACTOR_OF_STEPS if name in self._stepped else _FACTOR_UNITS * self._units[name]
        growth = _IN_COMMON if noise.places >= _FEW_OF_ROW else _GROWTH
        for what, share in noise.systematic.items():
            if share > growth * came + least + bent:
                return _KEPT[what].format(share, noise.gain)
        if name not in self._stepped and noise.channel > 2.0 * least + _GROWTH * came:
            return _KEPT["row"].format(noise.channel)
        return ""

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

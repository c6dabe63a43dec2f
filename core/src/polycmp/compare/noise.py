"""What rounding explains of a tensor: the one error model by which commands judge, and when it explains nothing.

Rounding is random: its errors have both signs, they add up like a random walk, and no row keeps a factor because of it
(Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5), 2019). So an
error is held against three figures of the noise: the largest error, the root mean square, and the factor that remains.
A bound wider than a share of what the tensor itself varies by would let a wrong tensor pass, too; errors between that
share and the bound are undecided. Where channels of a tensor have other scales, each scale is judged for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.precision import UNITS, operator_rounding
from polycmp.records import dataclass
from polycmp.tensors import dtype_class

Array = NDArray[Any]
#: By how much two correct backends may be further apart than the sum of one sample of the rounding of each. Measured:
#: at most 3.4 times, in 60 comparisons of ten trained models (silero-vad, magika, PP-OCR; recurrent, convolutional and
#: attention networks) in ONNX Runtime against the reference evaluator and against itself without optimisation; twice
#: that is allowed. Rounding to float16 at a single operator of MiniLM is 74 times as far away or more.
MARGIN = 8.0
#: An error of more than this share of what a tensor varies by is nothing that a wide bound may explain (choice: an
#: output that is off by a factor of 1.1, or of which a tenth is noise, is never taken for rounding).
EXPLAINED_SHARE = 0.05
#: A factor that a whole tensor keeps is a fault from so many units on: errors of both signs leave none, and a factor
#: that is itself rounded makes half a unit.
_FACTOR_UNITS = 4.0
#: Neighbouring scales of an axis' slices that are so far apart belong to different things, as boxes and scores do
#: (choice: four bits).
_APART = 16.0
#: A scale that fewer slices of an axis have is none of its own (choice).
_FEWEST_OF_AXIS = 1.0 / 16.0
#: Elements that a slice needs before its scale means anything.
_FEWEST_IN_SLICE = 8
#: Slices of an axis that are looked at; channels are not more.
_MOST_SLICES = 1 << 12


@dataclass(frozen=True)
class Scales:
    """The scales that a tensor has, along one axis.

    Attributes:
        axis: The axis; None where the tensor has one scale.
        members: The positions along the axis of each scale, the smallest scale first.
    """

    axis: int | None = None
    members: tuple[tuple[int, ...], ...] = ()

    def parts(self, array: Array) -> Iterator[Array]:
        """Yield the part of an array that has each scale."""
        if self.axis is None:
            yield array
        else:
            for positions in self.members:
                yield np.take(array, positions, axis=self.axis)

    @property
    def count(self) -> int:
        """How many scales there are."""
        return len(self.members) if self.axis is not None else 1


@dataclass(frozen=True)
class Level:
    """How large the noise of a tensor, or of its part of one scale, is.

    Attributes:
        largest: The largest error of any element.
        rms: The root of the mean square of the errors.
        factor: By how much the factor between both sides differs from 1; infinite where that was not measured.
    """

    largest: float
    rms: float
    factor: float = math.inf

    def __add__(self, other: Level) -> Level:
        return Level(self.largest + other.largest, self.rms + other.rms, self.factor + other.factor)

    def at_least(self, other: Level) -> Level:
        """Return the larger of two levels, figure by figure; a factor that was not measured is no figure."""
        factors = [factor for factor in (self.factor, other.factor) if math.isfinite(factor)]
        return Level(max(self.largest, other.largest), max(self.rms, other.rms), max(factors, default=math.inf))


@dataclass(frozen=True)
class Explained:
    """What rounding explains of an error.

    Attributes:
        word: "" if it explains all, "undecided" if it may explain anything, "fault" if it does not explain this.
        why: What it does not explain, or may, in words.
    """

    word: str = ""
    why: str = ""


def scales_of(reference: Array) -> Scales:
    """Return the scales of a tensor: along the axis whose slices are furthest apart, if they are far apart at all."""
    best, width = Scales(), _APART
    for axis, count in enumerate(reference.shape):
        if not 2 <= count <= _MOST_SLICES or reference.size < count * _FEWEST_IN_SLICE:
            continue
        squares = np.square(_magnitudes(reference))
        others = tuple(other for other in range(reference.ndim) if other != axis)
        scale = np.sqrt(squares.mean(axis=others))
        members, apart = _clusters(scale)
        if len(members) > 1 and apart >= width:
            best, width = Scales(axis, members), apart
    return best


def _clusters(scale: Array) -> tuple[tuple[tuple[int, ...], ...], float]:
    """Return the positions of slices by scale, and how far apart two neighbouring scales are at most."""
    order = [int(position) for position in np.argsort(scale, kind="stable")]
    known = [position for position in order if scale[position] > 0.0]
    clusters: list[list[int]] = []
    for position in known:
        if clusters and scale[position] < _APART * scale[clusters[-1][-1]]:
            clusters[-1].append(position)
        else:
            clusters.append([position])
    fewest = _FEWEST_OF_AXIS * len(order)
    joined: list[list[int]] = []
    for cluster in clusters:
        if joined and min(len(cluster), len(joined[-1])) < fewest:
            joined[-1] += cluster
        else:
            joined.append(cluster)
    if not joined:
        return (), 0.0
    joined[0] = [*order[: len(order) - len(known)], *joined[0]]
    gaps = [scale[two[0]] / scale[one[-1]] for one, two in pairwise(joined) if scale[one[-1]]]
    return tuple(tuple(sorted(cluster)) for cluster in joined), float(max(gaps, default=0.0))


def levels_of(candidate: Array, reference: Array, scales: Scales) -> tuple[Level, ...]:
    """Return how far a tensor is from another of the same shape, for each of its scales."""
    pairs = zip(scales.parts(candidate), scales.parts(reference), strict=True)
    return tuple(_level(own, other) for own, other in pairs)


def level_of(candidate: Array, reference: Array) -> Level:
    """Return how far a tensor is from another of the same shape, as one."""
    return _level(candidate, reference)


def _level(candidate: Array, reference: Array) -> Level:
    a, b = _wide(candidate).ravel(), _wide(reference).ravel()
    with np.errstate(all="ignore"):
        errors = np.abs(a - b)
        finite = np.isfinite(errors)
        a, b, errors = a[finite], b[finite], errors[finite]
        power = float(np.vdot(b, b).real)
        factor = float(np.vdot(b, a).real) / power if power > 0.0 else math.nan
    away = abs(factor - 1.0) if math.isfinite(factor) else math.inf
    return Level(float(errors.max(initial=0.0)), root_mean_square(errors), away)


def one_rounding(reference: Array, share: float, scales: Scales, absolute: float = 0.0) -> tuple[Level, ...]:
    """Return the noise of errors that are a share of a tensor's largest magnitude, for each of its scales.

    Args:
        reference: The tensor.
        share: The share.
        scales: Its scales.
        absolute: What every element may be off by beside that.
    """
    found = []
    for part in scales.parts(reference):
        values = _magnitudes(part)
        rms = share * root_mean_square(values) + absolute
        found.append(Level(share * float(values.max(initial=0.0)) + absolute, rms))
    return tuple(found)


def explained(
    candidate: Array, reference: Array, noise: Sequence[Level], scales: Scales, unit: float, kind: str
) -> Explained:
    """Return what rounding explains of the difference of two tensors of one shape.

    Args:
        candidate: The tensor to judge.
        reference: What it should be.
        noise: The noise of both sides together, for each scale.
        scales: The scales of the reference.
        unit: Unit roundoff of the coarser of the types of both.
        kind: That type's name.
    """
    least = MARGIN * operator_rounding(UNITS["float32"]) * float(_magnitudes(reference).max(initial=0.0))
    dead = _dead_channels(candidate, reference, scales, unit, least)
    if dead.word == "fault":
        return dead
    undecided = dead
    for index, (level, own, other) in enumerate(
        zip(noise, scales.parts(candidate), scales.parts(reference), strict=True)
    ):
        made, where = _level(own, other), _where(scales, index)
        fault = _beyond(made, level, unit)
        if fault:
            return Explained("fault", f"{fault}{where}")
        spread, reach = _spread(other, scales.axis)
        share, what = max(
            (_over(made.largest, max(EXPLAINED_SHARE * reach, least)), f"up to {MARGIN * level.largest:.2g}"),
            (_over(made.rms, max(EXPLAINED_SHARE * spread, least)), f"{MARGIN * level.rms:.2g} on average"),
        )
        if share > 1.0 and not undecided.word:
            text = f"rounding to {kind} may explain anything {what} of values that vary by {reach:.2g}{where}"
            undecided = Explained("undecided", text)
    return undecided


def _beyond(made: Level, noise: Level, unit: float) -> str:
    """Return in words what of an error is more than its noise; empty if nothing is."""
    if made.largest > MARGIN * noise.largest:
        return f"an element is off by {made.largest:.3g}"
    if made.rms > MARGIN * noise.rms:
        return f"the errors are {made.rms:.3g} on average (root mean square)"
    is_known = unit > UNITS["float32"] and math.isfinite(noise.factor) and math.isfinite(made.factor)
    if is_known and made.factor > max(MARGIN * noise.factor, _FACTOR_UNITS * unit):
        return f"all values together keep a factor that is {made.factor:.2g} away from 1"
    return ""


def _over(error: float, most: float) -> float:
    return error / most if most > 0.0 else (math.inf if error > 0.0 else 0.0)


def _spread(part: Array, axis: int | None) -> tuple[float, float]:
    """Return by how much values vary: their standard deviation and range, of each slice along an axis by itself.

    A tensor of one value varies by that value.
    """
    values = _wide(part)
    values = np.where(np.isfinite(values), values, 0.0)
    if not values.size:
        return 0.0, 0.0
    if np.iscomplexobj(values):
        return root_mean_square(np.abs(values)), float(np.abs(values).max())
    others = tuple(other for other in range(values.ndim) if other != axis) if axis is not None else None
    deviation = float(np.sqrt(np.mean(values.var(axis=others))))
    reach = float((values.max(axis=others) - values.min(axis=others)).max())
    if reach == 0.0:
        return root_mean_square(values), float(np.abs(values).max())
    return deviation, reach


def _dead_channels(candidate: Array, reference: Array, scales: Scales, unit: float, least: float) -> Explained:
    """Return whether slices of a tensor are constant in the candidate alone, and vary by more than the least error."""
    axis = scales.axis if scales.axis is not None else _channel_axis(reference.shape)
    if axis is None or dtype_class(reference.dtype) != "float":
        return Explained()
    others = tuple(other for other in range(reference.ndim) if other != axis)
    own, other = _wide(candidate), _wide(reference)
    with np.errstate(all="ignore"):
        flat = own.max(axis=others) == own.min(axis=others)
        high = np.abs(other).max(axis=others)
        varies = (other.max(axis=others) - other.min(axis=others)) > np.maximum(_FACTOR_UNITS * unit * high, least)
    dead = flat & varies
    if not dead.any():
        return Explained()
    value = "0" if not own.max(axis=others)[dead].any() else "one number each"
    text = f"{int(dead.sum())} of {dead.size} channels (axis {axis}) are {value} here and not in the reference"
    members = scales.members if scales.axis is not None else (tuple(range(dead.size)),)
    for positions in members:
        inside = dead[list(positions)]
        if 2 * int(inside.sum()) >= inside.size:
            return Explained("fault" if float(high[dead].max()) > 2.0 * unit else "undecided", text)
    return Explained()


def _channel_axis(shape: tuple[int, ...]) -> int | None:
    """Return the axis that channels lie along where no scales tell: the second one; None where slices are too small."""
    axis = 1 if len(shape) > 2 else 0 if len(shape) == 1 else None
    if axis is None or shape[axis] < 2:
        return None
    size = math.prod(shape) // shape[axis]
    return axis if size >= _FEWEST_IN_SLICE else None


def _where(scales: Scales, index: int) -> str:
    if scales.axis is None:
        return ""
    positions = scales.members[index]
    shown = ", ".join(map(str, positions[:4])) + (", …" if len(positions) > 4 else "")
    return f" (in {len(positions)} of {sum(map(len, scales.members))} channels of a scale of their own: {shown})"


def _wide(array: Array) -> Array:
    kind = np.complex128 if dtype_class(array.dtype) == "complex" else np.float64
    return array.astype(kind)


def _magnitudes(array: Array) -> Array:
    """Return the magnitudes of a tensor, 0 for what is not finite."""
    values = np.abs(_wide(array))
    return np.where(np.isfinite(values), values, 0.0)


def root_mean_square(errors: Array) -> float:
    """Return the root of the mean square; 0 for nothing."""
    return float(np.sqrt(np.mean(np.square(np.abs(errors))))) if errors.size else 0.0

"""Estimate of the error that rounding explains: the one error model by which all commands judge.

*What is moved.* The reference's model runs as it is, and again with every tensor that an operator calculates moved;
numbers that operators only hand on stay. Where a side's type is coarser than the model's, its weights are rounded to
it, and inputs move, too.

*By how much.* Each number at random by up to one rounding to the side's type; in float32 and wider, where sums round
several times, by up to two. Whole numbers stay, being mostly exact, and results of functions that kernels approximate
(`polycmp.precision.BESIDE_ONE`) move by no less than a rounding of 1 in float32. Where a tensor is rounded to steps of
a scale, each number moves by up to half a step: that of the file where it is known, or else of 255 over the tensor's
range. Rounding is random: its errors have both signs, they add up like a random walk, and no row keeps a factor
because of it (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41(5),
2019). Running the model with moved tensors measures their effect, however it is amplified or damped.

*How often.* `SAMPLES` times, with other random numbers each time. The noise of a tensor (`Level`) is the largest error
of any sample, the root mean square of all, and the largest factor. Both sides round: their noises are added.

*The bound* is `MARGIN` times that, for each of the figures; elements that a range of steps leaves out may lose
`CLIPPED_BY` each. What is beyond it is a fault. Where channels have other scales, each scale is judged by itself.

*Undecided.* Rounding explains without question what is at most `usual` times the noise, as it is in files without a
fault; from there to the bound a small fault looks the same. And a bound wider than a share of what the tensor itself
varies by would let a wrong tensor pass, too: errors between `explained_share` and the bound are undecided.

Where no backend can run a model so, the noise is estimated (`one_rounding`), and the report says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.compare.channels import FEWEST_IN_CHANNEL, channel_axis, dead_channels, describe_dead
from polycmp.precision import UNITS, is_steps, operator_rounding, unit_of
from polycmp.sentences import anything_explained, small_fault_or_rounding
from polycmp.tensors import dtype_class, dtype_name, is_floating, to_numpy

Array = NDArray[Any]
#: Number of runs of a model with its tensors moved (choice: the largest of four samples of a normal distribution is
#: less than an eighth of its width in one of 10,000 cases).
SAMPLES = 4
#: By how much two correct backends may be further apart than the sum of one sample of the rounding of each. Measured:
#: at most 3.4 times, in 60 comparisons of ten trained models (silero-vad, magika, PP-OCR; recurrent, convolutional and
#: attention networks) in ONNX Runtime against the reference evaluator and against itself without optimisation; twice
#: that is allowed. Rounding to float16 at a single operator of MiniLM is 74 times as far away or more.
MARGIN = 8.0
#: Rounding makes so many times its noise of a tensor at most, in files without a fault, twice the largest of which is
#: allowed in float16 and bfloat16. Measured in 464 outputs of 24 small models: 0.5 times between two backends in
#: float32, 1.2 times in float16 and bfloat16, 2.5 times in int8; in 13 trained models in float16: 1.4 times.
_USUAL, _USUAL_OF_HALVES = 3.0, 2.0
#: An error of more than this share of what a tensor varies by is nothing that a wide bound may explain (choice: an
#: output that is off by a factor of 1.1, or of which a tenth is noise, is never taken for rounding).
EXPLAINED_SHARE = 0.05
#: The same in units of the type, for finer ones than float16: a model that makes more of its rounding has lost 14 bits,
#: and a wrong weight moves its outputs by as little (choice; a thousandth in float32).
_AMPLIFIED = 2.0**14
#: A factor or a shift that a whole tensor or a row keeps is a fault from so many units on: errors of both signs leave
#: none, and what all of a row is divided by is rounded once or twice; twice that is a choice.
_LEAST_UNITS = 4.0
#: The same where numbers are rounded to steps of a scale, which the scale itself is wrong by and values are cut at
#: (choice).
_LEAST_OF_STEPS = 2.0**-5
#: A factor or a shift of all values counts if it makes this share of an error, one of a row if it makes that (choice):
#: what chance leaves makes less.
_SYSTEMATIC, _SYSTEMATIC_IN_ROW = 0.5, 0.85
_KEPT = {
    "factor": "all values together keep a factor that is {:.2g} away from 1",
    "shift": "all values together are shifted by {:.2g} of their size",
    "row": "a row or column is off by {:.2g} of its size, all in the same way",
}
#: A range of steps may leave out a few elements, which then lose up to this share of the largest magnitude; a
#: calibration by percentiles does so on purpose. Measured on MiniLM, calibrated with 8 random texts: at most 10 %.
CLIPPED_BY = 0.25
#: Elements below which chance looks like a factor.
_FEW = 16
#: Neighbouring scales of an axis' slices that are so far apart belong to different things, as boxes and scores do
#: (choice: four bits).
_APART = 16.0
#: A scale that fewer slices of an axis have is none of its own (choice).
_FEWEST_OF_AXIS = 1.0 / 16.0
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
        """The number of scales."""
        return len(self.members) if self.axis is not None else 1


@dataclass(frozen=True)
class Level:
    """Size of the noise of a tensor, or of its part of one scale.

    Figures that an estimate does not give are infinite.

    Attributes:
        largest: The largest error of any element.
        rms: The root of the mean square of the errors.
        factor: By how much the factor between both sides differs from 1.
        shift: The mean of the errors, over the root of the mean square of the numbers.
        row: The largest error of a row or column that a factor and a shift of its own make, over the root of the mean
            square of its numbers, or of all.
    """

    largest: float
    rms: float
    factor: float = math.inf
    shift: float = math.inf
    row: float = math.inf

    def __add__(self, other: Level) -> Level:
        return Level(*(one + two for one, two in zip(self.figures, other.figures, strict=True)))

    @property
    def figures(self) -> tuple[float, float, float, float, float]:
        """All figures, in their order."""
        return self.largest, self.rms, self.factor, self.shift, self.row

    def at_least(self, other: Level) -> Level:
        """Return the larger of two levels, figure by figure; what one does not tell is the other's."""
        pairs = zip(self.figures, other.figures, strict=True)
        return Level(*(max(pair) if all(map(math.isfinite, pair)) else min(pair) for pair in pairs))


@dataclass(frozen=True)
class Explained:
    """Part of an error that rounding explains.

    Attributes:
        word: "" if it explains all, "undecided" if it may explain anything, "fault" if it does not explain this.
        why: The part of the error that rounding does not explain, or may explain, in words.
    """

    word: str = ""
    why: str = ""


def scales_of(reference: Array) -> Scales:
    """Return the scales of a tensor: along the axis whose slices are furthest apart, if they are far apart at all."""
    best, width = Scales(), _APART
    for axis, count in enumerate(reference.shape):
        if not 2 <= count <= _MOST_SLICES or reference.size < count * FEWEST_IN_CHANNEL:
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
    """Measure the distance between two tensors of one shape, for each of its scales."""
    pairs = zip(scales.parts(candidate), scales.parts(reference), strict=True)
    return tuple(_level(own, other) for own, other in pairs)


def sampled_levels(exact: Array, perturbed: Iterable[Array], scales: Scales) -> tuple[Level, ...] | None:
    """Return the noise of a tensor, for each of its scales; None where samples have other shapes, or are not finite.

    Args:
        exact: The tensor.
        perturbed: Samples of it, from runs with moved tensors.
        scales: The tensor's scales.
    """
    samples = list(perturbed)
    finite = np.isfinite(_wide(exact))
    if any(item.shape != exact.shape or not np.isfinite(_wide(item))[finite].all() for item in samples):
        return None
    found = [levels_of(item, exact, scales) for item in samples]
    if not found:
        return None
    of_scales = zip(map(_largest_level, zip(*found, strict=True)), scales.parts(exact), strict=True)
    return tuple(level.at_least(_by_chance(level, part)) for level, part in of_scales)


def _largest_level(levels: Sequence[Level]) -> Level:
    rms = math.sqrt(sum(level.rms**2 for level in levels) / len(levels))
    most = [max(figures) for figures in zip(*(level.figures for level in levels), strict=True)]
    return Level(most[0], rms, *most[2:])


def _by_chance(noise: Level, part: Array) -> Level:
    """Return the factor, shift and row that independent errors of a tensor's noise leave by chance.

    A few samples of few numbers may leave far less: the errors themselves say more. The mean of n of them, and what
    they have in common with other n numbers, is a root of n smaller than one (n as Kish's effective sample size where
    the numbers are of different size).
    """
    values = _magnitudes(part)
    squares, fourths = float(np.sum(values**2)), float(np.sum(values**4))
    if part.size < _FEW or not fourths > 0.0:
        return noise
    share = noise.rms / math.sqrt(squares / part.size)
    rows = max((part.shape[axis] for axis in _row_axes(part.ndim)), default=1)
    of_row = share * math.sqrt(2.0 * rows / part.size)
    return Level(noise.largest, noise.rms, share * math.sqrt(fourths) / squares, share / math.sqrt(part.size), of_row)


def perturbed_inputs(
    feed: Mapping[str, Any], kinds: Mapping[str, str | float | tuple[float, ...]], seed: int, *, all_types: bool = False
) -> dict[str, Any]:
    """Return inputs moved by up to one rounding to a type that is coarser than their own; others as they are.

    Args:
        feed: Arrays by name.
        kinds: The type that an input is rounded to, by name; of all others under the empty name.
        seed: Seed of the random numbers.
        all_types: Whether the others move, too, by a rounding to their own type.
    """
    made, random = {}, np.random.default_rng(seed)
    for name, value in feed.items():
        array = to_numpy(value)
        if not is_floating(array.dtype):
            made[name] = array
            continue
        kind, own = kinds.get(name, kinds.get("", "")), unit_of(dtype_name(array.dtype))
        wide = _wide(array)
        width: Any = 0.0
        if not isinstance(kind, str):
            width = 0.5 * float(np.max(kind))
        elif is_steps(kind):
            width = unit_of(kind) / 2 * (max(wide.max(initial=0.0), 0.0) - min(wide.min(initial=0.0), 0.0))
        elif all_types or unit_of(kind) > own:
            width = operator_rounding(max(unit_of(kind), own)) * np.abs(wide)
        if np.any(width):
            array = (wide + width * random.uniform(-1.0, 1.0, array.shape)).astype(array.dtype)
        made[name] = array
    return made


def _level(candidate: Array, reference: Array, *, gated: bool = False) -> Level:
    """Measure the distance between two tensors.

    Args:
        candidate: The tensor.
        reference: The other.
        gated: Whether factors and shifts count only where they make a good share of an error.
    """
    a, b = _wide(candidate), _wide(reference)
    with np.errstate(all="ignore"):
        finite = np.isfinite(a - b)
    if not finite.all():
        a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    errors = a - b
    largest, rms = float(np.abs(errors).max(initial=0.0)), root_mean_square(errors)
    size = root_mean_square(b)
    if b.size < _FEW or not 0.0 < size < math.inf or not math.isfinite(rms):
        return Level(largest, rms)
    factor, shift = abs(float(np.mean(np.conj(b) * errors).real)) / size**2, abs(float(np.mean(errors).real)) / size
    least = _SYSTEMATIC * rms / size if gated else 0.0
    row = 0.0 if np.iscomplexobj(b) else _row(errors, b, _SYSTEMATIC_IN_ROW if gated else 0.0)
    return Level(largest, rms, factor if factor >= least else 0.0, shift if shift >= least else 0.0, row)


def _row(errors: Array, reference: Array, least_share: float) -> float:
    """Return the largest error of a row, along the axes that rows lie along, that its own factor and shift make."""
    axes = _row_axes(reference.ndim)
    pairs = ((np.moveaxis(errors, axis, 0), np.moveaxis(reference, axis, 0)) for axis in axes)
    return max((_of_rows(*pair, least_share) for pair in pairs), default=0.0)


def _row_axes(rank: int) -> set[int]:
    return {0, 1, rank - 1} if rank > 1 else set()


def _of_rows(errors: Array, reference: Array, least_share: float) -> float:
    rows = reference.shape[0]
    if rows < 2 or reference.size < rows * FEWEST_IN_CHANNEL:
        return 0.0
    x, error = reference.reshape(rows, -1), errors.reshape(rows, -1)
    with np.errstate(all="ignore"):
        mean, centred = error.mean(axis=1), x - x.mean(axis=1, keepdims=True)
        of_x, along = (centred * centred).mean(axis=1), (centred * error).mean(axis=1)
        systematic = mean * mean + np.where(of_x > 0.0, along * along / of_x, 0.0)
        size = (x * x).mean(axis=1)
        share = np.sqrt(systematic / np.maximum(size, size.mean()))
        counts = np.isfinite(share) & (systematic >= least_share**2 * (error * error).mean(axis=1))
    return float(share[counts].max(initial=0.0))


def one_rounding(reference: Array, share: float, scales: Scales, absolute: float = 0.0) -> tuple[Level, ...]:
    """Return the noise of errors that are a share of a tensor's largest magnitude, for each of its scales.

    Args:
        reference: The tensor.
        share: The share.
        scales: The tensor's scales.
        absolute: Error that every element may have in addition.
    """
    found = []
    for part in scales.parts(reference):
        values = _magnitudes(part)
        rms = share * root_mean_square(values) + absolute
        found.append(Level(share * float(values.max(initial=0.0)) + absolute, rms))
    return tuple(found)


def with_clipping(noise: Level, reference: Array, kind: str) -> Level:
    """Return the noise of a tensor whose range may leave out a few elements, as steps of a scale do.

    Args:
        noise: The noise of both sides together.
        reference: The tensor.
        kind: The type that the tensor is rounded to.
    """
    if not is_steps(kind):
        return noise
    clipped = CLIPPED_BY * float(_magnitudes(reference).max(initial=0.0)) / MARGIN
    return replace(noise, largest=max(noise.largest, clipped))


def explained(
    candidate: Array,
    reference: Array,
    noise: Sequence[Level],
    scales: Scales,
    unit: float,
    kind: str,
    *,
    is_inner: bool = False,
    flips: bool = False,
) -> Explained:
    """Judge how much of the difference between two tensors of one shape rounding explains.

    Args:
        candidate: The tensor to judge.
        reference: The expected tensor.
        noise: The noise of both sides together, for each scale.
        scales: The scales of the reference.
        unit: Unit roundoff of the coarser of the types of both.
        kind: That type's name.
        is_inner: Whether operators read the tensor: what is lost in a channel of it shows in what they make.
        flips: Whether codes on the way may be a step away: that moves few numbers by much, however little is amplified.
    """
    share = explained_share(unit_of(kind))
    shares = (EXPLAINED_SHARE if flips else share, share)
    least = _least_error(reference)
    # Rounding makes 0 of what is below half a step, which had an error of that size before it arrived there.
    lost = [2.0 * level.largest for level in noise] if is_inner else []
    dead = _dead_channels(candidate, reference, scales, unit, least, lost)
    if dead.word == "fault":
        return dead
    undecided = dead
    for index, (level, own, other) in enumerate(
        zip(noise, scales.parts(candidate), scales.parts(reference), strict=True)
    ):
        made, where = _level(own, other, gated=True), _where(scales, index)
        of_steps = is_steps(kind)
        alike = of_steps and _spread(other, scales.axis)[1] <= 2.0 * level.largest
        most = with_clipping(level, other, kind)
        fault = _beyond(made, most, unit, is_steps=of_steps, alike=alike)
        if fault:
            return Explained("fault", f"{fault}{where}")
        doubt = _doubt(made, most, other, scales.axis, least, kind, shares)
        if doubt and not undecided.word:
            undecided = Explained("undecided", f"{doubt}{where}")
    return undecided


def is_too_far(candidate: Array, reference: Array) -> bool:
    """Return whether two tensors of one shape are so far apart that no bound, however wide, may explain it.

    Args:
        candidate: The tensor to judge.
        reference: The expected tensor.
    """
    least, scales = _least_error(reference), scales_of(reference)
    parts = zip(scales.parts(candidate), scales.parts(reference), strict=True)
    return any(max(_too_far(_level(own, other), other, scales.axis, least)[:2]) > 1.0 for own, other in parts)


def _least_error(reference: Array) -> float:
    """Return the error that every tensor may have, however little it varies."""
    return MARGIN * operator_rounding(UNITS["float32"]) * float(_magnitudes(reference).max(initial=0.0))


def _doubt(
    made: Level, noise: Level, reference: Array, axis: int | None, least: float, kind: str, shares: tuple[float, float]
) -> str:
    """Return in words why an error within the bound may be a fault all the same; empty if rounding explains it."""
    of_largest, of_rms, reach = _too_far(made, reference, axis, least, shares)
    if max(of_largest, of_rms) > 1.0:
        bound = f"up to {MARGIN * noise.largest:.2g}", f"{MARGIN * noise.rms:.2g} on average"
        what = bound[0] if of_largest >= of_rms else bound[1]
        return anything_explained(kind, what, reach)
    times = max(_over(made.largest, max(noise.largest, least)), _over(made.rms, max(noise.rms, least)))
    if times > usual(kind):
        return small_fault_or_rounding(kind, times)
    return ""


def usual(kind: str) -> float:
    """Return the largest error of files without a fault, in multiples of the noise of rounding to a type.

    Args:
        kind: The type's name.
    """
    return _USUAL if is_steps(kind) or unit_of(kind) <= UNITS["float32"] else _USUAL_OF_HALVES


def explained_share(unit: float) -> float:
    """Return the largest error that rounding to a type may explain, as a share of what a tensor varies by.

    Args:
        unit: Unit roundoff of the type.
    """
    return min(EXPLAINED_SHARE, _AMPLIFIED * unit)


def _too_far(
    made: Level,
    reference: Array,
    axis: int | None,
    least: float,
    shares: tuple[float, float] = (EXPLAINED_SHARE, EXPLAINED_SHARE),
) -> tuple[float, float, float]:
    """Return how many times its limit the largest error is, and the average one, and by how much values vary."""
    spread, reach = _spread(reference, axis)
    of_largest, of_rms = shares
    return _over(made.largest, max(of_largest * reach, least)), _over(made.rms, max(of_rms * spread, least)), reach


def _beyond(made: Level, noise: Level, unit: float, *, is_steps: bool, alike: bool = False) -> str:
    """Return in words what of an error is more than its noise; empty if nothing is.

    Numbers that vary by less than a step are all rounded alike, so that the same error in all of them is no fault.
    """
    if made.largest > MARGIN * noise.largest:
        return f"an element is off by {made.largest:.3g}"
    if made.rms > MARGIN * noise.rms:
        return f"the errors are {made.rms:.3g} on average (root mean square)"
    if unit <= UNITS["float32"] or alike:
        return ""
    least = _LEAST_OF_STEPS if is_steps else _LEAST_UNITS * unit
    for figure, words in _KEPT.items():
        share, of_noise = getattr(made, figure), getattr(noise, figure)
        if math.isfinite(share) and share > max(MARGIN * of_noise, least):
            return words.format(share)
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


def _dead_channels(
    candidate: Array, reference: Array, scales: Scales, unit: float, least: float, lost: Sequence[float]
) -> Explained:
    """Return whether slices of a tensor are constant in the candidate alone, and vary by more than the least error.

    Args:
        candidate: The tensor to judge.
        reference: The expected tensor.
        scales: Its scales.
        unit: Unit roundoff of the coarser of the types of both.
        least: The error that every tensor may have.
        lost: For each scale, how large numbers may be that rounding makes 0 of; none where nothing may be lost.
    """
    axis = scales.axis if scales.axis is not None else channel_axis(reference.shape)
    dead, every = (dead_channels(candidate, reference, axis, _LEAST_UNITS * unit, size) for size in (least, 0.0))
    if dead is None or every is None:
        return Explained()
    text = describe_dead(every, candidate, axis)  # those next to nothing decide nothing, and are lost all the same
    high = _magnitudes(np.take(reference, np.flatnonzero(dead), axis=axis)).max(initial=0.0)
    members = scales.members if scales.axis is not None else (tuple(range(dead.size)),)
    for index, positions in enumerate(members):
        inside = dead[list(positions)]
        if 2 * int(inside.sum()) >= inside.size and not (lost and high <= lost[index]):
            return Explained("fault" if high > 2.0 * unit else "undecided", text)
    return Explained()


def lost_channels(candidate: Array, reference: Array) -> str:
    """Return in words which channels are constant in the candidate alone; empty where half of a scale's are alive.

    One figure for a whole output does not show them where others are larger.

    Args:
        candidate: The tensor to judge.
        reference: The expected tensor, of the same shape.
    """
    unit, axis = UNITS["float32"], channel_axis(reference.shape)
    if dead_channels(candidate, reference, axis, _LEAST_UNITS * unit, 0.0) is None:
        return ""
    return _dead_channels(candidate, reference, scales_of(reference), unit, _least_error(reference), []).why


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

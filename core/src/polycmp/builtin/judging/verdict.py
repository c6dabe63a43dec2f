"""The one judge: whether two tensors differ by more than rounding explains, and what a pass is worth.

Three values judge a tensor, each for every scale that it has: its *error*, the *bound* on what rounding explains, and
its *spread*, by how much its values vary. Each is looked at twice, as the largest of all elements and on average (root
mean square).

- Off by more than the bound: failed. So is an output whose channels are dead, or that is off by more than half of its
  spread on average, whatever explains it: it is of no use. Only where the side that rounds less is all noise itself,
  that is nothing about the other one.
- Else off by at most a twentieth of its spread: passed. The bound over the spread says what that is worth: a fault
  below it would not show.
- Else undecided: rounding explains it, and a fault of that size would look the same.

What two files hold is evidence where it is known. If they hold different networks, an error beyond the noise itself,
as it was measured, failed, and so did what is undecided. If one backend runs both, and they hold the same network up
to the grids that they declare, what is undecided passed within twice the noise: it is a sample of it.

No value of a tensor is known more exactly than a few roundings of float32: an error below that is none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.levels import Extent, Level, Values, level_between, magnitudes
from polycmp.builtin.judging.limits import LEAST_UNITS, MARGIN, RUINED_SHARE, SAME_NETWORK_MARGIN, SMALL_SHARE
from polycmp.compare import channel_axis, dead_channels, describe_dead
from polycmp.precision import UNITS, is_steps, operator_rounding, unit_of

Array = NDArray[Any]
Word = Literal["passed", "failed", "undecided"]
#: What two files hold, told without a run: nothing that is known, the same network, or another one.
Network = Literal["", "same", "other"]

_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class Floor:
    """The noise that rounding makes of a tensor, of both sides together.

    Attributes:
        levels: The noise of each scale of the tensor.
        kind: The coarsest type that either side rounds to.
        source: Origin of the noise, in words.
        finest: The noise of the side that rounds less, for each scale; none where that is not known.
    """

    levels: tuple[Level, ...]
    kind: str
    source: str = ""
    finest: tuple[Level, ...] = ()

    def covers(self, compared: Comparison) -> bool:
        """Return whether the error of no scale is larger than the noise itself."""
        pairs = zip(compared.errors, self.levels, strict=True)
        return all(error.largest <= noise.largest and error.rms <= noise.rms for error, noise in pairs)

    def bound(self, margin: float) -> Level:
        """Return the largest error, and the largest root mean square, that rounding explains of any scale.

        Args:
            margin: How many times the noise that is.
        """
        largest, rms = max(level.largest for level in self.levels), max(level.rms for level in self.levels)
        return Level(margin * largest, margin * rms)


@dataclass(frozen=True)
class Judgement:
    """The judge's answer on a tensor.

    Attributes:
        word: The verdict.
        why: The part of the error that decides, in words; empty where it passed.
        error: The error that decides, of an element or on average.
        bound: The bound on it.
        spread: By how much the values vary that it is an error of.
        on_average: Whether these three are root mean squares.
        resolution: The largest fault that need not show, as a share of what the values vary by.
        margin: How many times the noise the bound is: less than `MARGIN` where what two files hold decided.
        where: The part of the tensor that it is about, in words; empty for the whole.
    """

    word: Word
    why: str
    error: float
    bound: float
    spread: float
    on_average: bool = False
    resolution: float = 0.0
    margin: float = MARGIN
    where: str = ""


class Comparison:
    """Two tensors of real numbers that are judged, and what is known of their errors, each found once.

    Args:
        candidate: The tensor to judge.
        expected: The expected tensor, of the same shape, and which of its numbers are judged.

    Attributes:
        candidate: The numbers to judge.
        expected: The expected numbers.
    """

    def __init__(self, candidate: Array, expected: Values) -> None:
        self.candidate: Array = expected.kept(candidate)
        self.expected: Values = expected

    @cached_property
    def errors(self) -> tuple[Level, ...]:
        """The error of each scale."""
        scales = self.expected.scales
        pairs = zip(scales.parts(self.candidate), scales.parts(self.expected.array), strict=True)
        return tuple(level_between(*pair)[0] for pair in pairs)


def judge(compared: Comparison, floor: Floor, *, is_inner: bool = False, network: Network = "") -> Judgement:
    """Judge a tensor of real numbers.

    Args:
        compared: The tensor and the expected one.
        floor: The noise of rounding.
        is_inner: Whether operators read the tensor, so that what a range of steps leaves out shows in what they make.
        network: What the files of both sides hold.
    """
    expected, unit = compared.expected, unit_of(floor.kind)
    least = least_error(expected)
    lost = [2.0 * level.largest for level in floor.levels] if is_inner else []
    dead = _dead_channels(compared, unit, least, lost)
    judged = []
    for index, (level, error, extent) in enumerate(zip(floor.levels, compared.errors, expected.extents, strict=True)):
        useless = max(least, MARGIN * floor.finest[index].rms) if floor.finest else least
        limits = _Limits(level, MARGIN, least, useless)
        item = _judge_part(error, extent, limits, floor.kind, is_inner=is_inner)
        if network and (item.word == "undecided" or network == "other"):
            limits = replace(limits, margin=SAME_NETWORK_MARGIN if network == "same" else 1.0)
            within = _judge_part(error, extent, limits, floor.kind, is_inner=is_inner)
            item = _by_files(item, within, network)
        where = expected.scales.where(index)
        judged.append(replace(item, why=f"{item.why} ({where})" if item.why and where else item.why, where=where))
    order = ("failed", "undecided", "passed")
    worst = min(judged, key=lambda item: (order.index(item.word), -_over(item.error, item.bound)))
    if dead:
        return Judgement("failed", dead, worst.error, worst.bound, worst.spread, worst.on_average)
    return replace(worst, resolution=max(item.resolution for item in judged))


@dataclass(frozen=True)
class _Limits:
    """What the error of a part is compared with.

    Attributes:
        noise: Its noise.
        margin: By how many times that it may be larger.
        least: The error that every tensor may have.
        useless: The error from which on half of the spread is too much.
    """

    noise: Level
    margin: float
    least: float
    useless: float

    @property
    def bound(self) -> Level:
        """What rounding explains."""
        return Level(self.margin * self.noise.largest, self.margin * self.noise.rms)


def _judge_part(error: Level, extent: Extent, limits: _Limits, kind: str, *, is_inner: bool) -> Judgement:
    """Judge the part of a tensor that has one scale.

    Args:
        error: Its error.
        extent: The extent of the expected numbers.
        limits: What the error is compared with.
        kind: The coarsest type that either side rounds to.
        is_inner: Whether operators read the tensor.
    """
    deviation, reach = extent.deviation, extent.reach
    in_steps = is_steps(kind)
    of_largest = Judgement("passed", "", error.largest, limits.bound.largest, reach, margin=limits.margin)
    of_rms = replace(of_largest, error=error.rms, bound=limits.bound.rms, spread=deviation, on_average=True)
    # A range of steps leaves single numbers out; how much is lost with them shows on average, and in the outputs.
    looked_at = (of_rms,) if is_inner and in_steps else (of_largest, of_rms)
    for item in looked_at:
        if item.error > item.bound:
            return replace(item, word="failed", why=_off(item))
    if not is_inner and error.rms > max(RUINED_SHARE * deviation, limits.useless):
        why = f"off by {error.rms:.2g} on average, more than half of what its values vary by ({deviation:.2g})"
        return replace(of_rms, word="failed", why=why)
    resolution = max(_over(item.bound, item.spread) for item in looked_at)
    for item in (of_largest, of_rms):
        if item.error > max(SMALL_SHARE * item.spread, limits.least):
            return replace(item, word="undecided", why=_off(item), resolution=resolution)
    worst = max(looked_at, key=lambda item: _over(item.error, item.bound))
    return replace(worst, resolution=resolution)


def _by_files(item: Judgement, within: Judgement, network: Network) -> Judgement:
    """Judge a part by what two files hold.

    Args:
        item: The judgement by what rounding explains.
        within: That by the noise itself.
        network: What the files hold.
    """
    if within.word == "undecided":
        return replace(within, word="passed", why="") if network == "same" else replace(within, word="failed")
    return item if network == "same" else within


def _off(item: Judgement) -> str:
    return f"off by {item.error:.3g} on average" if item.on_average else f"an element is off by {item.error:.3g}"


def least_error(expected: Values) -> float:
    """Return the error that every tensor may have, however little it varies: a few roundings of float32.

    Numbers below the smallest normal one are a rounding themselves: backends may flush them to 0.
    """
    return max(MARGIN * operator_rounding(UNITS["float32"]) * expected.largest, _SMALLEST_NORMAL)


def _dead_channels(compared: Comparison, unit: float, least: float, lost: Sequence[float]) -> str:
    """Return in words which slices of a tensor are constant in the candidate alone; empty while half of them are alive.

    Args:
        compared: The tensor and the expected one.
        unit: Unit roundoff of the coarser of the types of both.
        least: The error that every tensor may have.
        lost: For each scale, how large numbers may be that rounding makes 0 of; none where nothing may be lost.
    """
    candidate, reference, scales = compared.candidate, compared.expected.array, compared.expected.scales
    axis = scales.axis if scales.axis is not None else channel_axis(reference.shape)
    dead = dead_channels(candidate, reference, axis, LEAST_UNITS * unit, least)
    every = None if dead is None else dead_channels(candidate, reference, axis, LEAST_UNITS * unit, 0.0)
    if dead is None or every is None:
        return ""
    high = magnitudes(np.take(reference, np.flatnonzero(dead), axis=axis)).max(initial=0.0)
    members = scales.members if scales.axis is not None else (tuple(range(dead.size)),)
    for index, positions in enumerate(members):
        inside = dead[list(positions)]
        if 2 * int(inside.sum()) >= inside.size and not (lost and high <= lost[index]):
            return describe_dead(every, candidate, axis)  # those next to nothing decide nothing, and are lost as well
    return ""


def lost_channels(candidate: Array, reference: Array) -> str:
    """Return in words which channels are constant in the candidate alone; empty where half of a scale's are alive.

    One figure for a whole output does not show them where others are larger.

    Args:
        candidate: The tensor to judge.
        reference: The expected tensor, of the same shape.
    """
    unit, axis = UNITS["float32"], channel_axis(reference.shape)
    if dead_channels(candidate, reference, axis, LEAST_UNITS * unit, 0.0) is None:
        return ""
    compared = Comparison(candidate, Values(reference))
    return _dead_channels(compared, unit, least_error(compared.expected), [])


def _over(error: float, most: float) -> float:
    return error / most if most > 0.0 else (math.inf if error > 0.0 else 0.0)

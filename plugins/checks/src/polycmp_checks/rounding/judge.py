"""Judging an output by how much rounding moves it, instead of by tolerances that the user chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from polycmp.compare import (
    MARGIN,
    Decisions,
    DetailedVerdict,
    Level,
    OutputJudge,
    Scales,
    Simple,
    are_decisions,
    explained,
    lost_channels,
    scales_of,
    usual,
    with_clipping,
)
from polycmp.precision import unit_of
from polycmp.spec import IMPOSTORS
from polycmp.tensors import dtype_class

if TYPE_CHECKING:
    from polycmp.compare import SimpleOptions

#: Advice where rounding may explain anything.
BY_THE_TASK = "judge with real inputs and a metric of the task (--compare …, --postprocess …)"


@dataclass(frozen=True)
class NoiseFloor:
    """Bound on the rounding error of an output, on both sides together.

    Attributes:
        levels: The noise of each scale of the output.
        kind: The coarser of the types that both sides calculate in.
        source: Origin of the bound, in words.
        estimated: Whether the model could not be run with tensors perturbed inside, so that nothing tells which error a
            row keeps, nor how many are large.
        flips: Whether codes on the way may be a step away.
    """

    levels: tuple[Level, ...]
    kind: str
    source: str
    estimated: bool = False
    flips: bool = False

    @property
    def largest(self) -> float:
        """The largest error of any element."""
        return max(level.largest for level in self.levels)

    @property
    def rms(self) -> float:
        """The largest root mean square of the errors of any scale."""
        return max(level.rms for level in self.levels)


@dataclass(frozen=True)
class NoiseJudge(OutputJudge):
    """Compare function that judges by a noise floor.

    Whole numbers are compared as `simple` does it, and undecided where they differ as decisions between nearly equal
    values do.

    Args:
        options: Options of `simple`, except its tolerances.
        floor: Gives the noise floor of an output.
        decisions: Gives what rounding turns of an output of whole numbers, and the type that it rounds to.
        detail: Whether to compute what only a report shows, too.
    """

    options: SimpleOptions
    floor: Callable[[str, NDArray[Any], Scales], NoiseFloor]
    decisions: Callable[[str, NDArray[Any]], tuple[Decisions, str]]
    detail: bool = False
    #: Whether its bound could explain anything it says itself.
    ignores: ClassVar[frozenset[str]] = frozenset(IMPOSTORS)
    #: Whether it judges arrays of different shapes, too.
    any_shape: ClassVar[bool] = True

    def judge(self, candidate: NDArray[Any], reference: NDArray[Any], output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        if candidate.shape != reference.shape or dtype_class(reference.dtype) not in {"float", "complex"}:
            return self._exact(candidate, reference, output)
        scales = scales_of(reference)
        floor = self.floor(output, reference, scales)
        noise = max(with_clipping(level, reference, floor.kind).largest for level in floor.levels)
        largest, rms = MARGIN * noise, MARGIN * floor.rms
        options = replace(self.options, atol={"": largest}, rtol={"": 0.0})
        verdict = Simple(options, self.detail).judge(candidate, reference, output)
        verdict = replace(verdict, tolerance={"atol": largest, "rms": rms})
        times = usual(floor.kind)
        bound = f"rounding explains up to {times * noise:.2g}, {times * floor.rms:.2g} on average ({floor.source})"
        if verdict.passed and reference.size:
            unit = unit_of(floor.kind)
            said = explained(candidate, reference, floor.levels, scales, unit, floor.kind, flips=floor.flips)
            if said.word:
                unsure = floor.estimated and not lost_channels(candidate, reference)
                inconclusive = "undecided" if said.word == "undecided" or unsure else ""
                verdict = replace(verdict, passed=False, reason=said.why, inconclusive=inconclusive)
            if verdict.inconclusive:
                verdict = replace(verdict, reason=f"{verdict.reason}: {BY_THE_TASK}")
        return replace(verdict, reason=f"{verdict.reason}; {bound}" if verdict.reason else bound)

    def _exact(self, candidate: NDArray[Any], reference: NDArray[Any], output: str) -> DetailedVerdict:
        """Return the verdict on whole numbers, and on what has another shape."""
        verdict = Simple(self.options, self.detail).judge(candidate, reference, output)
        reshaped = candidate.shape != reference.shape
        if verdict.passed or not (reshaped or are_decisions(reference)):
            return verdict
        turned, kind = self.decisions(output, reference)
        if not turned.explain(candidate, reference):
            return verdict
        why = f"{verdict.reason}; {turned.text(kind, of_shape=reshaped)}: {BY_THE_TASK}"
        return replace(verdict, reason=why, inconclusive="undecided")

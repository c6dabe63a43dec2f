"""Judging outputs by how much rounding moves them: the default, and `--tolerance auto`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.decisions import Decisions, are_decisions
from polycmp.builtin.judging.levels import Values, finite_places, rounded_levels
from polycmp.builtin.judging.limits import DECISION_SAMPLES, MARGIN, SAMPLES
from polycmp.builtin.judging.masks import beside_masks
from polycmp.builtin.judging.verdict import Comparison, Floor, Judgement, Network, judge
from polycmp.compare import DetailedVerdict, OutputJudge, Simple, count_beyond, describe_signs, worst_reason
from polycmp.options import pick
from polycmp.precision import UNITS, is_steps, operator_rounding, unit_of
from polycmp.sentences import counted, explained
from polycmp.spec import IMPOSTORS
from polycmp.tensors import dtype_class, dtype_name

if TYPE_CHECKING:
    from polycmp.compare import SimpleOptions

Array = NDArray[Any]
#: Numbers of samples after which a tensor is judged (more samples only add to the noise, so what passes
#: by one passes by all of them).
LOOKS = (1, SAMPLES)
MAY_BE_LOST: Final = "rounding may make NaN or infinities of most of it (measured)"


class RoundingSource(Protocol):
    """Tells what rounding does to the tensors of a run."""

    def floor(self, output: str, expected: Values, *, count: int) -> Floor:
        """Return the noise of a tensor of real numbers, of both sides together.

        Args:
            output: The tensor's name in the candidate.
            expected: The tensor, and which of its numbers are judged.
            count: How many samples are looked at.
        """
        ...

    def lost(self, output: str, reference: Array, *, count: int) -> NDArray[np.bool_] | None:
        """Return which of its numbers rounding may make NaN or infinite; None where none."""
        ...

    def decisions(self, output: str, *, count: int) -> tuple[Decisions, str]:
        """Return what rounding turns of whole numbers and of shapes, and the type that is rounded to."""
        ...

    def is_inner(self, output: str) -> bool:
        """Return whether operators read the tensor, which is no output of the model."""
        ...

    def holds_codes(self, output: str) -> bool:
        """Return whether whole numbers in a tensor stand for real ones, as steps of a scale do: asked of outputs."""
        del output
        return False

    def samples_vary(self) -> bool:
        """Return whether one sample of the noise may be far smaller than others, for all that is known."""
        return True

    def network(self) -> tuple[Network, str]:
        """Return what the files of both sides hold, told without a run, and what is said of it: asked of outputs."""
        return "", ""

    def advice(self, output: str, reference: Array) -> str:
        """Return what to do where rounding may explain a difference that is no small one: asked of outputs."""
        del output, reference
        return ""


@dataclass(frozen=True)
class MeasuredJudge(OutputJudge):
    """Compare function that judges by what rounding explains.

    What agrees to a few roundings is not measured. A tolerance that was given for an output is final. Codes are numbers
    like others, of which only equal ones agree to a few roundings. Other whole numbers are compared as `simple` does
    it, and undecided where they differ as decisions between nearly equal values do.

    Args:
        options: Options of `simple`.
        rounding: Tells what rounding does.
        detail: Whether to compute what only a report shows, too.
    """

    options: SimpleOptions
    rounding: RoundingSource
    detail: bool = False
    #: Whether its bound could explain anything it says itself.
    ignores: ClassVar[frozenset[str]] = frozenset(IMPOSTORS)
    #: Whether it judges arrays of different shapes, too.
    any_shape: ClassVar[bool] = True

    def of_output(self, output: str) -> OutputJudge:
        """Return the compare function that judges an output: a tolerance that was given for it is final."""
        typed_limits = (pick(limits, output, None) for limits in (self.options.atol, self.options.rtol))
        return self if all(limit is None for limit in typed_limits) else Simple(self.options, self.detail)

    def judge(self, candidate: Array, reference: Array, output: str) -> DetailedVerdict:
        """Return the verdict on one output."""
        judging = self.of_output(output)
        if judging is not self:
            return judging.judge(candidate, reference, output)
        if self.rounding.is_inner(output):
            # What both networks make NaN or infinite alike, as masks are, and no output shows, is no difference.
            nan = "equal" if self.options.nan == "differ" else self.options.nan
            inner_options = replace(self.options, nan=nan, infinities_compare_equal=True)
            if inner_options != self.options:
                return replace(self, options=inner_options).judge(candidate, reference, output)
        is_real = {dtype_class(candidate.dtype), dtype_class(reference.dtype)} <= {"float", "complex"}
        if (
            candidate.shape != reference.shape
            or not (is_real or self.rounding.holds_codes(output))
            or not reference.size
        ):
            return self._exact(candidate, reference, output)
        verdict = self._simply(candidate, reference, output, 0.0)
        stats = verdict.stats
        if verdict.passed or stats is None:
            return verdict
        if (
            stats.max_abs == 0.0
            and not stats.nan_mismatched
            and not self._simply(candidate, reference, output, 1.0).passed
        ):
            return verdict  # nothing but NaN and infinities, of which options decide
        expected = Values(reference, beside_masks(candidate, reference) if is_real else None)
        compared = Comparison(candidate, expected)
        if is_real and not stats.nan_mismatched:
            floor = few_roundings(candidate.dtype, expected)
            judgement = judge(compared, floor)
            if judgement.word == "passed":
                return self._by_floor(verdict, candidate, expected, output, floor, judgement)
        for count in LOOKS:
            measured, by_samples = self._by_samples(verdict, candidate, compared, output, count)
            if measured.passed or (not measured.inconclusive and self._is_certain(by_samples, output)):
                break
        return measured

    def _is_certain(self, failed: Judgement | None, output: str) -> bool:
        """Return whether no more samples are needed to believe that an output differs.

        They are not where files tell why, and where the error is as many times the bound as that is the noise: four
        samples are not that far beyond the first unless they vary (measured on 2026-11-29 in outputs of the networks of
        `truth`: at most 3.0 times in 369 where no operator decides, up to 12,930 in 206 where some do).
        """
        if self.rounding.is_inner(output):
            return False
        is_far = failed is not None and failed.error > MARGIN * failed.bound
        return (is_far and not self.rounding.samples_vary()) or self.rounding.network()[0] == "other"

    def _by_samples(
        self, verdict: DetailedVerdict, candidate: Array, compared: Comparison, output: str, count: int
    ) -> tuple[DetailedVerdict, Judgement | None]:
        """Return the verdict by so many samples of the noise, and the judgement; None where nothing is judged."""
        expected = compared.expected
        reference = expected.whole
        is_inner, network = self.rounding.is_inner(output), ""
        lost = self.rounding.lost(output, reference, count=count)
        if lost is not None and 2 * int(np.count_nonzero(lost)) > lost.size:
            if is_inner:
                return replace(verdict, passed=True, reason=MAY_BE_LOST), None
            if 2 * int(np.count_nonzero(finite_places(candidate))) < candidate.size:
                return replace(verdict, passed=False, reason=f"{verdict.reason}; {MAY_BE_LOST}"), None
        elif lost is not None:
            expected = expected.without(lost)
            compared = Comparison(candidate, expected)
        floor = self.rounding.floor(output, expected, count=count)
        judgement = judge(compared, floor, is_inner=is_inner)
        is_open = judgement.word == "undecided" or (judgement.word == "passed" and not floor.covers(compared))
        if is_open and not is_inner:
            files_hold, network = self.rounding.network()
            judgement = judge(compared, floor, network=files_hold)
        return self._by_floor(verdict, candidate, expected, output, floor, judgement, network), judgement

    def _by_floor(
        self,
        verdict: DetailedVerdict,
        candidate: Array,
        expected: Values,
        output: str,
        floor: Floor,
        judgement: Judgement,
        network: str = "",
    ) -> DetailedVerdict:
        """Return the verdict that a judgement by a noise makes of one without any tolerance."""
        reference, most = expected.whole, floor.bound(judgement.margin)
        if expected.keep is not None:
            candidate = np.where(expected.keep, candidate, reference)
        if expected.keep is not None or not _is_number(verdict):
            verdict = self._simply(candidate, reference, output, most.largest)
        else:
            verdict = _within(verdict, candidate, reference, most.largest)
        verdict = replace(verdict, tolerance={"atol": most.largest, "rms": most.rms})
        return self._said(verdict, output, candidate, reference, floor, judgement, network)

    def _simply(self, candidate: Array, reference: Array, output: str, atol: float) -> DetailedVerdict:
        options = replace(self.options, atol={"": atol}, rtol={"": 0.0}, scale_atol=False)
        return Simple(options, self.detail).judge(candidate, reference, output)

    def _said(
        self,
        verdict: DetailedVerdict,
        output: str,
        candidate: Array,
        reference: Array,
        floor: Floor,
        judgement: Judgement,
        network: str,
    ) -> DetailedVerdict:
        """Return the verdict that follows from a judgement, with its figures and its sentence."""
        where = "" if judgement.why else judgement.where  # which says it where it is there
        bound = explained(floor.kind, judgement.bound, floor.source, on_average=judgement.on_average, where=where)
        bound = f"{bound}; {network}" if judgement.margin < MARGIN else bound
        if judgement.word == "failed":
            signs = describe_signs(candidate, reference, floor.bound(judgement.margin).largest)
            why = f"{judgement.why}; {bound}{_beyond(verdict)}{signs and '; '}{signs}"
            return replace(verdict, passed=False, reason=why)
        if not verdict.passed and not _is_number(verdict):
            return verdict
        if judgement.word == "passed":
            return replace(verdict, passed=True, reason=f"{bound}{not_seen(judgement.resolution)}")
        why = rounding_or_fault(judgement.error, judgement.bound, judgement.spread, floor.kind)
        return self._open(verdict, output, reference, why)

    def _open(self, verdict: DetailedVerdict, output: str, reference: Array, why: str) -> DetailedVerdict:
        """Return the verdict on a difference that rounding may make: outputs are undecided; inside it passes."""
        if self.rounding.is_inner(output):
            return replace(verdict, passed=True, reason=why)
        advice = self.rounding.advice(output, reference)
        return replace(verdict, passed=False, reason=f"{why}: {advice}", inconclusive="undecided")

    def _exact(self, candidate: Array, reference: Array, output: str) -> DetailedVerdict:
        """Return the verdict on whole numbers, and on what has another shape."""
        verdict = Simple(self.options, self.detail).judge(candidate, reference, output)
        reshaped = candidate.shape != reference.shape
        if verdict.passed or not (reshaped or are_decisions(reference)):
            return verdict
        for count in (1, DECISION_SAMPLES):
            turned, kind = self.rounding.decisions(output, count=count)
            if turned.explain(candidate, reference):
                break
        else:
            is_open = self.rounding.is_inner(output) and is_steps(kind)  # steps make more numbers equal than samples do
            return replace(verdict, inconclusive="undecided") if is_open else verdict
        return self._open(verdict, output, reference, f"{verdict.reason}; {turned.text(kind, of_shape=reshaped)}")


def _beyond(verdict: DetailedVerdict) -> str:
    """Return in words how many elements are beyond the bound, and the worst of them; the whole reason of others."""
    stats = verdict.stats
    if verdict.passed or stats is None or not _is_number(verdict) or stats.worst is None:
        return f"; {verdict.reason}" if verdict.reason else ""
    return f"; {beyond_bound(stats.failed, stats.count, worst_reason(stats.worst))}"


def _is_number(verdict: DetailedVerdict) -> bool:
    """Return whether a verdict fails by numbers alone, and by no NaN or infinity."""
    stats = verdict.stats
    if stats is None or not math.isfinite(stats.max_abs):
        return False
    return not stats.nan_failed and stats.inf_matched <= stats.inf_forgiven


def _within(verdict: DetailedVerdict, candidate: Array, reference: Array, atol: float) -> DetailedVerdict:
    """Return a verdict on numbers that was made without any tolerance as it is with an absolute one.

    No figure but the count of elements beyond it changes.
    """
    stats = verdict.stats
    failed = 0 if stats is None or stats.max_abs <= atol else count_beyond(candidate, reference, atol)
    return replace(
        verdict,
        passed=not failed,
        reason=verdict.reason if failed else "",
        stats=None if stats is None else replace(stats, failed=failed),
    )


def few_roundings(candidate: np.dtype[Any], expected: Values) -> Floor:
    """Return the noise that every operator makes on both sides, in the types that two tensors have themselves.

    What is within it has passed whatever is measured, so that most tensors cost no further run.

    Args:
        candidate: The type of a tensor of real numbers.
        expected: The other tensor.
    """
    kinds = [dtype_name(dtype) for dtype in (candidate, expected.whole.dtype)]
    units = [unit_of(kind) or UNITS["float32"] for kind in kinds]
    kind = max(kinds, key=unit_of)
    return Floor(rounded_levels(expected, sum(map(operator_rounding, units))), kind, f"a few roundings to {kind}")


def beyond_bound(failed: int, count: int, worst: str) -> str:
    """Count the elements that are off by more than rounding explains.

    Args:
        failed: Elements beyond the bound.
        count: All elements.
        worst: Place and values of the worst element, in words.
    """
    return f"{failed} of {counted(count, 'element')} {'is' if failed == 1 else 'are'} beyond it, {worst}"


def not_seen(resolution: float) -> str:
    """Give the size of the faults that a pass would not have shown, as a share of what values vary by."""
    return f"; a fault below {100.0 * resolution:.2g} % of what its values vary by would not show" if resolution else ""


def rounding_or_fault(error: float, bound: float, spread: float, kind: str) -> str:
    """Say of an error that rounding may make it, and that it is no small one."""
    could = f"rounding to {kind} alone could move it by {bound:.2g}"
    return f"it is off by {error:.2g}, {could}, and its values span {spread:.2g}"

"""Results of comparing: one output over all iterations, in constant memory; one pair of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from polycmp._verdicts import DetailedVerdict, ErrorStats, Figures, Histogram, Worst
from polycmp.spec import Verdict

__all__ = [
    "DetailedVerdict",
    "ErrorStats",
    "Histogram",
    "OutputComparison",
    "PairComparison",
    "Worst",
    "WorstIterations",
    "inconclusive",
    "judged_together",
    "named_reason",
    "verdict_of",
    "verdict_over",
]

#: Kinds of verdicts, the weightiest first: of several it is the one that counts.
VERDICTS = ("failed", "undecided", "blind", "passed")


class Judged(Protocol):
    """Something that passed, failed, or tells nothing: a verdict, an output, a pair of runs."""

    @property
    def passed(self) -> bool:
        """Whether the output passed."""

    @property
    def inconclusive(self) -> str:
        """The reason why it decides nothing; empty where it decides."""


def verdict_of(item: Judged) -> str:
    """Return one of `VERDICTS`."""
    return "passed" if item.passed else item.inconclusive or "failed"


def verdict_over(items: Iterable[Judged]) -> str:
    """Return the weightiest of the verdicts; `passed` where there are none."""
    return min(map(verdict_of, items), key=VERDICTS.index, default="passed")


def inconclusive(verdict: str) -> str:
    """Return a verdict that decides nothing, which is `blind` or `undecided`; empty for one that decides."""
    return verdict if verdict in {"blind", "undecided"} else ""


@dataclass(frozen=True, eq=False)
class OutputComparison(Figures):
    """One output of one pair of runs, over all iterations; equals a truth value if it says the same.

    Attributes:
        output: The output's name in the candidate, or in the reference where only that has it.
        reference_output: Name of the output in the reference; None where it has none.
        passed: Whether all functions passed in all iterations.
        reason: The reason for the verdict in words, for the worst iteration; empty if there is none to give.
        verdicts: The verdict of each compare function in the worst iteration, by the function's name.
        iterations: Iterations compared.
        failed_iterations: Iterations that failed.
        worst_iteration: The iteration that `reason` and `verdicts` speak of.
        candidate_type: Element type and shape of the candidate's output, as text.
        reference_type: Likewise of the reference's.
        inconclusive: `blind` or `undecided` where it neither passed nor failed, as in `polycmp.spec.Verdict`.
        is_empty: Whether it had no elements in any iteration.
        is_inner: Whether it is a tensor inside the model, which is not checked for comparisons that cannot fail.
    """

    output: str
    reference_output: str | None
    passed: bool
    reason: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    iterations: int = 1
    failed_iterations: int = 0
    worst_iteration: int = 0
    candidate_type: str = ""
    reference_type: str = ""
    inconclusive: str = ""
    is_empty: bool = False
    is_inner: bool = False

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, `undecided` or `blind`."""
        return verdict_of(self)

    def __bool__(self) -> bool:
        return self.passed

    def figure(self, metric: str) -> float | None:
        """Return a metric of the worst iteration; None where no compare function computed it."""
        values = (verdict.metrics[metric] for verdict in self.verdicts.values() if metric in verdict.metrics)
        return next(values, None)

    @property
    def stats(self) -> ErrorStats | None:
        """The error statistics of the first compare function that has any."""
        for verdict in self.verdicts.values():
            if isinstance(verdict, DetailedVerdict) and verdict.stats is not None:
                return verdict.stats
        return None


@dataclass(frozen=True)
class PairComparison:
    """All outputs of one candidate against the reference.

    Attributes:
        candidate: Label of the candidate.
        reference: Label of the reference.
        passed: Whether every output passed and both ran the same number of iterations.
        outputs: By output name, in the candidate's order, those that only the reference has at the end.
        iterations: Iterations compared.
        reason: The fault of the pair as a whole (unequal iterations, nothing in common); else empty.
        inconclusive: `blind` or `undecided` where no output failed and not all passed.
    """

    candidate: str
    reference: str
    passed: bool
    outputs: Mapping[str, OutputComparison]
    iterations: int
    reason: str = ""
    inconclusive: str = ""

    @property
    def verdict(self) -> str:
        """`passed`, `failed`, `undecided` or `blind`."""
        return verdict_of(self)

    def with_outputs(self, outputs: Mapping[str, OutputComparison]) -> PairComparison:
        """Return the verdict with others on the outputs: the weightiest decides, unless the pair failed as a whole."""
        verdict = "failed" if self.reason else verdict_over(outputs.values())
        return replace(self, outputs=outputs, passed=verdict == "passed", inconclusive=inconclusive(verdict))


class WorstIterations:
    """Keeps, for each output, the verdict of its worst iteration.

    Attributes:
        outputs: Verdicts by output name, in the order in which outputs appeared.
    """

    def __init__(self) -> None:
        self.outputs: dict[str, OutputComparison] = {}

    def add(self, items: Iterable[OutputComparison]) -> None:
        """Take in the verdicts of one iteration."""
        for item in items:
            self._keep(item)

    @property
    def verdict(self) -> str:
        """The weightiest verdict on any output."""
        return verdict_over(self.outputs.values())

    def _keep(self, item: OutputComparison) -> None:
        worst = self.outputs.get(item.output)
        if worst is None:
            self.outputs[item.output] = replace(item, failed_iterations=int(not item.passed))
            return
        # What could have failed in one iteration, and did not, has been compared.
        kept = item if _severity(item) > _severity(worst) else worst
        self.outputs[item.output] = replace(
            kept,
            iterations=worst.iterations + 1,
            failed_iterations=worst.failed_iterations + int(not item.passed),
            is_empty=worst.is_empty and item.is_empty,
        )


def named_reason(name: str, reason: str, functions: int) -> str:
    """Return a compare function's reason, with its name in front where several judge the same output."""
    text = reason or "differs"
    return f"{name}: {text}" if functions > 1 else text


def judged_together(verdicts: Mapping[str, Verdict]) -> tuple[str, list[str]]:
    """Return the weightiest of the verdicts of several compare functions, and the reasons of those that gave it.

    Args:
        verdicts: By the function's name.
    """
    weightiest = verdict_over(verdicts.values())
    reasons = [
        named_reason(name, item.reason, len(verdicts))
        for name, item in verdicts.items()
        if verdict_of(item) == weightiest and (item.reason or weightiest != "passed")
    ]
    return weightiest, reasons


def _severity(item: OutputComparison) -> tuple[int, bool, int, float]:
    """Return the sort key of one output's iterations: failures first, among them those without figures."""
    stats, weight = item.stats, ("blind", "passed", "undecided", "failed").index(item.verdict)
    if stats is None:
        return weight, not item.passed, 0, 0.0
    return weight, False, stats.failed, stats.max_abs


def merge_windows(parts: Iterable[PairComparison]) -> PairComparison:
    """Merge the comparisons of one pair's windows into one."""
    windows = list(parts)
    outputs = {name: item for part in windows for name, item in part.outputs.items()}
    reasons = [part.reason for part in windows if part.reason and part.outputs]
    verdict = verdict_over(part for part in windows if part.outputs)
    return replace(
        windows[0],
        passed=verdict == "passed",
        inconclusive=inconclusive(verdict),
        outputs=outputs,
        iterations=max(part.iterations for part in windows),
        reason=reasons[0] if reasons else "",
    )

"""Sentences on a decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

from polycmp_decide.decision import Decision, Demand
from polycmp_decide.decision_run import DropShare
from polycmp_decide.scores import Scores


def answer(decision: Decision, scores: Scores, demand: Demand) -> str:
    """Return the answer in one sentence."""
    counts = f"{scores.lost:,} lost, {scores.won:,} won, p = {decision.p:.2g}"
    sure = f"({100 * demand.confidence:.4g} % sure)"
    interval = f"{points(decision.low)} to {points(decision.high)} points lower {sure}"
    if decision.word == "worse":
        return f"worse: {counts}; {interval}"
    if decision.word == "not worse":
        above = f" above {points(decision.high)} points" if decision.high > 0 else ""
        return f"not worse: {counts}; a drop{above} is ruled out {sure}"
    take = f"; take {decision.needed:,}" if decision.needed else ""
    if decision.p < 1 - demand.confidence:
        return f"lower, {counts}, {interval}: whether by more than {points(demand.max_drop)} is not certain{take}"
    with_these = f"with {scores.number:,} samples a drop below {points(decision.visible)} points cannot be seen"
    return f"no evidence: {counts}; {with_these}{take}"


def loss(part: DropShare) -> str:
    """Describe the drop of the new file or the device, with the interval and the numbers of samples.

    Args:
        part: The part of the drop.
    """
    decision, who = part.decision, "the new file" if part.name == "file" else part.label
    verb, sign = ("gains", -1) if decision.drop < 0 else ("loses", 1)
    low, high = sorted((sign * decision.low, sign * decision.high))
    counts = f"; {part.scores.lost:,} lost, {part.scores.won:,} won, p = {decision.p:.2g}"
    return f"{who} {verb} {points(abs(decision.drop))} points ({points(low)} to {points(high)}{counts})"


def guessing(label: str, truths: Sequence[Hashable], scores: Scores | None, shown: Callable[[Hashable], str]) -> str:
    """Say that a side is right no more often than who always gives one answer; empty where it is, or nobody knows.

    Args:
        label: The old side.
        truths: The right answers.
        scores: The scores.
        shown: Returns an answer in few characters.
    """
    if scores is None or not scores.is_hit or not all(isinstance(truth, int | str) for truth in truths):
        return ""
    answers = Counter(truths)
    often, count = answers.most_common(1)[0]
    if len(answers) < 2 or scores.totals[1] > count / scores.number:
        return ""
    return (
        f"{label} is right no more often than who always says {shown(often)!r}: its inputs or the labels may not be "
        "what it was trained on, and then this says little of the new side"
    )


def points(share: float) -> str:
    """Return a share in points of 100."""
    return f"{100 * share:.2g}" if abs(share) < 0.1 else f"{100 * share:.3g}"

"""Changes between runs of a suite: verdicts, errors, times."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from polycmp.report import duration, figure
from polycmp_suite.result import BAD

#: An error that is so many times what it was has grown; less is what other inputs and other machines make of it.
GROWN = 2.0
#: Past runs without which a time is not judged.
LEAST = 3
#: Standard deviations beyond which a time is no noise. A median's deviation times this factor estimates a normal one's.
_NOISE_LIMIT, _MEDIAN_TO_STANDARD = 3.0, 1.4826


@dataclass(frozen=True)
class PastResult:
    """Result of a case in one run.

    Attributes:
        name: The case.
        state: State in which the case ended.
        reason: Reason for the state.
        max_error: The largest absolute difference; None if nothing was compared.
        times: Median seconds of one inference by backend.
    """

    name: str
    state: str
    reason: str = ""
    max_error: float | None = None
    times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """One difference between two runs.

    Attributes:
        kind: `new failure`, `verdict`, `fixed`, `error grew`, `slower`, `new case`, `gone`.
        case: The case.
        text: Description of the change: the old and the new value.
        worse: Whether it makes the comparison of two runs fail.
    """

    kind: str
    case: str
    text: str
    worse: bool = False


@dataclass(frozen=True)
class Changes:
    """Changes since an earlier run.

    Attributes:
        since: The run compared with.
        changes: The changes.
        notes: Comparisons that could not be made, in words.
    """

    since: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[str, ...]:
        """Changes for the worse that are no failures: cases that have become slower."""
        return tuple(f"{change.case}: {change.text}" for change in self.changes if change.kind == "slower")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"since": self.since, "found": [asdict(change) for change in self.changes], "notes": list(self.notes)}


def compare(
    since: str,
    before: Mapping[str, PastResult],
    times: Mapping[str, Mapping[str, Sequence[float]]],
    now: Iterable[PastResult],
    max_slowdown: float = 0.0,
) -> Changes:
    """Compare the results of cases with past ones.

    Args:
        since: Name of the earlier run.
        before: Results of the cases in that run, by name.
        times: For each case and backend the times of past runs.
        now: Results of the cases in this run.
        max_slowdown: Largest ratio of an inference's time to the median of past times; 0 for no limit.
    """
    now = list(now)
    changes: list[Change] = []
    unjudged = 0
    for case in now:
        past_result = before.get(case.name)
        if past_result is None:
            changes.append(Change("new case", case.name, case.state, case.state in BAD))
        else:
            changes += _verdicts(past_result, case)
            changes += _errors(past_result, case)
        for label, seconds in case.times.items() if max_slowdown else ():
            past = times.get(case.name, {}).get(label, [])
            if len(past) < LEAST:
                unjudged += 1
            elif (text := slower(seconds, past, max_slowdown)) is not None:
                changes.append(Change("slower", case.name, f"{label}: {text}", True))
    here = {case.name for case in now}
    changes += [Change("gone", name, f"it was {past.state}") for name, past in before.items() if name not in here]
    counts = [f"{sum(change.kind == kind for change in changes)} {kind}" for kind in _kinds(changes)]
    notes = [f"compared with {since}: {', '.join(counts) or 'nothing changed'}"]
    if unjudged:
        notes.append(f"{unjudged} times are not judged: a median needs {LEAST} past runs")
    return Changes(since, tuple(changes), tuple(notes))


def _kinds(changes: Iterable[Change]) -> list[str]:
    return list(dict.fromkeys(change.kind for change in changes))


def _verdicts(then: PastResult, now: PastResult) -> Iterator[Change]:
    if then.state == now.state:
        return
    text = f"{then.state} before, {now.state} now" + (f": {now.reason}" if now.reason else "")
    if now.state in BAD and then.state not in BAD:
        yield Change("new failure", now.name, text, True)
    elif then.state in BAD and now.state == "passed":
        yield Change("fixed", now.name, text)
    else:
        yield Change("verdict", now.name, text)


def _errors(then: PastResult, now: PastResult) -> Iterator[Change]:
    if then.max_error is None or now.max_error is None:
        return
    was_finite = math.isfinite(then.max_error)
    if was_finite and (not math.isfinite(now.max_error) or now.max_error > GROWN * then.max_error):
        if then.max_error == now.max_error == 0.0:
            return
        yield Change("error grew", now.name, f"max abs {figure(then.max_error)} before, {figure(now.max_error)} now")


def slower(seconds: float, past: Sequence[float], limit: float) -> str | None:
    """Describe a time that is too long, given past ones; None if it is not.

    It is if it exceeds both the limit and what the past times scatter: their median, and three times the standard
    deviation that their median absolute deviation stands for.

    Args:
        seconds: The time.
        past: Past times.
        limit: Largest ratio of the time to their median.
    """
    median = statistics.median(past)
    noise = _MEDIAN_TO_STANDARD * statistics.median(abs(item - median) for item in past)
    if seconds <= limit * median or seconds <= median + _NOISE_LIMIT * noise:
        return None
    factor = f"{seconds / median:.2f} x" if median else "more than"
    return f"{duration(seconds)}, {factor} the median of {len(past)} runs ({duration(median)}, noise {duration(noise)})"

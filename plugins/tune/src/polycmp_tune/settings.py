"""Settings of one model with their verdicts and latencies, and which of them are worth having."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from polycmp.report import Verdict
from polycmp.results import Outcome
from polycmp_tune.latency import Latency


@dataclass(frozen=True)
class TunedSetting:
    """One setting.

    Attributes:
        label: Its label.
        verdict: Whether its outputs are right; `passed` for the reference.
        reason: The reason for the verdict in words; empty if there is none to give.
        error: The largest error of an output, as a share of its range; None where that is not known.
        latency: How long its calls take; None where it could not be timed.
        failure: Why it did not run; empty if it did.
        hint: What to do about that.
        is_reference: Whether it is what the others are compared with.
        notes: Remarks of the backend.
    """

    label: str
    verdict: Verdict
    reason: str = ""
    error: float | None = None
    latency: Latency | None = None
    failure: str = ""
    hint: str = ""
    is_reference: bool = False
    notes: tuple[str, ...] = ()


def settings_of(outcome: Outcome, latencies: Mapping[str, Latency | str]) -> list[TunedSetting]:
    """Return the settings of a run in its order, the reference among them.

    Args:
        outcome: The outcome of the run.
        latencies: The latency of each, by label, or in words why it has none.
    """
    pairs = {pair.candidate: pair for pair in outcome.comparisons}
    settings = []
    for backend in outcome.backends:
        latency = latencies.get(backend.label, "")
        failure = backend.error or (latency if isinstance(latency, str) else "")
        pair, is_reference = pairs.get(backend.label), backend.label == outcome.reference
        verdict: Verdict = "error"
        if not failure and (is_reference or pair is not None):
            verdict = "passed" if pair is None else cast(Verdict, pair.verdict)
        shares = [item.stats.share for item in pair.outputs.values() if item.stats] if pair is not None else []
        reasons = [item.reason for item in pair.outputs.values() if not item.passed] if pair is not None else []
        settings.append(
            TunedSetting(
                backend.label,
                verdict,
                reason=(pair.reason or next(iter(reasons), "")) if pair is not None and verdict != "passed" else "",
                error=0.0 if is_reference else max((share for share in shares if share is not None), default=None),
                latency=None if isinstance(latency, str) else latency,
                failure=failure,
                hint=backend.hint,
                is_reference=is_reference,
                notes=tuple(backend.notes),
            )
        )
    return settings


def fastest(settings: Sequence[TunedSetting]) -> list[TunedSetting]:
    """Return the fastest of the settings that are right, and those that may be as fast, the fastest first.

    Medians that are no further apart than the noise of both do not tell which is faster.

    Args:
        settings: The settings.
    """
    right = sorted(
        ((setting.latency.median, setting) for setting in settings if setting.verdict == "passed" and setting.latency),
        key=lambda pair: pair[0],
    )
    if not right:
        return []
    best = right[0][1].latency
    assert best is not None
    most = best.median * (1 + best.noise)
    return [
        setting
        for median, setting in right
        if setting.latency is not None and median * (1 - setting.latency.noise) <= most
    ]


def pareto(settings: Sequence[TunedSetting]) -> list[TunedSetting]:
    """Return the settings than which no other is both faster and nearer to the reference, the fastest first."""
    known = [
        (setting.latency.median, setting.error, setting)
        for setting in settings
        if setting.latency is not None and setting.error is not None
    ]
    front: list[TunedSetting] = []
    least: float | None = None
    for _, error, setting in sorted(known, key=lambda item: item[:2]):
        if least is None or error < least:
            front.append(setting)
            least = error
    return front

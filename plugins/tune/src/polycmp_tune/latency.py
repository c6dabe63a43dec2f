"""Latencies of several settings with their uncertainty; the settings take turns, since machines drift."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from polycmp.errors import DataError
from polycmp.results import Timing
from polycmp.runs import BackendRun, InputPairing, Resolved, ResolvedBackend, open_feeds
from polycmp.tensors import Feed
from polycmp_tune.options import TuneSection

#: Calls of a round at least, however long they take.
_MIN_CALLS = 3


@dataclass(frozen=True)
class Latency:
    """Latency of a setting's calls.

    Attributes:
        timing: Durations of the calls of all rounds.
        noise: By how much the median of a round is off that of all, as a share of it, at most.
        rate: Calls of all streams in a second.
    """

    timing: Timing
    noise: float
    rate: float

    @classmethod
    def of(cls, rounds: Sequence[Sequence[float]], seconds: float) -> Latency:
        """Return the figures of all rounds.

        Args:
            rounds: Durations of the calls of each round, in seconds.
            seconds: How long all rounds took, of which streams share the time.
        """
        calls = [duration for durations in rounds for duration in durations]
        timing = Timing.of(calls)
        assert timing is not None, "a round has calls"
        off = max(abs(statistics.median(durations) - timing.median) for durations in rounds)
        return cls(timing, off / timing.median if timing.median else 0.0, len(calls) / seconds)

    @property
    def median(self) -> float:
        """The median of all calls, in seconds."""
        return self.timing.median


def measure(resolved: Resolved, how: TuneSection, on_stage: Callable[[str], None]) -> Mapping[str, Latency | str]:
    """Measure the latency of each backend, by label, or describe why it could not be timed.

    All get the first inputs of the plan. Those that are timed have a session each of their own all the time, and are
    called in turns.

    Args:
        resolved: The backends.
        how: How to time.
        on_stage: Told in words what happens next.

    Raises:
        DataError: There are no inputs.
    """
    with _activated(resolved, how, on_stage) as settings:
        alive = {label: runs for label, runs in settings.items() if not any(run.result.error for run in runs)}
        errors = {label: runs[0].result.error for label, runs in settings.items() if label not in alive}
        if not alive:
            return errors
        inputs = InputPairing().join([run for runs in alive.values() for run in runs])
        feed = next(iter(open_feeds(resolved.source, inputs)), None) if inputs is not None else None
        if feed is None:
            raise DataError("there are no inputs", hint="leave out --data-loader, or give other files")
        return {**errors, **_in_turns(alive, feed, how, on_stage)}


@contextmanager
def _activated(
    resolved: Resolved, how: TuneSection, on_stage: Callable[[str], None]
) -> Iterator[dict[str, list[BackendRun]]]:
    """Activate the sessions of all settings."""
    settings: dict[str, list[BackendRun]] = {}
    try:
        for backend in resolved.backends:
            on_stage(f"activating {backend.label}")
            settings[backend.label] = [_active(backend) for _ in range(how.streams)]
        yield settings
    finally:
        for runs in settings.values():
            for run in runs:
                run.deactivate()


def _active(backend: ResolvedBackend) -> BackendRun:
    run = backend.make_run()
    run.activate()
    return run


def _in_turns(
    settings: Mapping[str, list[BackendRun]], feed: Feed, how: TuneSection, on_stage: Callable[[str], None]
) -> dict[str, Latency | str]:
    rounds: dict[str, list[list[float]]] = {label: [] for label in settings}
    spent = dict.fromkeys(settings, 0.0)
    failed: dict[str, Latency | str] = {}
    with ThreadPoolExecutor(how.streams, thread_name_prefix="polycmp-stream") as pool:
        for number in range(how.rounds):
            on_stage(f"timing, round {number + 1} of {how.rounds}")
            for label, runs in settings.items():
                if label in failed:
                    continue
                calls = [
                    pool.submit(_calls, run, feed, how.warm_up if not number else 1, how.seconds / how.rounds)
                    for run in runs
                ]
                durations = [duration for call in calls for duration in call.result()[0]]
                spent[label] += max(call.result()[1] for call in calls)
                if any(run.result.error for run in runs):
                    failed[label] = next(run.result.error for run in runs if run.result.error)
                else:
                    rounds[label].append(durations)
    return failed | {label: Latency.of(rounds[label], spent[label]) for label in settings if label not in failed}


def _calls(run: BackendRun, feed: Feed, warm_up: int, seconds: float) -> tuple[list[float], float]:
    """Return the durations of a session's calls, and how long all of them took together."""
    for _ in range(warm_up):
        run.infer(feed, measure=False)
    durations: list[float] = []
    start = time.perf_counter()
    while not run.result.error and (len(durations) < _MIN_CALLS or time.perf_counter() - start < seconds):
        run.infer(feed)
        durations.append(run.last_seconds)
    return durations, time.perf_counter() - start

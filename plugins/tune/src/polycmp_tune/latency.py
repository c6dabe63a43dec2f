"""How long calls of several settings take, and how certain that is: they take turns, since machines drift."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from polycmp.errors import DataError
from polycmp.runs import BackendRun, InputPairing, Resolved, ResolvedBackend, open_feeds
from polycmp.tensors import Feed

#: Calls of a round at least, however long they take.
_FEWEST = 3


@dataclass(frozen=True)
class Timing:
    """How to time.

    Attributes:
        seconds: How long each setting is timed, in all rounds together.
        rounds: How often the settings take turns.
        warm_up: Calls before.
        streams: Sessions that are called at the same time.
    """

    seconds: float
    rounds: int
    warm_up: int
    streams: int


@dataclass(frozen=True)
class Latency:
    """Durations of a setting's calls, in seconds.

    Attributes:
        median: Median.
        p90: 90th percentile.
        p99: 99th percentile.
        noise: By how much the median of a round is off that of all, as a share of it, at most.
        rate: Calls of all streams in a second.
        calls: Calls measured.
    """

    median: float
    p90: float
    p99: float
    noise: float
    rate: float
    calls: int

    @classmethod
    def of(cls, rounds: Sequence[Sequence[float]], seconds: float) -> Latency:
        """Return the figures of all rounds.

        Args:
            rounds: Durations of the calls of each round.
            seconds: How long all rounds took, of which streams share the time.
        """
        calls = [duration for durations in rounds for duration in durations]
        median, p90, p99 = (float(value) for value in np.quantile(calls, (0.5, 0.9, 0.99)))
        off = max(abs(statistics.median(durations) - median) for durations in rounds)
        return cls(median, p90, p99, off / median if median else 0.0, len(calls) / seconds, len(calls))


def measure(resolved: Resolved, timing: Timing, on_stage: Callable[[str], None]) -> Mapping[str, Latency | str]:
    """Return the latency of each backend, by label, or in words why it could not be timed.

    All get the first inputs of the plan. Those that are timed have a session each of their own all the time, and are
    called in turns.

    Args:
        resolved: The backends.
        timing: How to time.
        on_stage: Told in words what happens next.

    Raises:
        DataError: There are no inputs.
    """
    with _activated(resolved, timing, on_stage) as settings:
        alive = {label: runs for label, runs in settings.items() if not any(run.result.error for run in runs)}
        errors = {label: runs[0].result.error for label, runs in settings.items() if label not in alive}
        if not alive:
            return errors
        inputs = InputPairing().join([run for runs in alive.values() for run in runs])
        feed = next(iter(open_feeds(resolved.source, inputs)), None) if inputs is not None else None
        if feed is None:
            raise DataError("there are no inputs", hint="leave out --data-loader, or give other files")
        return {**errors, **_in_turns(alive, feed, timing, on_stage)}


@contextmanager
def _activated(
    resolved: Resolved, timing: Timing, on_stage: Callable[[str], None]
) -> Iterator[dict[str, list[BackendRun]]]:
    """Make the sessions of all settings active."""
    settings: dict[str, list[BackendRun]] = {}
    try:
        for backend in resolved.backends:
            on_stage(f"activating {backend.label}")
            settings[backend.label] = [_active(backend) for _ in range(timing.streams)]
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
    settings: Mapping[str, list[BackendRun]], feed: Feed, timing: Timing, on_stage: Callable[[str], None]
) -> dict[str, Latency | str]:
    rounds: dict[str, list[list[float]]] = {label: [] for label in settings}
    spent = dict.fromkeys(settings, 0.0)
    failed: dict[str, Latency | str] = {}
    with ThreadPoolExecutor(timing.streams, thread_name_prefix="polycmp-stream") as pool:
        for number in range(timing.rounds):
            on_stage(f"timing, round {number + 1} of {timing.rounds}")
            for label, runs in settings.items():
                if label in failed:
                    continue
                calls = [
                    pool.submit(_calls, run, feed, timing.warm_up if not number else 1, timing.seconds / timing.rounds)
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
    while not run.result.error and (len(durations) < _FEWEST or time.perf_counter() - start < seconds):
        run.infer(feed)
        durations.append(run.last_seconds)
    return durations, time.perf_counter() - start

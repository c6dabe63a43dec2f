"""The order in which backends run: all at once, one iteration at a time, or one backend after the other."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from polycmp._arrays import copied
from polycmp.errors import DataError, OthersCode
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.buffer_reuse import sharing_memory
from polycmp.runs.pairing import InputPairing
from polycmp.tensors import DataSource, Feed, Source, TensorMetadata


@dataclass(frozen=True)
class Step:
    """One iteration of all runs.

    Attributes:
        index: Counted from 0.
        feed: The inputs.
        outputs: Outputs by the run's label; a run that failed is absent. Valid until the next step.
        seconds: Duration of the iteration in seconds, by the run's label.
        window: Number of the part of the model that the outputs come from, where they come part by part.
        again: Runs the backend `fastest` once more beside the iterations, with other inputs, and returns its outputs;
            None where it cannot. The outputs of this step stay as they are.
        fastest: Label of the run that took the least time; empty where `again` cannot run any.
    """

    index: int
    feed: Feed
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    window: int = 0
    again: Callable[[Feed], Mapping[str, Any] | None] = lambda _: None
    fastest: str = ""


@dataclass(frozen=True)
class Schedule:
    """Order in which runs are activated and take their iterations.

    Attributes:
        sequential: One run does all iterations before the next is activated.
        warm_up: Calls with the first inputs before anything is measured as an iteration.
        on_stage: Told in words what happens next.
        ahead: Whether the next part of a model may run while the last one's tensors are looked at.
        together: Whether runs that take part in the same iterations may be activated at the same time.
        iterations: Number of iterations; 0 if it is not known.
    """

    sequential: bool = False
    warm_up: int = 0
    on_stage: Callable[[str], None] = lambda _: None
    ahead: bool = False
    together: bool = False
    iterations: int = 0

    def tell(self, index: int, seconds: float) -> None:
        """Announce the next iteration, counted from 0, and how long the rest takes if it goes on like this."""
        text = f"iteration {index + 1}"
        if self.iterations > 1:
            left = seconds / index * (self.iterations - index) if index else 0.0
            text += f" of {self.iterations}" + (f", {left:.0f} s left" if left >= 1.0 else "")
        self.on_stage(text)


def run_steps(
    runs: Sequence[BackendRun], source: Source, schedule: Schedule, pairing: InputPairing | None = None
) -> Generator[Step, None, None]:
    """Yield one step per feed of the data source.

    The runs that can be activated tell the data source what inputs there are, in a sequence only the first. Streaming
    keeps all runs active and holds one iteration; sequential holds all inputs and outputs, but only one backend at a
    time.

    Args:
        runs: The runs.
        source: The data source.
        schedule: Order in which the runs are activated and take their iterations.
        pairing: Tells which inputs are the same where runs call them otherwise; by default by the last run.

    Raises:
        DataError: The data source fails or gives what is no feed.
        UsageError: It is not certain which inputs of two runs are the same.
    """
    yield from (_sequential if schedule.sequential else _streaming)(runs, source, schedule, pairing or InputPairing())


def _streaming(runs: Sequence[BackendRun], source: Source, schedule: Schedule, pairing: InputPairing) -> Iterator[Step]:
    with ExitStack() as stack:
        for run in runs:
            stack.callback(run.deactivate)
        _activate(runs, schedule)
        inputs = pairing.join(runs)
        if inputs is None:
            return
        start = time.monotonic()
        for index, (feed, first_outputs) in enumerate(_begun(runs, source, inputs, schedule)):
            if index == 0:
                start = time.monotonic() - sum(run.last_seconds for run in runs)
            if first_outputs is None:
                schedule.tell(index, time.monotonic() - start)
            outputs = _infer_all(runs, feed) if first_outputs is None else first_outputs
            step = Step(index, feed, outputs, {run.label: run.last_seconds for run in runs})
            yield _repeatable(step, runs, schedule) if index == 0 else step
            if not any(run.is_active for run in runs):
                return


def _repeatable(step: Step, runs: Sequence[BackendRun], schedule: Schedule) -> Step:
    """Return a step whose fastest run can be asked again, with its outputs copied if that would overwrite them."""
    succeeded = [run for run in runs if run.label in step.outputs and run.is_active]
    if not succeeded:
        return step
    fastest = min(succeeded, key=lambda run: run.last_seconds)

    def again(feed: Feed) -> Mapping[str, Any] | None:
        for run in runs:
            if run is not fastest and schedule.iterations > 1:  # random numbers that a backend draws stay in step
                run.infer_beside(feed)
        return fastest.infer_beside(feed)

    outputs = dict(step.outputs)
    if not fastest.outputs_stay_valid:
        outputs[fastest.label] = copy_outputs(outputs[fastest.label])
    return replace(step, outputs=outputs, again=again, fastest=fastest.label)


def _begun(
    runs: Sequence[BackendRun], source: Source, inputs: TensorMetadata, schedule: Schedule
) -> Iterator[tuple[Feed, dict[str, Mapping[str, Any]] | None]]:
    """Yield the feeds, the first with the runs' outputs for it: only they tell whether the source has better ones."""
    feeds = open_feeds(source.initial_feeds if isinstance(source, DataSource) else source, inputs)
    first = next(feeds, None)
    if first is None:
        return
    _warm_up(runs, first, schedule)
    schedule.tell(0, 0.0)
    outputs = _infer_all(runs, first)
    better = _better(source, inputs, first, outputs)
    if better is None:
        yield first, outputs
    else:
        feeds = open_feeds(lambda _: better, inputs)
        for run in runs:
            run.start_again()
    yield from ((feed, None) for feed in feeds)


def _better(
    source: Source, inputs: TensorMetadata, feed: Feed, outputs: Mapping[str, Mapping[str, Any]]
) -> Iterable[Feed] | None:
    """Return the feeds that a source has where the first one did not reach the outputs of the reference."""
    if not isinstance(source, DataSource) or not outputs:
        return None
    with OthersCode(DataError, "the data loader failed"):
        return source.alternative_feeds(inputs, feed, list(outputs.values())[-1])


def _activate(runs: Sequence[BackendRun], schedule: Schedule) -> None:
    """Activate runs, at the same time where they may: making a session takes long, and mostly one core."""
    if not schedule.together or len(runs) < 2:
        for run in runs:
            schedule.on_stage(f"activating {run.label}")
            run.activate()
        return
    schedule.on_stage(f"activating {', '.join(run.label for run in runs)}")
    pool = ThreadPoolExecutor(len(runs) - 1, thread_name_prefix="polycmp-activate")
    try:
        others = [pool.submit(run.activate) for run in runs[1:]]
        runs[0].activate()
        for other in others:
            other.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)  # a user who interrupts this does not want to wait
        raise
    pool.shutdown()


def _sequential(
    runs: Sequence[BackendRun], source: Source, schedule: Schedule, pairing: InputPairing
) -> Iterator[Step]:
    feeds: list[Feed] | None = None
    collected: list[Step] = []
    with ExitStack() as stack:
        for run in runs:
            stack.close()
            stack.callback(run.deactivate)
            schedule.on_stage(f"running {run.label}")
            run.activate()
            inputs = pairing.join([run])
            if inputs is None:
                continue
            if feeds is None:
                feeds = [copy_feed(feed) for feed in open_feeds(source, inputs)]
                outputs: list[dict[str, Mapping[str, Any]]] = [{} for _ in feeds]
                collected = [Step(index, feed, outputs[index], {}) for index, feed in enumerate(feeds)]
            if feeds:
                _warm_up([run], feeds[0], schedule)
            for step in collected:
                result = run.infer(step.feed)
                if result is None:
                    break
                outputs[step.index][run.label] = copy_outputs(result)
                step.seconds[run.label] = run.last_seconds
        if collected:
            yield _repeatable(collected.pop(0), runs[-1:], schedule)
    while collected:
        yield collected.pop(0)


def _infer_all(runs: Sequence[BackendRun], feed: Feed) -> dict[str, Mapping[str, Any]]:
    outputs: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        result = run.infer(feed)
        if result is None:
            continue
        overwritten = sharing_memory(result, outputs)
        outputs[run.label] = copy_outputs(result) if overwritten else result
        for other in runs:
            if other.label in overwritten:
                _separate(run, other)
                again = other.infer(feed, measure=False)
                if again is None:
                    del outputs[other.label]
                else:
                    outputs[other.label] = again
    return outputs


def _separate(one: BackendRun, two: BackendRun) -> None:
    """Have the outputs of two runs copied from now on, and note why."""
    for run, other in ((one, two), (two, one)):
        run.shares_memory = True
        run.add_notes([f"puts its outputs into the same memory as {other.label}: they are copied"])


def _warm_up(runs: Iterable[BackendRun], feed: Feed, schedule: Schedule) -> None:
    for run in runs:
        for _ in range(schedule.warm_up):
            run.infer(feed, measure=False)


def open_feeds(source: Source, inputs: TensorMetadata) -> Iterator[Feed]:
    """Yield the source's feeds, each valid until the next is asked for.

    Raises:
        DataError: The source fails, or gives something else than feeds.
    """
    with OthersCode(DataError, "the data loader failed"):
        iterator = iter(source(inputs))
    while True:
        with OthersCode(DataError, "the data loader failed"):
            try:
                feed = next(iterator)
            except StopIteration:
                return
        if not isinstance(feed, Mapping) or not all(isinstance(name, str) for name in feed):
            kind = "names that are no text" if isinstance(feed, Mapping) else type(feed).__name__
            raise DataError(
                f"the data loader gave {kind} instead of a feed",
                hint='a feed is a mapping from input name to array: {"input": array}',
            )
        yield feed


def copy_feed(feed: Feed) -> Feed:
    """Return a feed that stays as it is when its source goes on; its other attributes are kept."""
    kept: dict[str, Any] = copy.copy(feed) if isinstance(feed, dict) else dict(feed)
    for name, array in feed.items():
        kept[name] = copied(array)
    return kept

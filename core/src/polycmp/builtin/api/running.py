"""Running runners: a stream of results, one iteration at a time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from polycmp.builtin.api.data_loader import DataLoader
from polycmp.builtin.formats.run_results import RunResults
from polycmp.options import unique_label
from polycmp.results import BackendResult, IterationResult
from polycmp.results.files import InputsWriter, OutputsWriter, save_input_blob
from polycmp.runner import Runner
from polycmp.runs import BackendRun, InputPairing, Schedule, Step, copy_outputs, run_steps
from polycmp.tensors import Feed, Source

_LOG = logging.getLogger("polycmp.data")


@dataclass(frozen=True)
class Saved:
    """Files and folders to write inputs and outputs to; None for those that are not written.

    Attributes:
        inputs: A file or a folder.
        outputs: A file or a folder.
        blobs: A folder for the bare bytes of the inputs.
    """

    inputs: str | None = None
    outputs: str | None = None
    blobs: str | None = None


def make_runs(runners: Sequence[Runner], *, forked: bool, timeout: float | None) -> list[BackendRun]:
    """Wrap each runner in a `BackendRun`; `#2` is appended to a name that is taken.

    Args:
        runners: The runners, not active.
        forked: Whether each runs in a copy of this process.
        timeout: As for `ForkedRunner`; None waits for ever.

    Raises:
        InvalidValueError: This system makes no copies of processes.
    """
    runs: list[BackendRun] = []
    for runner in runners:
        runner.name = unique_label(runner.name, (run.label for run in runs))
        used = runner
        if forked:
            from polycmp.builtin.workers.forked import ForkedRunner  # few programs need it

            used = ForkedRunner(runner, timeout or 0.0)
        runs.append(BackendRun(BackendResult(runner.name, type(runner).__name__), _giving(used)))
    return runs


def stream(
    runs: Sequence[BackendRun], source: Source, schedule: Schedule, saved: Saved, pairing: InputPairing
) -> Generator[RunResults, None, None]:
    """Yield the results of each iteration.

    Args:
        runs: The runs.
        source: Gives the inputs.
        schedule: Order in which the runs are activated and take their iterations.
        saved: Files and folders that inputs and outputs are written to.
        pairing: Tells which inputs are the same where runs call them otherwise.

    Raises:
        PolycmpError: A runner or the data loader failed, or a file cannot be written; the runner's own error where it
            raised one.
    """
    with ExitStack() as stack:
        inputs = stack.enter_context(InputsWriter(saved.inputs)) if saved.inputs else None
        outputs = stack.enter_context(OutputsWriter(saved.outputs)) if saved.outputs else None
        steps = run_steps(runs, source, schedule, pairing)
        stack.callback(steps.close)
        for step in steps:
            _raise_first(runs)
            if saved.blobs:
                save_input_blob(saved.blobs, step.index, step.feed)
            if inputs is not None:
                inputs.add(step.feed)
            if outputs is not None:
                for label, arrays in step.outputs.items():
                    outputs.add(label, arrays, step.seconds[label])
            yield _results(step, kept=schedule.sequential)
        for note in pairing.notes:
            _LOG.info("inputs: %s", note)
        _raise_first(runs)


def make_source(data_loader: Source | Iterable[Feed] | None) -> Source:
    """Make the source of feeds; random numbers by default."""
    if data_loader is None:
        return DataLoader()
    if callable(data_loader):
        return data_loader
    return lambda _inputs: data_loader


def _results(step: Step, *, kept: bool) -> RunResults:
    """Return the results of a step, which outlive it: a runner may write into its outputs when it is called again."""
    return RunResults(
        (label, [IterationResult(arrays if kept else copy_outputs(arrays), step.seconds[label], label)])
        for label, arrays in step.outputs.items()
    )


def _giving(runner: Runner) -> Callable[[], Runner]:
    return lambda: runner


def _raise_first(runs: Iterable[BackendRun]) -> None:
    for run in runs:
        if run.error is not None:
            raise run.error

"""A backend taking part in a session: an exception that it raises becomes its result, never the session's end."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from polycmp._activity import HERE
from polycmp.data.coerce import coerce_feed
from polycmp.errors import PolycmpError, WorkerError, describe_exception, is_users_failure
from polycmp.results.outcome import BackendResult
from polycmp.runner import Runner, infer, input_metadata, version_of
from polycmp.runs.iterations import Iterations
from polycmp.tensors import Feed, FeedPerRun, TensorMetadata

T = TypeVar("T")

log: logging.Logger = logging.getLogger("polycmp.session")


class BackendRun:
    """One runner in a session.

    Args:
        result: The backend's result, in which failures and timings are recorded.
        make: Makes the runner; called once, on activation.
        needs: Modules whose version tells which backend this is.

    Attributes:
        result: The record.
        error: The exception that ended it, for those who want its trace; None while it is well.
        shares_memory: Whether another run puts its outputs into the same memory, so that only copies outlive its calls.
        input_names: Names under which a feed holds inputs that it does not call as this model does, by the model's.
    """

    def __init__(self, result: BackendResult, make: Callable[[], Runner], needs: tuple[str, ...] = ()) -> None:
        self.result = result
        self.error: BaseException | None = None
        self.shares_memory = False
        self.input_names: dict[str, tuple[str, ...]] = {}
        self._make = make
        self._needs = needs
        self._runner: Runner | None = None
        self._iterations = Iterations(result)

    @property
    def label(self) -> str:
        """The label in reports."""
        return self.result.label

    @property
    def last_seconds(self) -> float:
        """The duration of its last call in seconds; 0 before the first."""
        return self._iterations.last_seconds

    @property
    def is_active(self) -> bool:
        """Whether the runner is active, so that it can infer."""
        return self._runner is not None

    @property
    def outputs_stay_valid(self) -> bool:
        """Whether what `infer` returned survives later calls."""
        return self._runner is not None and self._runner.outputs_stay_valid

    def activate(self) -> None:
        """Make and activate the runner; a failure is recorded."""
        if self.error is None:
            self._guard("while it was activated", self._activate)

    def inputs(self) -> TensorMetadata | None:
        """Return the runner's inputs; None if it failed."""
        runner = self._runner
        if runner is None:
            return None
        return self._guard("while it described its inputs", lambda: input_metadata(runner))

    def infer(self, feed: Feed, *, measure: bool = True) -> Mapping[str, Any] | None:
        """Run once and return the outputs, valid until the next call; None if it failed.

        Args:
            feed: Arrays by input name.
            measure: Whether this call counts as an iteration (a warm-up call does not).
        """
        runner, inputs = self._runner, self.inputs()
        if runner is None or inputs is None:
            return None
        named = self._own_names(feed.by_run.get(self.label, feed) if isinstance(feed, FeedPerRun) else feed)

        def call() -> Mapping[str, Any]:
            outputs = infer(runner, coerce_feed(named, inputs, self.label))
            self._record(runner, outputs, measure)
            return copy_outputs(outputs) if self.shares_memory else outputs

        return self._guard(f"in iteration {self.result.iterations}", call)

    def infer_beside(self, feed: Feed) -> Mapping[str, Any] | None:
        """Run once beside the iterations and return copies of the outputs; None if that fails, which is no failure.

        Args:
            feed: Arrays by input name.
        """
        runner, inputs = self._runner, self.inputs()
        if runner is None or inputs is None:
            return None
        try:
            with np.errstate(), HERE.doing(f"with other inputs: {self._whose}"):
                return copy_outputs(infer(runner, coerce_feed(self._own_names(feed), inputs, self.label)))
        except BaseException as error:
            if not is_users_failure(error):
                raise
            log.debug("%s failed with other inputs", self.label, exc_info=error)
            return None

    def _own_names(self, feed: Feed) -> Feed:
        """Return a feed in which arrays have the names of this model's inputs."""
        sources = {
            input_name: next((name for name in names if name in feed), "")
            for input_name, names in self.input_names.items()
        }
        return {**feed, **{input_name: feed[name] for input_name, name in sources.items() if name}} if sources else feed

    def start_again(self) -> None:
        """Forget the iterations so far: they were made with inputs that others take the place of."""
        self._iterations.start_again()

    def deactivate(self) -> None:
        """Deactivate the runner and record how long its calls took; a failure is recorded."""
        self._iterations.sum_up()
        runner, self._runner = self._runner, None
        if runner is not None:
            self._guard("while it was deactivated", runner.deactivate)
            self._guard("in its notes", lambda: self.add_notes(runner.notes))

    def add_notes(self, notes: Iterable[str]) -> None:
        """Add what is not noted yet to the record."""
        self.result.notes.extend(note for note in map(str, notes) if note not in self.result.notes)

    def _activate(self) -> None:
        runner = self._make()
        runner.activate()
        self._runner = runner
        self.result.version = version_of(runner, self._needs)

    def _record(self, runner: Runner, outputs: Mapping[str, Any], measure: bool) -> None:
        self._iterations.add(runner.last_inference_time(), TensorMetadata.from_feed_dict(outputs) if measure else None)

    def _guard(self, when: str, call: Callable[[], T]) -> T | None:
        try:
            # A library may change what NumPy does about overflow and the like, or crash.
            with np.errstate(), HERE.doing(f"{when}: {self._whose}"):
                return call()
        except BaseException as error:
            if not is_users_failure(error):
                raise
            self._fail(error, when)
            return None

    def _fail(self, error: BaseException, when: str) -> None:
        self.error = error
        if not self.result.error:
            self.result.error, self.result.died = _sentence(error, when), isinstance(error, WorkerError)
        self.result.hint = self.result.hint or (error.hint if isinstance(error, PolycmpError) else "")
        log.debug("%s failed %s", self.label, when, exc_info=error)
        self.deactivate()

    @property
    def _whose(self) -> str:
        model = f" with {self.result.model}" if self.result.model else ""
        return f"{self.label}{model}"


def _sentence(error: BaseException, when: str) -> str:
    if isinstance(error, WorkerError):  # it says how a process ended, and `when` completes the sentence
        return f"{error.what} {when}" + (f" ({error.why})" if error.why else "")
    return f"{describe_exception(error)} ({when})"


def copy_outputs(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return outputs that outlive the runner's next call."""
    return {name: copy.deepcopy(array) for name, array in outputs.items()}

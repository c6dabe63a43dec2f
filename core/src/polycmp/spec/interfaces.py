"""Interfaces between the core and a plugin's heavy code: Protocols, `Verdict`, `Compared`.

No class has to derive from the Protocols: they are what a type checker holds a plugin's functions against. The classes
named in them are imported by type checkers only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.results.outcome import Outcome
    from polycmp.runner import Runner
    from polycmp.runs.observers import RunStep
    from polycmp.tensors import DataSource, Feed, TensorMetadata


#: Kinds of array that a broken model might return instead of the reference. A comparison that lets one pass could not
#: have failed. A compare function that is made to let some of them pass says so in an attribute `ignores`.
IMPOSTORS = ("zeros", "constant", "negated", "halved", "larger", "row", "iteration")


@dataclass(frozen=True)
class Verdict:
    """Verdict of a compare function on one output.

    Attributes:
        passed: Whether candidate and reference agree.
        reason: Reason for a failure, in words; may also qualify a pass.
        metrics: Named figures for reports.
        inconclusive: Reason why the comparison is inconclusive: `blind` (it could not have failed: arrays from no model
            at all would have passed, too), `undecided` (rounding, or another bound, may explain anything), or empty.
            Where it is set, `passed` is False.
    """

    passed: bool
    reason: str = ""
    metrics: Mapping[str, float] = dataclasses.field(default_factory=dict)
    inconclusive: str = dataclasses.field(default="", kw_only=True)

    def __bool__(self) -> bool:
        return self.passed


@dataclass(frozen=True)
class Compared:
    """Two arrays that are compared.

    Attributes:
        iteration: The iteration, counted from 0.
        candidate: The candidate's label.
        reference: The reference's label.
        output: The output's name in the candidate.
        made: The candidate's array, or an object that holds it; valid until the watcher returns.
        expected: The reference's, likewise.
    """

    iteration: int
    candidate: str
    reference: str
    output: str
    made: Any
    expected: Any


@dataclass(frozen=True)
class SizeHint:
    """Constraints of a model's operators on a dimension that an input leaves open.

    Attributes:
        least: The smallest size that leaves every operator something to work on.
        multiple: Sizes that are a multiple of this are divided evenly by all strides.
        likely: Sizes that some operator demands, the likeliest first.
        why: The operators that need it, in words: `Conv 'stft' has a kernel of 256`.
    """

    least: int = 1
    multiple: int = 1
    likely: tuple[int, ...] = ()
    why: str = ""


class InputHints(Protocol):
    """Constraints of a model's graph on its inputs beyond their declared shapes; see `LoaderTools.hints`."""

    def sizes(self, inputs: TensorMetadata, /) -> Mapping[tuple[str, int], SizeHint]:
        """Return hints by input and axis for dimensions that are open in `inputs`, as far as anything is known."""
        ...


class ModelHandle(Protocol):
    """The model of a run, as factories of runners and loaders get it.

    A part of a model, which `locate` runs alone, has no `input_shapes` and no `data_loader`: its inputs are others.
    """

    @property
    def path(self) -> str:
        """The file, without the name of a function in it."""
        ...

    @property
    def source(self) -> str:
        """The file as the user named it: `net.py:make` for the function `make` of a Python file."""
        ...

    @property
    def kind(self) -> str:
        """The kind of model that the file holds, as its loader calls it."""
        ...

    @property
    def input_shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes that the user asked for, by input name or pattern."""
        ...

    @property
    def data_loader(self) -> DataSource | None:
        """The source of this run's inputs, called with their metadata; None if there is none."""
        ...

    @property
    def structure(self) -> Callable[[], Any] | None:
        """Returns the model as `LoaderTools.structure` reads it, once in a run; it must not be changed."""
        ...

    def load(self, kind: str) -> Loader[Any]:
        """Return a loader that makes the model as `kind`, converting where an installed loader can.

        Raises:
            ModelError: No installed loader makes that kind from this file.
        """
        ...


class RunnerFactory(Protocol):
    """Makes a runner, not active; see `RunnerSpec`."""

    def __call__(self, model: ModelHandle, options: Any, /, *, name: str) -> Runner:
        """Return a runner of the model, labelled `name` in reports.

        `options` is an instance of the descriptor's options, or None.
        """
        ...


class LoaderFactory(Protocol):
    """Makes a loader; see `LoaderSpec`."""

    def __call__(self, source: Any, options: Any, /) -> Loader[Any]:
        """Return a loader of what `source` names: a path, or a loader of a kind that this one consumes."""
        ...


class ModelLoaderFactory(Protocol):
    """Makes a loader from more than its source; see `LoaderTools.takes_model`."""

    def __call__(self, source: Any, options: Any, /, *, model: ModelHandle) -> Loader[Any]:
        """Return a loader, as `LoaderFactory` does, that may use what is known of the run."""
        ...


class DataLoader(Protocol):
    """Makes the inputs of a model."""

    def __call__(self, inputs: TensorMetadata, /) -> Iterable[Feed]:
        """Return feeds: arrays by input name, one feed per iteration.

        A `polycmp.tensors.LabelledFeed` also tells what it is and how it is made alone, which reports then show.
        """
        ...


class DataLoaderFactory(Protocol):
    """Makes a data loader; see `DataLoaderSpec`."""

    def __call__(self, options: Any, /) -> DataLoader:
        """Return a data loader with these options."""
        ...


class CompareFunction(Protocol):
    """Judges one output."""

    def __call__(self, candidate: Any, reference: Any, /, *, output: str) -> Verdict:
        """Return the verdict on two arrays of any shape and type.

        A `polycmp.compare.DetailedVerdict` also fills the columns and histograms of reports.
        """
        ...


class RejudgingFunction(CompareFunction, Protocol):
    """Judges one output, and metrics that were saved or averaged; see `CompareFuncSpec.rejudges`."""

    def judge_metrics(self, metrics: Mapping[str, float], /, *, output: str) -> Verdict:
        """Return the verdict on metrics as in this function's own verdicts, without any tensor."""
        ...


class CompareFactory(Protocol):
    """Makes a compare function; see `CompareFuncSpec`."""

    def __call__(self, options: Any, /) -> CompareFunction:
        """Return a compare function with these options."""
        ...


class DetailedCompareFactory(Protocol):
    """Makes a compare function that can tell more than reports always need; see `CompareFuncSpec.detail`."""

    def __call__(self, options: Any, /, *, detail: bool) -> CompareFunction:
        """Return a compare function; with `detail` it computes what only a report shows."""
        ...


class ReportFactory(Protocol):
    """Writes a result; see `ReportSpec`."""

    def __call__(self, result: Any, path: str, /, *options: Any) -> None:
        """Write a `polycmp.report.Result` to a file; with options only where the descriptor declares some."""
        ...


class RunObserver:
    """Takes part in a run; see `ObserverSpec`. Derive from it, and write those methods that do something.

    They are called in this order: `start`; then for each step `transform`, `as_made` for each candidate, and, when the
    outputs were compared, `on_step`; then `finish`, and `close` in any case. What `start` and `transform` raise ends
    the run. After an error in `on_step` or `finish` the run goes on without the observer: the verdict is shown first,
    then the error, with exit status 3.

    Attributes:
        whole_steps: Reason why it needs all outputs of an iteration at once, best of all the option that asks for that;
            empty if outputs may come part by part, as those of all tensors inside a model do.
    """

    whole_steps: str = ""

    def start(self, outcome: Outcome, /) -> None:
        """Begin; no backend is active yet.

        Args:
            outcome: The outcome, still to be filled. Its runs, its reference and its command are known.
        """

    def transform(self, step: RunStep, /) -> Mapping[str, Mapping[str, Any]] | None:
        """Return the outputs by run that take the place of `step.outputs`; None to leave them.

        The arrays of a step must not be written to: `step.made` holds the same, and backends may go on with them.

        Args:
            step: The step, as the runs made it and observers before this one changed it. Nothing is compared yet.
        """

    def as_made(self, step: RunStep, candidate: str, /) -> Iterable[str]:
        """Return the outputs of a candidate that are compared as they were made, although `transform` changed them.

        That is for those of which the change would hide that they cannot be compared at all.

        Args:
            step: The step, with the outputs that `transform` returned and those that the runs made.
            candidate: The label of a run.
        """
        return ()

    def on_step(self, step: RunStep, /) -> None:
        """Receive a step whose outputs have been compared; its arrays are valid until this returns."""

    def finish(self, outcome: Outcome, /) -> None:
        """Receive the outcome, or add to it; the backends are no longer active."""

    def close(self) -> None:
        """Release what `start` or a step has opened; also called after an error."""


class CommandTarget(Protocol):
    """A command; see `CommandSpec`."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command, as `click.Command` does."""
        ...

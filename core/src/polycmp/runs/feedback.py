"""Outputs fed back as inputs: the Protocol of data loaders with `DataLoaderSpec.follows`, and how a session uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.errors import OthersCode, PluginError, UsageError
from polycmp.runs.backend_run import BackendRun
from polycmp.spec import RunObserver
from polycmp.tensors import DataSource, Feed, Source, TensorMetadata

if TYPE_CHECKING:
    from polycmp.compare.verdicts import OutputComparison
    from polycmp.plan import DataPlan, Plan
    from polycmp.results.outcome import Outcome
    from polycmp.runs.observers import RunStep
    from polycmp.runs.resolution import Resolved


class Feedback(Protocol):
    """Makes the inputs of further steps from outputs: a cache, a recurrent state, the next token.

    A session has it join the runs and wrap the source of inputs, and tells it of every iteration's outputs and
    verdicts. Code that runs backends without a session takes the steps with `starts` and `then`.

    Attributes:
        steps: Number of steps of a sequence.
    """

    steps: int

    @property
    def notes(self) -> Sequence[str]:
        """Notes on choices that the user did not make."""

    def join(self, runs: Sequence[BackendRun]) -> list[BackendRun]:
        """Return the runs that take part: these, and more that run the same backends on other inputs."""

    def source(self, source: DataSource) -> DataSource:
        """Return a source of the feeds of all steps; those that differ from run to run are `FeedPerRun`."""

    def made(self, outputs: Mapping[str, Mapping[str, Any]]) -> None:
        """Receive the outputs of the runs, by label, for the last feed; the arrays are valid until this returns."""

    def add(self, iteration: int, candidate: str, reference: str, found: Iterable[OutputComparison], /) -> None:
        """Receive the verdicts on one iteration of a candidate and its reference, both named by their labels."""

    def finish(self, outcome: Outcome, /) -> None:
        """Receive the outcome."""

    def starts(self, source: Source, inputs: TensorMetadata) -> Iterator[Sequence[Feed]]:
        """Yield the sequences: of each what the source gives for every step, the first with the state, too."""

    def then(
        self, step: int, feed: Feed, outputs: Mapping[str, Any], reference: Mapping[str, Any], given: Feed
    ) -> Feed:
        """Return the next feed of a run.

        Args:
            step: The step that was taken, counted from 0.
            feed: Inputs of the run in that step.
            outputs: Outputs of the run for them.
            reference: Outputs of the reference in the same step.
            given: Inputs from the source for the next step.
        """


class FeedbackObserver(RunObserver):
    """Passes outputs and verdicts on to the object that feeds outputs back."""

    def __init__(self, feedback: Feedback) -> None:
        self._feedback = feedback

    def transform(self, step: RunStep) -> None:
        """Hand on the outputs as the runs made them, before anything else can fail on them."""
        self._feedback.made(step.made)

    def on_step(self, step: RunStep) -> None:
        """Hand on the verdicts."""
        for candidate, comparisons in step.compared.items():
            self._feedback.add(step.index, candidate, step.reference, comparisons)

    def finish(self, outcome: Outcome) -> None:
        """Hand on the outcome."""
        self._feedback.finish(outcome)


@dataclass(frozen=True)
class FeedbackContext:
    """Description of a run for the plugin that feeds outputs back.

    Attributes:
        data: The part of the plan on input data; its `followers` are asked for.
        reference: The value of `--reference`: a label, or the name of a backend; empty for the last run.
        saved: Files of saved runs that take part.
        sequential: Whether each backend runs all iterations before the next one begins.
    """

    data: DataPlan
    reference: str = ""
    saved: Sequence[str] = ()
    sequential: bool = False

    @classmethod
    def of(cls, plan: Plan) -> FeedbackContext:
        """Select the fields of a plan that concern feedback."""
        return cls(plan.data, plan.compare.reference, plan.files.load_outputs, plan.sequential)


def open_feedback(following: FeedbackContext, resolved: Resolved) -> Feedback | None:
    """Open the feedback of outputs into inputs; None unless it is asked for.

    Raises:
        UsageError: Options contradict each other.
        PluginError: The plugin is broken.
    """
    feedback: Feedback | None = None
    followers = following.data.followers
    for name, options in followers.items():
        contribution = resolved.registry.find_data_loader(name)
        if feedback is not None:
            raise UsageError(f"only one of {' and '.join(followers)} can go on from the outputs")
        resolved.registry.require(contribution)
        factory: Any = resolved.registry.load(contribution)
        with OthersCode(PluginError, "outputs cannot be fed back", whose=contribution.label):
            feedback = factory(options, following, resolved)
    return feedback

"""Choice of the feeds to look inside with: those of the source, or where outputs go back as inputs, the wrong step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from polycmp.compare import PairComparer
from polycmp.errors import UsageError
from polycmp.options import make_options
from polycmp.plan import DEFAULT_COMPARE, Choice, Plan
from polycmp.runs import (
    BackendRun,
    Feedback,
    FeedbackContext,
    Resolved,
    copy_feed,
    make_functions,
    open_feedback,
    open_feeds,
)
from polycmp.sentences import listed
from polycmp.tensors import Feed, TensorMetadata
from polycmp_locate.setting import Stage, Tensors
from polycmp_locate.values.located import Located

Functions = Mapping[str, Any]


@dataclass(frozen=True)
class Chosen:
    """A feed to look inside with.

    Attributes:
        feed: The inputs.
        index: The iteration, or the step of its sequence, counted from 0.
        note: Reason for the choice; empty for a feed of the source.
        parted: The step in which the candidate parts on its own state, though no step is wrong by itself.
    """

    feed: Feed
    index: int
    note: str = ""
    parted: int | None = None

    def tell(self, located: Located) -> None:
        """Write down with what was searched."""
        located.feed, located.inputs = self.index, copy_feed(self.feed)
        if not self.note:
            return
        located.step = self.index
        located.notes.insert(0, self.note)
        located.sentence = f"in step {self.index}: {located.sentence}"
        if self.parted is not None and located.exit_code == 0:
            located.sentence += f"; step by step the state adds up to the difference of step {self.parted}"


class Chooser:
    """Chooses the feeds for a candidate.

    Args:
        plan: The search.
        resolved: The backends and inputs of the plan.
        functions: Compare functions of an output, by name.
        on_stage: Told in words what happens next.

    Raises:
        UsageError: `--steps` and what goes with it does not fit the models.
    """

    def __init__(self, plan: Plan, resolved: Resolved, functions: Functions, on_stage: Stage) -> None:
        self._plan, self._resolved, self._functions, self._on_stage = plan, resolved, functions, on_stage
        self._feedback = open_feedback(FeedbackContext.of(plan), resolved)

    @property
    def notes(self) -> Sequence[str]:
        """Remarks on the inputs."""
        return [*self._resolved.source.notes, *(self._feedback.notes if self._feedback is not None else ())]

    def functions(self, chosen: Chosen) -> Functions:
        """Return the compare functions of tensors: equality where only the accumulated state differs."""
        if chosen.parted is None:
            return self._functions
        registry = self._resolved.registry
        nothing = {"atol": {"": 0.0}, "rtol": {"": 0.0}}
        exact = make_options(registry.find_compare_func(DEFAULT_COMPARE).spec.options, nothing, DEFAULT_COMPARE)
        plan = replace(self._plan.compare, functions=(Choice(DEFAULT_COMPARE, exact),), script="")
        return make_functions(plan, registry)

    @property
    def takes_steps(self) -> bool:
        """Whether outputs go back as inputs."""
        return self._feedback is not None

    def feeds(self, candidate: str, reference: str, inputs: TensorMetadata) -> Iterator[Chosen]:
        """Yield the feeds to look inside with, for two backends by their labels.

        Raises:
            DataError: The source of inputs fails.
            UsageError: An output does not fit the input that it is to go into.
        """
        if self._feedback is None:
            for index, feed in enumerate(open_feeds(self._resolved.source, inputs)):
                yield Chosen(feed, index)
            return
        for source_feeds in self._feedback.starts(self._resolved.source, inputs):
            with ExitStack() as stack:
                runs = [self._resolved.backend(label).make_run() for label in (candidate, reference)]
                for run in runs:
                    stack.callback(run.deactivate)
                    run.activate()
                chosen = _Rollout(self._feedback, runs[0], runs[1], self._functions, self._on_stage).go(source_feeds)
            yield chosen

    def recorded(
        self, candidate: str, record: str, tensors: Iterator[tuple[Feed, Tensors]], inputs: TensorMetadata
    ) -> Iterator[tuple[Chosen, Tensors]]:
        """Yield the feeds to look inside with where the reference is a saved run of the same steps, and its tensors.

        Args:
            candidate: The candidate's label.
            record: The saved run's.
            tensors: Recorded inputs, as far as there are any, and recorded outputs, iteration by iteration.
            inputs: The model's inputs.

        Raises:
            DataError: The source of inputs fails.
            UsageError: The saved run has too few iterations, or an output does not fit the input that it goes into.
        """
        assert self._feedback is not None
        steps = self._feedback.steps
        for source_feeds in self._feedback.starts(self._resolved.source, inputs):
            recorded_steps = list(islice(tensors, steps))
            if not recorded_steps:
                return
            if len(recorded_steps) < steps:
                raise UsageError(
                    f"the saved run {record} holds {len(recorded_steps)} of {steps} steps",
                    why="each step is one iteration of the saved run",
                    hint=f"--steps {len(recorded_steps)}",
                )
            run = self._resolved.backend(candidate).make_run()
            with ExitStack() as stack:
                stack.callback(run.deactivate)
                run.activate()
                reference = _Recorded(record, recorded_steps)
                chosen = _Rollout(self._feedback, run, reference, self._functions, self._on_stage).go(source_feeds)
            yield chosen, recorded_steps[chosen.index][1]


class _Recorded:
    """A saved run of a sequence, in the place of a backend that takes its steps.

    Args:
        label: Label of the run in reports.
        steps: Recorded inputs of each step, as far as they are known, and its outputs.
    """

    outputs_stay_valid = True

    def __init__(self, label: str, steps: Sequence[tuple[Feed, Tensors]]) -> None:
        self.label = label
        self._steps = steps
        self._position = 0

    def fed(self, feed: Feed) -> Feed:
        """Return the inputs of the next step: those of the record where it holds them, else the given ones."""
        return {**feed, **{name: array for name, array in self._steps[self._position][0].items() if name in feed}}

    def infer(self, feed: Feed) -> Tensors:
        """Return the outputs of the next step."""
        del feed
        self._position += 1
        return self._steps[self._position - 1][1]


@dataclass
class _Best:
    """The step with the largest error so far."""

    step: int = 0
    feed: Feed = field(default_factory=dict)
    error: float = -1.0


class _Rollout:
    """One sequence of steps: the candidate on the reference's state and on its own, up to the first step that is wrong.

    Args:
        feedback: Makes the next inputs from outputs.
        candidate: The backend to judge, active.
        reference: The backend to believe, active; or what was recorded of it.
        functions: Compare functions of an output, by name.
        on_stage: Told in words what happens next.
    """

    def __init__(
        self,
        feedback: Feedback,
        candidate: BackendRun,
        reference: BackendRun | _Recorded,
        functions: Functions,
        on_stage: Stage,
    ) -> None:
        self.feedback, self.functions, self.on_stage = feedback, functions, on_stage
        self.candidate, self.reference = candidate, reference

    def go(self, source_feeds: Sequence[Feed]) -> Chosen:
        """Take the steps and return the one to look inside.

        Args:
            source_feeds: Inputs from the source, step by step; the first holds the initial state, too.
        """
        feed = drifted_feed = source_feeds[0]
        best, parted = _Best(), None
        for step in range(self.feedback.steps):
            self.on_stage(f"step {step + 1} of {self.feedback.steps}")
            failure = f"step {step} of {self.feedback.steps} failed, so the search is there"
            if isinstance(self.reference, _Recorded):
                recorded = self.reference.fed(feed)
                feed, drifted_feed = recorded, recorded if drifted_feed is feed else drifted_feed
            expected, actual = _infer(self.reference, feed), _infer(self.candidate, feed)
            if expected is None or actual is None:
                return Chosen(feed, step, failure)
            failed, error = self._compare(actual, expected)
            if failed:
                return Chosen(feed, step, self._itself(step, failed))
            if error >= best.error:
                best = _Best(step, feed, error)
            drifted = actual if drifted_feed is feed else _infer(self.candidate, drifted_feed)
            if drifted is None:
                return Chosen(drifted_feed, step, failure)
            if parted is None and self._compare(drifted, expected)[0]:
                parted = step
            if step + 1 < self.feedback.steps:
                drifted_feed = self.feedback.then(step, drifted_feed, drifted, expected, source_feeds[step + 1])
                feed = self.feedback.then(step, feed, expected, expected, source_feeds[step + 1])
        return self._all_right(best, feed, parted)

    def _compare(self, actual: Tensors, expected: Tensors) -> tuple[list[str], float]:
        if isinstance(self.reference, _Recorded):  # may hold tensors from inside, and not every output
            expected = {name: array for name, array in expected.items() if name in actual}
            actual = {name: actual[name] for name in expected}
        comparisons = PairComparer(self.candidate.label, self.reference.label, self.functions).add(actual, expected)
        shares = [item.stats.share for item in comparisons if item.stats is not None and item.stats.share is not None]
        return [item.output for item in comparisons if not item.passed], max(shares, default=math.nan)

    def _itself(self, step: int, failed: Sequence[str]) -> str:
        before = {0: "", 1: "; step 0 agrees"}.get(step, f"; steps 0 to {step - 1} agree")
        return (
            f"step {step} itself: {self.candidate.label} differs there although it is fed with the reference's state, "
            f"in {listed(failed, 3)}{before}"
        )

    def _all_right(self, best: _Best, last: Feed, parted: int | None) -> Chosen:
        steps = self.feedback.steps
        if parted is None:
            return Chosen(last, steps - 1, f"all {steps} steps agree on both states; the search is in the last one")
        return Chosen(
            best.feed,
            best.step,
            f"the accumulated state: on its own state {self.candidate.label} parts in step {parted}, while each step "
            f"fed with the reference's state agrees; the search is in step {best.step}, whose own error is the largest",
            parted,
        )


def _infer(run: BackendRun | _Recorded, feed: Feed) -> Tensors | None:
    """Return outputs that outlive the next call; None if the backend failed."""
    outputs = run.infer(feed)
    if outputs is None or run.outputs_stay_valid:
        return outputs
    return copy_feed(outputs)

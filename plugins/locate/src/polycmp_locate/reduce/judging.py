"""Judges of parts of a model with two backends, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from polycmp.errors import ModelError, UsageError
from polycmp.layerwise import PartitionedRun, open_partitioned_runs, same_operators
from polycmp.plan import ComparePlan, Plan
from polycmp.results import BackendResult
from polycmp.runs import (
    Resolved,
    Schedule,
    choose_reference,
    comparer_maker,
    copy_feed,
    copy_outputs,
    open_tolerances,
    run_steps,
)
from polycmp.session import judge_outputs
from polycmp.tensors import Feed, Outputs
from polycmp_locate.reduce.narrowed import for_outputs
from polycmp_locate.reduce.parts import ModelPart, ReferenceTensors
from polycmp_locate.reduce.search import State
from polycmp_locate.whole_outputs import why_failed


@dataclass
class FailingModel:
    """Failure of the whole model.

    Attributes:
        candidate: The backend that does it.
        reference: The backend to believe.
        feed: The first inputs on which it does.
        iteration: Number of the iteration of the inputs, from 0.
        error: Error of the candidate; empty if its outputs differ.
        outputs: The outputs that differ, with the reason.
    """

    candidate: PartitionedRun
    reference: PartitionedRun
    feed: Feed
    iteration: int
    error: str
    outputs: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """Description in one sentence."""
        if self.error:
            return f"{self.candidate.label} fails on the whole model: {self.error}"
        name, reason = next(iter(self.outputs.items()))
        more = f", and {len(self.outputs) - 1} more" if len(self.outputs) > 1 else ""
        return f"{self.candidate.label} differs from {self.reference.label} in {name!r}{more}: {reason}"


class WholeModelRuns:
    """Runs the whole model on all backends and inputs.

    Args:
        resolved: The backends.
        plan: The plan, for its options of comparing.
        on_stage: Told what happens next.

    Attributes:
        results: Results of the backends.
        iterations: Number of inputs.
        unanswered: Reason why it is not known whether the model fails, by the verdict: blind, or undecided.
    """

    def __init__(self, resolved: Resolved, plan: Plan, on_stage: Callable[[str], None] = lambda _: None) -> None:
        self.results: list[BackendResult] = []
        self.iterations = 0
        self.unanswered: dict[str, str] = {}
        self._resolved, self._plan, self._on_stage = resolved, plan, on_stage

    def find(self) -> FailingModel | None:
        """Return the first failure; None if there is none, or the reference failed (see `results`).

        Raises:
            UsageError: There are not two backends, or `--reference` names none of them, or several.
            ModelError: The backends' models have different operators.
        """
        partitioned_runs = open_partitioned_runs(self._resolved)
        if len(partitioned_runs) < 2:
            raise UsageError(
                "two backends are needed: one to judge, and one to believe", hint="-b CANDIDATE -b REFERENCE"
            )
        label = choose_reference(self._plan.compare.reference, [run.result for run in partitioned_runs])
        (reference,) = (run for run in partitioned_runs if run.label == label)
        candidates = [run for run in partitioned_runs if run is not reference]
        for partitioned_run in candidates:
            _check_structure(partitioned_run, reference)
        runs = {backend.label: backend.make_run() for backend in self._resolved.backends}
        self.results = [run.result for run in runs.values()]
        schedule = Schedule(self._plan.sequential, 0, self._on_stage)
        for step in run_steps(list(runs.values()), self._resolved.source, schedule):
            self.iterations += 1
            expected = step.outputs.get(reference.label)
            if expected is None:
                return None
            for partitioned_run in candidates:
                outputs = step.outputs.get(partitioned_run.label)
                error, failures = "", dict[str, str]()
                if outputs is None:
                    error = runs[partitioned_run.label].result.error
                else:
                    failures = self._failures(partitioned_run.label, reference.label, step.feed, outputs, expected)
                if outputs is None or failures:
                    return FailingModel(partitioned_run, reference, copy_feed(step.feed), step.index, error, failures)
        return None

    def _failures(self, label: str, reference: str, feed: Feed, outputs: Outputs, expected: Outputs) -> dict[str, str]:
        """Return the outputs that fail, as `polycmp run` judges them, with the reasons."""
        feeds = [(feed, copy_outputs(outputs), copy_outputs(expected))]
        outcome = judge_outputs(self._resolved, label, reference, feeds)
        if outcome.verdict in {"blind", "undecided"}:
            self.unanswered.setdefault(outcome.verdict, why_failed(outcome))
        if outcome.verdict != "failed":
            return {}
        invalid = {item.output: "it holds NaN or infinity" for item in outcome.invalid}
        return invalid | {
            item.output: item.reason
            for pair in outcome.comparisons
            for item in pair.outputs.values()
            if item.verdict == "failed"
        }


def _check_structure(one: PartitionedRun, two: PartitionedRun) -> None:
    if not same_operators(one.graph, two.graph):
        raise ModelError(
            f"the models of {one.label} and {two.label} have different operators",
            why="a part of one has no counterpart in the other",
            hint="give both backends the same model",
        )


def needs_outputs(compare: ComparePlan) -> bool:
    """Return whether only the outputs of the whole model can be judged: postprocessing reads them."""
    return bool(compare.postprocess or compare.postprocess_script)


class BackendJudge:
    """Judges a part on a candidate, fed with the reference's tensors, as `polycmp run` judges outputs.

    Args:
        failure: Failure of the whole model; a part has to do the same: differ, or fail to run.
        resolved: The run.

    Attributes:
        tensors: The reference's tensors.
    """

    def __init__(self, failure: FailingModel, resolved: Resolved) -> None:
        self.failure = failure
        self._resolved = resolved
        self._compare = resolved.plan.compare
        self._registry = resolved.registry
        self._tolerances = open_tolerances(resolved, failure.reference.label)
        self.tensors: ReferenceTensors = ReferenceTensors(failure.reference, failure.feed)

    def __call__(self, part: ModelPart) -> State:
        """Run the part on both backends and compare."""
        tensors = self.tensors(part.inputs)
        if tensors is None:
            return "unknown"
        expected = self.failure.reference.run_part(tensors, part.outputs)
        if expected is None:
            return "unknown"
        outputs = self.failure.candidate.run_part(tensors, part.outputs)
        if outputs is None:
            return "fails" if self.failure.error else "unknown"
        if self.failure.error:
            return "passes"
        return "passes" if self._agree(outputs, expected) else "fails"

    def expected(self, part: ModelPart) -> dict[str, Any]:
        """Return the reference's outputs of a part that was judged."""
        tensors = self.tensors(part.inputs) or {}
        return self.failure.reference.run_part(tensors, part.outputs) or {}

    def comparison(self, outputs: tuple[str, ...]) -> ComparePlan:
        """Return the options of comparing for the outputs of a part: those for other outputs do not apply."""
        return replace(for_outputs(self._compare, outputs), reference="", map_output={})

    def _agree(self, outputs: Outputs, expected: Outputs) -> bool:
        plan = self.comparison(tuple(expected))
        if needs_outputs(plan):
            resolved = replace(self._resolved, plan=replace(self._resolved.plan, compare=plan))
            feeds = [(self.failure.feed, copy_outputs(outputs), copy_outputs(expected))]
            labels = self.failure.candidate.label, self.failure.reference.label
            return judge_outputs(resolved, *labels, feeds).verdict != "failed"
        if self._tolerances is not None:
            self._tolerances.begin(self.failure.feed, tuple(expected))
        make = comparer_maker(plan, self._registry, tolerances=self._tolerances)
        comparer = make(self.failure.candidate.label, self.failure.reference.label)
        return all(item.verdict != "failed" for item in comparer.add(outputs, expected))

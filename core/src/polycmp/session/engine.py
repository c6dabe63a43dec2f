"""One run from plan to outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.compare.blindness import without_elements
from polycmp.compare.verdicts import OutputComparison, PairComparison, merge_windows
from polycmp.plan import BackendPlan, ComparePlan, Plan
from polycmp.precision import UNITS
from polycmp.records import dataclass
from polycmp.results.outcome import Outcome, describe_environment
from polycmp.results.runs import IterationResult
from polycmp.runs.compare_functions import Recorders, open_lookers, open_watchers, relaxed_tolerances
from polycmp.runs.comparers import Comparer, MakeComparer, choose_reference, comparer_maker
from polycmp.runs.feedback import Following, open_feedback
from polycmp.runs.loop import Pace, Step, run_steps
from polycmp.runs.output_pairs import suggest_output_names
from polycmp.runs.resolve import Resolved, resolve
from polycmp.runs.saved_run import SavedBackendRun, next_outputs, open_saved
from polycmp.runs.services import (
    FollowUps,
    Postprocessing,
    Rounding,
    open_follow_ups,
    open_postprocessing,
    open_rounding,
)
from polycmp.session.check_names import check_output_names
from polycmp.session.next_steps import out_of_blindness
from polycmp.session.outputs import StepWriters
from polycmp.session.prepare import Memory, Prepared, needs_all_outputs, prepare
from polycmp.tensors import TensorMetadata

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Outputs = dict[str, Mapping[str, Any]]


def run_plan(plan: Plan, registry: Registry, on_stage: Callable[[str], None] = lambda _: None) -> Outcome:
    """Carry a plan out.

    Args:
        plan: What to do.
        registry: The plugins to do it with.
        on_stage: Told in words what happens next.

    Returns:
        What was found; a backend that failed is part of it.

    Raises:
        PolycmpError: Nothing could be run: wrong names, no model, no data, an unreadable file.
    """
    start = time.perf_counter()
    notes = _same_twice(plan.backends, plan.files.load_outputs)
    memory = Memory(plan.max_memory, needs_all_outputs(plan))
    resolved = resolve(plan, registry)
    follow_ups = open_follow_ups(plan, resolved)
    feedback = open_feedback(Following.of(plan), resolved)
    prepared = prepare(plan.data, plan.compare, resolved, feedback, memory)
    saved = open_saved(plan.files.load_outputs, (run.label for run in prepared.runs), registry)
    results = [*(run.result for run in prepared.runs), *(run.result for run in saved)]
    reference = choose_reference(plan.compare.reference, results)
    recorders = Recorders(plan.report_options, plan.compare, registry)
    if prepared.feedback is not None:
        recorders.join(" and ".join(plan.data.followers), prepared.feedback)
    notes += [*relaxed_tolerances(plan.data.loader.name, plan.compare, registry), *prepared.notes]
    lookers = open_lookers(plan.files.reports, registry)
    watchers = [*open_watchers(plan.report_options, registry), *lookers.values()]
    postprocessing = open_postprocessing(plan.compare, registry)
    rounding = open_rounding(resolved, reference, plan.compare.tolerance)
    make_comparer = comparer_maker(plan.compare, registry, rounding, watching=True)
    tools = _Tools(make_comparer, recorders, rounding, follow_ups, postprocessing)
    outcome = Outcome(reference, results, expected=len(results) > 1, command=plan.command, notes=notes)
    final = _outputs_of(resolved) if prepared.windows is not None else None
    session = _Session(plan.compare, prepared, saved, tools, outcome, final)
    with ExitStack() as stack:
        writers = stack.enter_context(StepWriters(plan.files, plan.compare, watchers))
        together = all(backend.runs_beside_others for backend in resolved.backends)
        pace = Pace(plan.sequential, plan.warm_up, on_stage, ahead=not plan.compare.fail_fast, together=together)
        pace = replace(pace, iterations=plan.data.iterations)
        steps = session.steps(pace)
        stack.callback(steps.close)
        stack.callback(session.close)
        for step in steps:
            if not session.take(step, writers):
                break
    outcome.looks = {name: looker.looks for name, looker in lookers.items()}
    outcome.notes += [f"inputs: {note}" for note in (*prepared.pairing.notes, *prepared.source.notes)]
    outcome.notes += writers.lacking(run.label for run in prepared.runs)
    outcome.seconds = time.perf_counter() - start
    outcome = session.finish()
    outcome.next_steps += out_of_blindness(plan, outcome, registry)
    return outcome


def _same_twice(backends: Sequence[BackendPlan], loaded: Sequence[str]) -> list[str]:
    """Return notes on runs that are the same thing, so that their agreement proves nothing."""
    files = [Path(path).resolve() for path in loaded]
    notes = [
        f"{path} is loaded more than once: that its runs agree with themselves shows nothing"
        for path, resolved in zip(loaded, files, strict=True)
        if files.count(resolved) > 1
    ]
    if notes:
        return notes[:1]
    kinds = {(item.backend, repr(item.options), item.model, item.python) for item in backends}
    if len(backends) < 2 or len(kinds) > 1 or loaded:
        return []
    return ["all runs have the same backend, options and model: that they agree shows only that it repeats itself"]


def _outputs_of(resolved: Resolved) -> frozenset[str]:
    """Return the names of the outputs of all models, as far as these can be described."""
    return frozenset(name for item in resolved.descriptions.values() if item is not None for name in item.outputs)


@dataclass(frozen=True)
class _Tools:
    """What a session works with.

    Attributes:
        make_comparer: Makes the comparer of two labels.
        recorders: What reports keep of the run.
        rounding: What knows of rounding.
        follow_ups: What knows what to type next.
        postprocessing: What changes outputs before they are compared.
    """

    make_comparer: MakeComparer
    recorders: Recorders
    rounding: Rounding | None
    follow_ups: FollowUps | None
    postprocessing: Postprocessing | None


class _Session:
    """The state of one run: who takes part, who is compared with whom, what was found."""

    def __init__(
        self,
        compare: ComparePlan,
        prepared: Prepared,
        saved: Sequence[SavedBackendRun],
        tools: _Tools,
        outcome: Outcome,
        final: Collection[str] | None,
    ) -> None:
        self._compare_plan = compare
        self._prepared = prepared
        self._saved = saved
        self._tools = tools
        self._comparers: dict[str, dict[int, Comparer]] = {}
        self._names_checked = prepared.names_checked
        self._final = final
        self.outcome = outcome

    def close(self) -> None:
        """Deactivate what was run to measure rounding."""
        if self._tools.rounding is not None:
            self._tools.rounding.close()

    def steps(self, pace: Pace) -> Generator[Step, None, None]:
        """Yield steps with the outputs of live and saved runs; saved runs may outlast live ones."""
        index = -1
        if self._prepared.runs:
            windows, source = self._prepared.windows, self._prepared.source
            pairing = self._prepared.pairing
            live = windows.steps(source, pace) if windows else run_steps(self._prepared.runs, source, pace, pairing)
            try:
                for step in live:
                    index = step.index
                    saved = next_outputs(self._saved)
                    yield replace(step, outputs={**step.outputs, **saved}) if saved else step
            finally:
                live.close()
        while True:
            outputs = next_outputs(self._saved)
            if not outputs:
                return
            index += 1
            yield Step(index, {}, outputs)

    def take(self, step: Step, writers: StepWriters) -> bool:
        """Save, check and compare one step; return whether to go on."""
        self.outcome.inputs = TensorMetadata.from_feed_dict(step.feed) if step.feed else self.outcome.inputs
        if self._prepared.feedback is not None:
            self._prepared.feedback.made(step.outputs)
        self._check_names(step)
        if not step.window:
            writers.save(step, [run.label for run in self._prepared.runs])
        if self._tools.rounding is not None:
            self._tools.rounding.begin(step.feed)
        invalid = writers.validate(step.index, step.outputs)
        outputs = self._postprocessed(step)
        self.outcome.invalid += invalid
        compared = self._compare(outputs, writers, step)
        if self._tools.follow_ups is not None:
            self._tools.follow_ups.take(step.index, step.feed, self.outcome.backends, invalid, compared)
        same = all(item.verdict != "failed" for found in compared.values() for item in found)
        return (same and not invalid) or not self._compare_plan.fail_fast

    def finish(self) -> Outcome:
        """Finalize comparisons and return the outcome."""
        counts = {result.label: result.iterations for result in self.outcome.backends}
        reference = self.outcome.reference
        self.outcome.comparisons = [
            merge_windows(comparer.result(counts[label], counts[reference]) for comparer in windows.values())
            for label, windows in self._comparers.items()
        ]
        accepted = self._compare_plan.allow_blind
        self.outcome.comparisons = [without_elements(pair, accepted) for pair in self.outcome.comparisons]
        self.outcome.comparisons = [self._explained(pair) for pair in self.outcome.comparisons]
        self._suggest_shapes()
        self.outcome.notes += self._about_precision()
        self.outcome.environment = describe_environment()
        self._tools.recorders.finish(self.outcome)
        if self._tools.follow_ups is not None:
            self._tools.follow_ups.finish(self.outcome)
        return self.outcome

    def _postprocessed(self, step: Step) -> Mapping[str, IterationResult]:
        """Return the outputs as they are to be compared, with who made them in what time, as user functions want it.

        Raises:
            DataError: A post-processing function cannot work on them.
        """
        made: dict[str, IterationResult] = {}
        for label, outputs in step.outputs.items():
            seconds = step.seconds.get(label, getattr(outputs, "runtime", None))
            made[label] = IterationResult(outputs, seconds, label)
        return made if self._tools.postprocessing is None else self._tools.postprocessing.change(made)

    def _explained(self, pair: PairComparison) -> PairComparison:
        """Return a comparison that says of outputs that differ whether rounding may be why."""
        if self._tools.rounding is None or self._compare_plan.tolerance or pair.verdict != "failed":
            return pair
        outputs = dict(pair.outputs)
        for name, item in pair.outputs.items():
            stats = item.stats
            failed = item.verdict == "failed"
            if failed and stats is not None and stats.share and not stats.whole and not stats.nan_failed:
                why = self._tools.rounding.explanation(pair.candidate, pair.reference, stats.share)
                outputs[name] = replace(item, reason=f"{item.reason}; {why}")
        return replace(pair, outputs=outputs)

    def _suggest_shapes(self) -> None:
        """Say with which shapes the model runs, if it could not run at all with those asked for."""
        stuck = [result for result in self.outcome.failed_backends if result.version and not result.iterations]
        if stuck and len(stuck) == len(self._prepared.runs):
            for result in stuck:
                result.hint = result.hint or self._prepared.source.suggestion()

    def _about_precision(self) -> Iterator[str]:
        """Yield what to know of differences between backends that may calculate in a coarser type than the model's."""
        differing = [pair for pair in self.outcome.comparisons if pair.verdict == "failed" and pair.outputs]
        concerned = dict.fromkeys(label for pair in differing for label in (pair.candidate, pair.reference))
        for result in self.outcome.backends:
            if result.label in concerned and result.precision:
                unit = f"{UNITS[result.precision]:.1g}"
                yield (
                    f"{result.label} may calculate in {result.precision}, which rounds by up to {unit} relative to the "
                    "largest values: polycmp locate tells whether there is more to the difference"
                )

    def _check_names(self, step: Step) -> None:
        if not self._names_checked and step.outputs:
            self._names_checked = True
            check_output_names(
                self._compare_plan, dict.fromkeys(name for made in step.outputs.values() for name in made)
            )

    def _compare(
        self, outputs: Mapping[str, IterationResult], writers: StepWriters, step: Step
    ) -> dict[str, list[OutputComparison]]:
        """Return what was found of the outputs of each run that is compared with the reference."""
        reference = self._fallback_reference(outputs)
        if reference not in outputs:
            return {}
        compared: dict[str, list[OutputComparison]] = {}
        for label, made in outputs.items():
            if label == reference:
                continue
            mine, expected = self._shown(made, reference), self._shown(outputs[reference], label)
            if not mine and not expected and made:
                continue  # one of the two shows nothing of this part of the model
            if self._tools.postprocessing is not None:
                raw = step.outputs[label], step.outputs[reference]
                mine, expected = self._tools.postprocessing.unhidden((made, outputs[reference]), raw)
            if not step.window and label not in self._comparers:
                names = suggest_output_names(mine, expected, self._compare_plan.map_output)
                self.outcome.output_names.update({label: names} if names else {})
            found = self._comparer(label, reference, step.window).add(mine, expected)
            self._tools.recorders.add(step.index, label, reference, found)
            writers.show(step.index, label, reference, mine, expected)
            compared[label] = found
        return compared

    def _shown(self, outputs: Mapping[str, Any], other: str) -> Mapping[str, Any]:
        """Return those of a run's outputs that another run can show, too."""
        windows = self._prepared.windows
        names = windows.visible(other) if windows is not None else None
        return outputs if names is None else {name: array for name, array in outputs.items() if name in names}

    def _fallback_reference(self, outputs: Iterable[str]) -> str:
        """Return the reference, or where it failed before it ran, the last run that did not."""
        results = {result.label: result for result in self.outcome.backends}
        reference = self.outcome.reference
        if not reference or reference in outputs or not results[reference].error:
            return reference
        if results[reference].iterations or self._comparers:
            return reference
        alive = [label for label, result in results.items() if not result.error]
        if len(alive) > 1:
            self.outcome.notes.append(f"the reference {reference} failed, so the others are compared with {alive[-1]}")
            self.outcome.reference = alive[-1]
        return self.outcome.reference

    def _comparer(self, label: str, reference: str, window: int) -> Comparer:
        windows = self._comparers.setdefault(label, {})
        if window not in windows:
            judge = self._prepared.windows.judge if self._prepared.windows is not None else None
            made = self._tools.make_comparer(label, reference, final=self._final)
            windows[window] = made if judge is None else judge(made)
        return windows[window]

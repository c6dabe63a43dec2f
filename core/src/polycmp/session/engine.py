"""One run from plan to outcome, and the judgement of outputs that are there already."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp import sentences
from polycmp.compare.blindness import blind_pair, without_elements
from polycmp.compare.verdicts import OutputComparison, PairComparison, merge_windows
from polycmp.errors import PolycmpError
from polycmp.plan import BackendPlan, Plan
from polycmp.precision import unit_of
from polycmp.results.outcome import BackendResult, Invalid, Outcome, describe_environment
from polycmp.results.runs import IterationResult
from polycmp.runs.compare_functions import relaxed_tolerances
from polycmp.runs.comparers import Comparer, comparer_maker
from polycmp.runs.feedback import FeedbackContext, FeedbackObserver, open_feedback
from polycmp.runs.loop import Schedule, Step, run_steps
from polycmp.runs.observers import Observers, RunStep
from polycmp.runs.output_pairs import suggest_output_names
from polycmp.runs.pairing import InputPairing
from polycmp.runs.reference import choose_reference
from polycmp.runs.resolution import Resolved, resolve
from polycmp.runs.saved_run import SavedBackendRun, next_outputs, open_saved
from polycmp.runs.tolerances import is_measured, open_tolerances
from polycmp.session.invented import invented_numbers, without_invented_nan
from polycmp.session.names import check_output_names
from polycmp.session.next_steps import out_of_blindness
from polycmp.session.prepare import MemoryLimit, Prepared, may_need_pairs, needs_all_outputs, prepare
from polycmp.session.sensitivity import Sensitivity
from polycmp.tensors import Feed, Outputs, TensorMetadata

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.session.plain_outputs import PlainOutputs


def run_plan(
    plan: Plan,
    registry: Registry,
    on_stage: Callable[[str], None] = lambda _: None,
    on_interrupt: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Carry out a plan.

    Args:
        plan: The plan to carry out.
        registry: The plugins to do it with.
        on_stage: Told in words what happens next.
        on_interrupt: Told in words what the iterations showed that were finished before Ctrl-C.

    Returns:
        The outcome; a backend that failed is part of it.

    Raises:
        PolycmpError: Nothing could be run: wrong names, no model, no data, an unreadable file.
    """
    start = time.perf_counter()
    resolved = resolve(plan, registry)
    with Observers.of(resolved) as observers:
        session = _open_session(plan, resolved, observers)
        observers.start(session.outcome)
        with closing(session), closing(session.steps(_schedule(plan, resolved, on_stage))) as steps:
            try:
                for step in steps:
                    if not session.take(step):
                        break
            except KeyboardInterrupt:
                on_interrupt(session.so_far())
                raise
        outcome = session.judged()
        outcome.seconds = time.perf_counter() - start
        observers.finish(outcome)
    outcome.next_steps += out_of_blindness(plan, outcome, registry)
    return outcome


def judge_outputs(
    resolved: Resolved, candidate: str, reference: str, cases: Iterable[tuple[Feed, Outputs, Outputs]]
) -> Outcome:
    """Judge outputs that two runs have made, by all that a plan says of judging them.

    That are compare functions and scripts, postprocessing, tolerances, means, validity, and whether anything could have
    differed: as `run_plan` judges what it runs.

    Args:
        resolved: The run.
        candidate: Label of the run to judge.
        reference: Label of the run to believe.
        cases: Inputs, the candidate's outputs and the reference's.

    Raises:
        PolycmpError: The outputs cannot be compared, or an observer cannot change them.
    """
    runs = [
        BackendResult(label=label, backend=resolved.backend(label).plan.backend) for label in (candidate, reference)
    ]
    outcome = Outcome(reference=reference, backends=runs, expected=True, command=resolved.plan.command)
    names = InputPairing(command=resolved.plan.command)
    with Observers.changing(resolved) as observers:
        prepared = Prepared([], resolved.source, names_checked=True, pairing=names)
        with closing(_Session(resolved, prepared, (), observers, outcome)) as session:
            observers.start(outcome)
            for index, (feed, outputs, expected) in enumerate(cases):
                for run in runs:
                    run.iterations += 1
                if not session.take(Step(index, feed, {candidate: outputs, reference: expected})):
                    break
            outcome = session.judged()
        observers.finish(outcome)
    if outcome.errors:
        raise outcome.errors[0]
    return outcome


def _open_session(plan: Plan, resolved: Resolved, observers: Observers) -> _Session:
    """Return the session of a plan, with no backend active yet.

    Raises:
        PolycmpError: As of `run_plan`.
    """
    feedback = open_feedback(FeedbackContext.of(plan), resolved)
    if feedback is not None:
        observers.join(FeedbackObserver(feedback), " and ".join(plan.data.followers))
    memory = MemoryLimit(plan.max_memory, needs_all_outputs(plan) or observers.whole_steps)
    prepared = prepare(plan.data, plan.compare, resolved, feedback, memory)
    saved = open_saved(plan.files.load_outputs, (run.label for run in prepared.runs), resolved.registry)
    results = [*(run.result for run in prepared.runs), *(run.result for run in saved)]
    outcome = Outcome(
        reference=choose_reference(plan.compare.reference, results),
        backends=results,
        expected=len(results) > 1,
        command=plan.command,
        notes=[
            *_same_twice(plan.backends, plan.files.load_outputs),
            *relaxed_tolerances(resolved.data_loader, plan.compare, resolved.registry),
            *prepared.notes,
        ],
    )
    return _Session(resolved, prepared, saved, observers, outcome)


def _schedule(plan: Plan, resolved: Resolved, on_stage: Callable[[str], None]) -> Schedule:
    """Choose how the backends take turns."""
    return Schedule(
        plan.sequential,
        plan.warm_up,
        on_stage,
        ahead=not plan.compare.fail_fast,
        together=all(backend.runs_beside_others for backend in resolved.backends),
        iterations=plan.data.iterations,
    )


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
    kinds = {(item.backend, repr(item.options), item.model, item.elsewhere) for item in backends}
    if len(backends) < 2 or len(kinds) > 1 or loaded:
        return []
    return ["all runs have the same backend, options and model: that they agree shows only that it repeats itself"]


def _final_outputs(resolved: Resolved) -> tuple[frozenset[str], bool]:
    """Return the names of the models' own outputs, and whether options make tensors inside outputs, too."""
    final, compared = set[str](), set[str]()
    for path, described in resolved.descriptions.items():
        if described is not None:
            file = resolved.models[path].describe_file()
            compared.update(described.outputs)
            # chosen outputs (--onnx-outputs) take the place of the file's own, where these are not among them
            has_own = file is not None and set(file.outputs) <= set(described.outputs)
            final.update(file.outputs if file is not None and has_own else described.outputs)
    return frozenset(final), final < compared


class _Session:
    """The state of one run: who takes part, who is compared with whom, what was found."""

    def __init__(
        self,
        resolved: Resolved,
        prepared: Prepared,
        saved: Sequence[SavedBackendRun],
        observers: Observers,
        outcome: Outcome,
    ) -> None:
        # In windows the tensors of both sides have one name.
        plan = replace(resolved.plan.compare, map_output=resolved.map_output if prepared.windows is None else {})
        self._compare_plan = plan
        self._resolved = resolved
        self._prepared = prepared
        self._saved = saved
        self._observers = observers
        self._to_reference = prepared.windows.to_reference if prepared.windows is not None else plan.map_output
        names = replace(resolved.plan.compare, map_output=self._to_reference)
        under_names = replace(resolved, plan=replace(resolved.plan, compare=names))
        self._tolerances = open_tolerances(under_names, outcome.reference)
        if prepared.windows is not None and self._tolerances is not None and is_measured(plan):
            self._tolerances = prepared.windows.rounding(self._tolerances)
        self._make_comparer = comparer_maker(
            plan, resolved.registry, resolved.functions, self._tolerances, watching=True
        )
        self._comparers: dict[str, dict[int, Comparer]] = {}
        self._differs = False
        self._invented: Mapping[str, float] = {}
        data, windows = resolved.plan.data, prepared.windows is not None
        drawn = data.iterations > 1 and not data.files and not data.script
        several = drawn or (prepared.feedback is not None and prepared.feedback.steps > 1)
        final, is_marked = _final_outputs(resolved)
        self._final = final if windows or is_marked else None
        self._sensitivity = Sensitivity(
            resolved, self._to_reference, final=self._final, several=several, in_windows=windows
        )
        self._plain: PlainOutputs | None = None
        if is_marked:
            from polycmp.session.plain_outputs import PlainOutputs

            self._plain = PlainOutputs(resolved, outcome.reference, final, self._to_reference)
        self._names_checked = prepared.names_checked
        self.outcome = outcome

    def close(self) -> None:
        """Deactivate what was run to find tolerances."""
        if self._tolerances is not None:
            self._tolerances.close()
        if self._plain is not None:
            self._plain.close()

    def steps(self, schedule: Schedule) -> Generator[Step, None, None]:
        """Yield steps with the outputs of live and saved runs; saved runs may outlast live ones."""
        index = -1
        if self._prepared.runs:
            ready = self._prepared
            if ready.windows:
                live = ready.windows.steps(ready.source, schedule)
            else:
                live = run_steps(ready.runs, ready.source, schedule, ready.pairing)
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

    def take(self, step: Step) -> bool:
        """Compare one step and show it to the observers; return whether to go on.

        Raises:
            PolycmpError: The outputs cannot be compared, or an observer cannot change them.
        """
        self.outcome.inputs = TensorMetadata.from_feed_dict(step.feed) if step.feed else self.outcome.inputs
        self._check_names(step)
        reference = self._fallback_reference(step.outputs)
        step = step if self._plain is None else self._plain.take_place(step, reference)
        self._invented = self._invented or invented_numbers(step.feed, self._resolved.plan.data)
        try:
            changed = self._observers.transform(self._observed(step, reference if reference in step.outputs else ""))
        except PolycmpError as error:
            if not self._differs:
                raise
            self._observers.errors.append(error)  # it shall not hide the difference that was found before
            return False
        if self._tolerances is not None:
            shown = None if self._prepared.windows is None else list(step.outputs.get(reference, ()))
            self._tolerances.begin(step.feed, shown)
        compared = self._compare(changed)
        self.outcome.invalid += compared.invalid
        same = all(item.verdict != "failed" for comparisons in compared.compared.values() for item in comparisons)
        self._differs = self._differs or not same or bool(compared.invalid)
        self._observers.on_step(self._marked(step, compared))
        return not self._differs or not self._compare_plan.fail_fast

    def _marked(self, step: Step, compared: RunStep) -> RunStep:
        """Look which outputs move, and return a step in which those that do not are marked: they may be saved."""
        saving = bool(self._resolved.plan.files.save_outputs)
        if not saving and (self._differs or not self._comparers):
            return compared
        marked: dict[str, IterationResult] = {}
        for label, names in self._sensitivity.look(step, settle=saving).items():
            if label in compared.made and (not self._differs or label == self._sensitivity.label):
                marked[label] = IterationResult(compared.made[label])
                marked[label].insensitive = tuple(names)
        return replace(compared, made={**compared.made, **marked})

    def judged(self) -> Outcome:
        """Return the outcome with the verdicts over all iterations."""
        counts = {result.label: result.iterations for result in self.outcome.backends}
        reference = self.outcome.reference
        self.outcome.comparisons = [
            merge_windows(comparer.result(counts[label], counts[reference]) for comparer in windows.values())
            for label, windows in self._comparers.items()
        ]
        accepted = self._compare_plan.allow_blind
        self.outcome.comparisons = [without_elements(pair, accepted) for pair in self.outcome.comparisons]
        if any(pair.passed for pair in self.outcome.comparisons):
            names = {
                name: self._to_reference.get(name, name) for pair in self.outcome.comparisons for name in pair.outputs
            }
            unmoved = self._sensitivity.explain(names.values())
            why = {name: unmoved[other] for name, other in names.items() if other in unmoved}
            self.outcome.comparisons = [blind_pair(pair, why, accepted) for pair in self.outcome.comparisons]
        self.outcome.comparisons = [self._with_lacking(pair) for pair in self.outcome.comparisons]
        self.outcome.comparisons = [without_invented_nan(pair, self._invented) for pair in self.outcome.comparisons]
        self._suggest_shapes()
        notes = (*self._prepared.pairing.notes, *self._prepared.source.notes)
        self.outcome.notes += [f"inputs: {note}" for note in notes]
        backends = {backend.label: backend for backend in self._resolved.backends}
        for result in self.outcome.backends:  # a worker may have told it only when its runner was active
            if result.label in backends:
                result.precision = backends[result.label].precision
        self.outcome.notes += self._about_precision()
        self.outcome.environment = describe_environment()
        return self.outcome

    def so_far(self) -> str:
        """Return in words what the iterations showed that were compared as a whole; empty where none was."""
        whole = [windows[0] for windows in self._comparers.values() if list(windows) == [0]]
        pairs = [pair for pair in (comparer.result() for comparer in whole) if pair.iterations]
        if not pairs:
            return ""
        iterations = sentences.finished(max(pair.iterations for pair in pairs), self._resolved.plan.data.iterations)
        outputs = [item for pair in pairs for item in pair.outputs.values()]
        failed = [item for item in outputs if item.verdict == "failed"]
        if failed:
            shown = f"{sentences.outputs_differ(len(failed), len(outputs))}, {failed[0].output!r}: {failed[0].reason}"
        else:
            left = [item for item in outputs if not item.passed]
            shown = sentences.outputs_passed(len(outputs) - len(left), [])
        return f"{iterations}: {shown}"

    def _with_lacking(self, pair: PairComparison) -> PairComparison:
        """Return a verdict that also says which outputs one of two files lacks, where options make others outputs."""
        backends = {backend.label: backend for backend in self._resolved.backends}
        if pair.candidate not in backends or pair.reference not in backends or not pair.outputs:
            return pair
        sides = [backends[label] for label in (pair.candidate, pair.reference)]
        if not may_need_pairs(sides):
            return pair
        from polycmp.runs.lacking import with_lacking_outputs

        return with_lacking_outputs(pair, sides[0].model, sides[1].model, self._to_reference)

    def _observed(self, step: Step, reference: str) -> RunStep:
        """Return a step as observers see it, with nothing changed and nothing compared yet."""
        results: dict[str, IterationResult] = {}
        for label, outputs in step.outputs.items():
            seconds = step.seconds.get(label, getattr(outputs, "runtime", None))
            results[label] = IterationResult(outputs, seconds, label)
        names = self._compare_plan.map_output
        return RunStep(
            step.index, step.window, step.feed, step.outputs, results, step.seconds, reference, output_names=names
        )

    def _suggest_shapes(self) -> None:
        """Add the shapes with which the model runs as a hint, if it could not run at all with those asked for."""
        stuck = [result for result in self.outcome.failed_backends if result.version and not result.iterations]
        if stuck and len(stuck) == len(self._prepared.runs):
            for result in stuck:
                result.hint = result.hint or self._prepared.source.suggestion()

    def _about_precision(self) -> Iterator[str]:
        """Yield notes on backends that may compute in a coarser type than the model's."""
        differing = [pair for pair in self.outcome.comparisons if pair.verdict == "failed" and pair.outputs]
        concerned = dict.fromkeys(label for pair in differing for label in (pair.candidate, pair.reference))
        for result in self.outcome.backends:
            if result.label in concerned and result.precision:
                unit = f"{unit_of(result.precision):.1g}"
                yield (
                    f"{result.label} may round to {result.precision}, by up to {unit} relative to the "
                    "largest values: polycmp locate tells whether there is more to the difference"
                )

    def _check_names(self, step: Step) -> None:
        if not self._names_checked and step.outputs:
            self._names_checked = True
            check_output_names(
                self._compare_plan, dict.fromkeys(name for outputs in step.outputs.values() for name in outputs)
            )

    def _compare(self, step: RunStep) -> RunStep:
        """Return a step with what was found of the outputs of each run that is compared with the reference."""
        reference, names = step.reference, self._compare_plan.map_output
        compared: dict[str, list[OutputComparison]] = {}
        sides: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        for label, outputs in step.outputs.items() if reference else ():
            if label == reference:
                continue
            both = self._observers.sides(step, label)
            candidate, expected = self._shown(both[0], reference), self._shown(both[1], label)
            if not candidate and not expected and outputs:
                continue  # one of the two shows nothing of this part of the model
            if not step.window and label not in self._comparers:
                guessed = suggest_output_names(candidate, expected, names)
                self.outcome.output_names.update({label: guessed} if guessed else {})
            compared[label] = self._comparer(label, reference, step.window).add(candidate, expected)
            sides[label] = candidate, expected
        invalid = self._invalid(step) if self._compare_plan.validate else []
        return replace(step, compared=compared, sides=sides, invalid=invalid)

    def _invalid(self, step: RunStep) -> list[Invalid]:
        """Return the outputs that hold NaN or infinity as the runs made them: a change may hide what is not finite."""
        from polycmp.compare.validity import find_invalid

        return [
            Invalid(label, item.output, step.index, item.nan, item.inf, item.first)
            for label, outputs in step.made.items()
            for item in find_invalid(outputs)
        ]

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
            comparer_wrapper = self._prepared.windows.comparer_wrapper if self._prepared.windows is not None else None
            comparer = self._make_comparer(label, reference, final=self._final)
            windows[window] = comparer if comparer_wrapper is None else comparer_wrapper(comparer)
        return windows[window]

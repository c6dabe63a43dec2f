"""Stages that are models: both sides run on the reference's data, then the new side on its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polycmp.compare import PairComparison
from polycmp.errors import BackendError, UsageError, did_you_mean
from polycmp.results.files import InputsWriter
from polycmp.runs import BackendRun, InputPairing, Resolved, choose_reference, copy_outputs, resolve
from polycmp.sentences import counted
from polycmp.session import judge_outputs
from polycmp.tensors import TensorMetadata, same_bits, to_numpy
from polycmp_pipeline.file import Stage
from polycmp_pipeline.findings import StageResults, ValueVerdict, Verdict
from polycmp_pipeline.values import Array, Values, array_of, is_list

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Feed = dict[str, Array]
#: Feeds of the items of one sample, and whether these are items of lists: else there is one feed.
Feeds = tuple[list[Feed], bool]


@dataclass(frozen=True)
class ModelCall:
    """One call of the model on the reference's data.

    Attributes:
        place: Sample and item in words.
        feed: The inputs.
        candidate: The new side's outputs.
        reference: The reference's.
    """

    place: str
    feed: Mapping[str, Array]
    candidate: Mapping[str, Array]
    reference: Mapping[str, Array]


class ModelStage:
    """A stage that is a model.

    Args:
        stage: The stage.
        registry: The plugins.
        samples: Names of the samples.
        on_stage: Told in words what happens next.

    Raises:
        PolycmpError: A model, a backend or a file is missing.
    """

    def __init__(
        self, stage: Stage, registry: Registry, samples: Sequence[str], on_stage: Callable[[str], None]
    ) -> None:
        self._stage, self._registry, self._samples, self._on_stage = stage, registry, samples, on_stage
        self._resolved: Resolved = resolve(stage.plan, registry)
        labels = [backend.label for backend in self._resolved.backends]
        self._reference = choose_reference(stage.plan.compare.reference, stage.plan.backends)
        (self._candidate,) = (label for label in labels if label != self._reference)
        self._calls: list[ModelCall] = []

    def run(self, reference: Sequence[Values], candidate: Sequence[Values | None], save_to: str = "") -> StageResults:
        """Run both sides.

        Args:
            reference: The reference's values of each sample.
            candidate: The new side's values; None for samples that it did not reach.
            save_to: Folder for the reference's inputs; empty to save nothing.

        Raises:
            BackendError: The reference's backend fails.
            UsageError: The model reads a value that nobody makes.
        """
        runs = {backend.label: backend.make_run() for backend in self._resolved.backends}
        new, old = runs[self._candidate], runs[self._reference]
        with ExitStack() as stack:
            for run in (old, new):
                stack.callback(run.deactivate)
                self._on_stage(f"{self._stage.name}: activating {run.label}")
                run.activate()
            self._refuse_failed(old)
            pairing = InputPairing.of(self._resolved, self._reference)
            inputs = pairing.join([new, old])
            assert inputs is not None
            results = self._run_both(new, old, inputs, reference, candidate, save_to)
        notes = [f"{run.label}: {note}" for run in (new, old) for note in run.result.notes]
        return replace(results, notes=(*pairing.notes, *notes))

    def _run_both(
        self, new: BackendRun, old: BackendRun, inputs: TensorMetadata, reference: Sequence[Values],
        candidate: Sequence[Values | None], save_to: str,
    ) -> StageResults:  # fmt: skip
        self._on_stage(f"{self._stage.name}: running {old.label}")
        sample_feeds = [self._whole_feeds(values, inputs) for values in reference]
        fed, expected = [], []
        for feeds, _ in sample_feeds:
            chain = list(self._chain(old, feeds))
            self._refuse_failed(old)
            fed.append([feed for feed, _ in chain])
            expected.append([outputs for _, outputs in chain])
        if save_to:
            self._save(fed, save_to)
        names = self._names([outputs for some in expected for outputs in some])
        reference_values = [
            self._values(outputs, names, are_lists=are_lists)
            for outputs, (_, are_lists) in zip(expected, sample_feeds, strict=True)
        ]
        self._on_stage(f"{self._stage.name}: running {new.label}")
        equal = self._on_equal(new, fed, expected)
        failure, hint = new.result.error, new.result.hint
        if equal is None:
            return StageResults(reference_values, None, [None] * len(candidate), failure, "", hint)
        candidate_values = [
            self._values(outputs, names, are_lists=are_lists)
            for outputs, (_, are_lists) in zip(equal, sample_feeds, strict=True)
        ]
        free = list(self._free(new, inputs, candidate, sample_feeds, candidate_values, names))
        free_failure = new.result.error or self._free_failure(candidate, free)
        return StageResults(reference_values, candidate_values, free, free_failure=free_failure)

    def _free_failure(self, candidate: Sequence[Values | None], free: Sequence[Values | None]) -> str:
        lost = any(values is not None and result is None for values, result in zip(candidate, free, strict=True))
        return "its inputs are no lists of one length" if lost else ""

    def _on_equal(
        self, run: BackendRun, fed: Sequence[Sequence[Feed]], expected: Sequence[Sequence[Mapping[str, Array]]]
    ) -> list[list[dict[str, Array]]] | None:
        """Return the new side's outputs for the reference's inputs; None where it fails."""
        all_outputs: list[list[dict[str, Array]]] = []
        for sample, feeds, references in zip(self._samples, fed, expected, strict=True):
            all_outputs.append([])
            for number, (feed, theirs) in enumerate(zip(feeds, references, strict=True)):
                outputs = run.infer(feed) if run.is_active else None
                if outputs is None:
                    return None
                copied = _arrays(outputs)
                all_outputs[-1].append(self._by_reference(copied))
                item = f"item {number} of " if len(feeds) > 1 else ""
                self._calls.append(ModelCall(f"{item}sample {sample}", feed, copied, theirs))
        return all_outputs

    def _free(
        self, run: BackendRun, inputs: TensorMetadata, candidate: Sequence[Values | None],
        sample_feeds: Sequence[Feeds], equal: Sequence[Values], names: Sequence[str],
    ) -> Iterator[Values | None]:  # fmt: skip
        for values, (reference_feeds, _), known in zip(candidate, sample_feeds, equal, strict=True):
            if values is None:
                yield None
                continue
            feeds = self._feeds(values, inputs)
            if feeds is None:
                yield None
            elif not self._stage.feedback and _same_feeds(feeds[0], reference_feeds):
                yield known
            else:
                outputs = [self._by_reference(item) for _, item in self._chain(run, feeds[0])]
                is_whole = len(outputs) == len(feeds[0])
                yield self._values(outputs, names, are_lists=feeds[1]) if is_whole else None

    def _chain(self, run: BackendRun, feeds: Sequence[Feed]) -> Iterator[tuple[Feed, dict[str, Array]]]:
        """Yield the feed and the outputs of each item, up to one that the run fails on."""
        state: Feed = {}
        for feed in feeds:
            whole_feed = {**feed, **state}
            outputs = run.infer(whole_feed) if run.is_active else None
            if outputs is None:
                return
            copied = _arrays(outputs)
            renamed = self._by_reference(copied) if run.label == self._candidate else copied
            for name, output in self._stage.feedback.items():
                if output not in renamed:
                    raise UsageError(
                        f"feedback: there is no output {output!r}", whose=f"stage {self._stage.name!r}",
                        why=did_you_mean(output, renamed),
                    )  # fmt: skip
                state[name] = renamed[output]
            yield whole_feed, copied

    def _by_reference(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return the new side's outputs by the names that the reference has for them."""
        names = self._resolved.map_output
        return {names.get(name, name): array for name, array in outputs.items()}

    def _whole_feeds(self, values: Values, inputs: TensorMetadata) -> Feeds:
        """Return the feeds of the items of a sample.

        Raises:
            UsageError: A value is missing, or lists do not fit together.
        """
        feeds = self._feeds(values, inputs)
        if feeds is None:
            raise UsageError(
                "its inputs are lists of different lengths, or lists of lists", whose=f"stage {self._stage.name!r}",
                hint="make them of one length in a function before it",
            )  # fmt: skip
        return feeds

    def _feeds(self, values: Values, inputs: TensorMetadata) -> Feeds | None:
        """Return the feeds of the items of a sample; None where lists do not fit together.

        Raises:
            UsageError: A value is missing.
        """
        reads = cast("Mapping[str, str]", self._stage.reads)
        whose = f"stage {self._stage.name!r}"
        for name in (*reads, *self._stage.feedback):
            if name not in inputs:
                raise UsageError(f"the model has no input {name!r}", whose=whose, why=did_you_mean(name, inputs))
        value_names = {name: reads.get(name, name) for name in inputs}
        for name, value in value_names.items():
            if value not in values:
                raise UsageError(
                    f"nothing before it makes {value!r}, which the model reads", whose=whose,
                    why=did_you_mean(value, values), hint=f'inputs = {{ "{name}" = "VALUE" }}',
                )  # fmt: skip
        bound = {name: values[value] for name, value in value_names.items()}
        lists = {name: value for name, value in bound.items() if is_list(value)}
        if not lists:
            return [{name: array_of(value) for name, value in bound.items()}], False
        lengths = {name: len(value) for name, value in lists.items()}
        if len(set(lengths.values())) > 1 or any(is_list(item) for value in lists.values() for item in value):
            return None
        number = next(iter(lengths.values()))
        return [
            {name: array_of(value[place] if name in lists else value) for name, value in bound.items()}
            for place in range(number)
        ], True

    def _names(self, outputs: Sequence[Mapping[str, Array]]) -> tuple[str, ...]:
        """Return the names of the reference's outputs, even if there was no item to run."""
        if outputs:
            names = tuple(outputs[0])
        else:
            file = self._resolved.backend(self._reference).model.describe_file()
            names = tuple(file.outputs) if file is not None else tuple(self._stage.makes)
        unknown = next((name for name in self._stage.makes if name not in names), "")
        if unknown:
            raise UsageError(
                f"the model has no output {unknown!r}", whose=f"stage {self._stage.name!r}",
                why=did_you_mean(unknown, names),
            )  # fmt: skip
        return names

    def _values(self, outputs: Sequence[Mapping[str, Array]], names: Sequence[str], *, are_lists: bool) -> Values:
        makes = cast("Mapping[str, str]", self._stage.makes)
        values: Values = {}
        for name in names:
            items = [item[name] for item in outputs if name in item]
            if are_lists or items:
                values[makes.get(name, name)] = items if are_lists else items[0]
        return values

    def _save(self, fed: Sequence[Sequence[Feed]], folder: str) -> None:
        Path(folder).parent.mkdir(parents=True, exist_ok=True)
        with InputsWriter(folder, self._registry) as writer:
            for feed in (feed for feeds in fed for feed in feeds):
                writer.add(feed)

    def _refuse_failed(self, run: BackendRun) -> None:
        if run.result.error:
            raise BackendError(
                f"the reference {run.label} failed", whose=f"stage {self._stage.name!r}", why=run.result.error,
                hint=run.result.hint,
            )  # fmt: skip

    def judge(self, inputs: str = "") -> tuple[Verdict, str, tuple[ValueVerdict, ...], tuple[str, ...]]:
        """Judge the new side's outputs for the reference's data as `polycmp run` does.

        Args:
            inputs: Folder of the inputs.

        Returns:
            The verdict, a reason of the whole, the verdicts on the values, and remarks.
        """
        if not self._calls:
            return "skipped", "there was nothing to run it on", (), ()
        self._on_stage(f"{self._stage.name}: judging")
        plan = self._resolved.plan
        # What is said of a difference depends on whether the inputs are the user's own, and these are.
        plan_with_inputs = replace(plan, data=replace(plan.data, files=(inputs or self._stage.name,)))
        outcome = judge_outputs(
            replace(self._resolved, plan=plan_with_inputs), self._candidate, self._reference,
            [(case.feed, case.candidate, case.reference) for case in self._calls],
        )  # fmt: skip
        (pair,) = outcome.comparisons
        notes = tuple(note for note in outcome.notes if not note.startswith("inputs: "))
        return cast("Verdict", pair.verdict), pair.reason, tuple(self._verdicts(pair)), notes

    def _verdicts(self, pair: PairComparison) -> Iterator[ValueVerdict]:
        makes = cast("Mapping[str, str]", self._stage.makes)
        for item in pair.outputs.values():
            name = makes.get(item.reference_output or item.output, item.output)
            share = item.stats.share if item.stats is not None else 0.0 if item.passed else None
            calls = len(self._calls)
            if item.verdict == "passed":
                yield ValueVerdict(name, "passed", share=share, items=calls)
                continue
            count = f"{item.failed_iterations} of {counted(calls, 'call')}" if calls > 1 else ""
            place = f" of {self._calls[item.worst_iteration].place}" if calls > 1 else ""
            reason = f"{name}{place}: {item.reason}" + (f" ({count})" if count else "")
            size = "" if share is None or not math.isfinite(share) else f" by {100 * share:.2g} % of its range"
            brief = f"{name} is off{size}" + (f" ({count})" if count else "")
            yield ValueVerdict(
                name, cast("Verdict", item.verdict), reason, brief, share, calls, item.failed_iterations
            )  # fmt: skip


def _arrays(outputs: Mapping[str, Any]) -> dict[str, Array]:
    return {name: to_numpy(array) for name, array in copy_outputs(outputs).items()}


def _same_feeds(one: Sequence[Feed], two: Sequence[Feed]) -> bool:
    return len(one) == len(two) and all(
        feed.keys() == other_feed.keys() and all(same_bits(feed[name], other_feed[name]) for name in feed)
        for feed, other_feed in zip(one, two, strict=True)
    )  # fmt: skip

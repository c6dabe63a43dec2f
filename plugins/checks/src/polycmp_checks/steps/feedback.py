"""Feedback of outputs into the inputs of a session's next step, and the findings on all steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError
from polycmp.runs import BackendRun, FeedbackContext, copy_feed, labels_called, open_feeds
from polycmp.tensors import DataSource, Feed, FeedPerRun, Source, TensorMetadata
from polycmp_checks.steps.findings import StepFindings
from polycmp_checks.steps.rules import InputRules, Moment, make_rules, top_token
from polycmp_checks.steps.shared import Handle, Shared
from polycmp_checks.steps.start import Start, growing_axes, open_sizes, shaped_by_user, sized_state
from polycmp_checks.steps.wiring import check_declared, check_outputs, listed, usual_patterns, wire

if TYPE_CHECKING:
    from polycmp.compare import OutputComparison
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, ResolvedBackend
    from polycmp_checks.plugin import StepsOptions

#: Suffix of a backend's label for the run that is fed with the reference's state.
OTHERS_STATE = " on the reference's state"


def make_steps(options: StepsOptions, following: FeedbackContext, resolved: Resolved) -> StepFeedback:
    """Create the feedback of outputs into inputs.

    Raises:
        UsageError: Options contradict each other or the models.
    """
    if following.sequential:
        raise UsageError(
            "--sequential-runners and --steps exclude each other",
            why="with the reference's state, backends have to go step by step together",
            hint="leave out --sequential-runners",
        )
    return StepFeedback(options, following, resolved)


class StepFeedback:
    """Feeds the outputs of each step back; see `polycmp.runs.feedback.Feedback`.

    Args:
        options: The rules by which outputs become inputs.
        following: The run.
        resolved: The backends and models of the plan.

    Attributes:
        steps: Number of steps of a sequence.
        state: By input the output that goes into it.
        findings: Verdicts and top tokens so far.

    Raises:
        UsageError: The options do not fit the models.
    """

    def __init__(self, options: StepsOptions, following: FeedbackContext, resolved: Resolved) -> None:
        self.steps = options.number
        self._options, self._following, self._resolved = options, following, resolved
        self._outputs = self._declared("outputs")
        self.state: dict[str, str] = {}
        self.start: Start | None = None
        self._outputs_by_run: dict[str, Mapping[str, Any]] = {}
        self._candidates: list[str] = []
        self._reference = ""
        self.findings = StepFindings(self.steps, OTHERS_STATE)
        self._check_options()

    @property
    def rules(self) -> InputRules:
        """The rules for all other inputs; known once the sequences have begun."""
        assert self.start is not None
        return self.start.rules

    # --- who takes part

    def join(self, runs: Sequence[BackendRun]) -> list[BackendRun]:
        """Return the runs, each candidate a second time: on the reference's state."""
        self._reference = self._reference_of(runs)
        joined: list[BackendRun] = []
        for run, backend in zip(runs, self._resolved.backends, strict=True):
            if run.label == self._reference or len(runs) + len(self._following.saved) < 2:
                joined.append(run)
                continue
            self._candidates.append(run.label)
            joined += _twice(run, backend)
        return joined

    def _reference_of(self, runs: Sequence[BackendRun]) -> str:
        """Return the reference's label if it is a live run; a saved run is known after its first outputs."""
        reference, labels = self._following.reference, [run.label for run in runs]
        if not reference:
            return "" if self._following.saved or not labels else labels[-1]
        labels = labels_called(reference, [run.result for run in runs])
        return labels[0] if len(labels) == 1 else ""

    # --- what they are fed

    def source(self, source: DataSource) -> DataSource:
        """Return a source of the feeds of all steps."""
        return _StepSource(self, source)

    def starts(self, source: Source, inputs: TensorMetadata) -> Iterator[Sequence[Feed]]:
        """Yield the sequences.

        Where a rule makes tokens, each feed of the source begins one; else its feeds are the steps of one sequence.
        """
        start = self._begin(inputs, getattr(source, "synthetic", False))
        feeds = open_feeds(source, start.sized(inputs))
        if start.rules.tokens:
            for feed in feeds:
                first = start.first(feed, self.state)
                yield [first] * self.steps
            return
        copies = [copy_feed(feed) for feed in islice(feeds, self.steps)]
        if copies:
            sequence = list(islice(cycle(copies), self.steps))
            yield [start.first(sequence[0], self.state), *sequence[1:]]

    def then(
        self, step: int, feed: Feed, outputs: Mapping[str, Any], reference: Mapping[str, Any], next_inputs: Feed
    ) -> Feed:
        """Return the next feed of a run."""
        assert self.start is not None
        check_outputs(self.state, self.start.inputs, outputs)
        moment = Moment(step, feed, outputs, reference)
        carried = {name: outputs[output] for name, output in self.state.items()}
        return {**feed, **next_inputs, **carried, **self.start.rules.next(moment)}

    def _begin(self, inputs: TensorMetadata, free: bool) -> Start:
        known = TensorMetadata({**self._declared("inputs"), **{n: inputs[n] for n in inputs}})
        outputs = self._outputs
        self.state = wire(self._patterns(inputs), list(outputs), list(inputs)) if outputs else {}
        growing = growing_axes(self.state, known, outputs)
        user_shaped = shaped_by_user(growing, known, self._following.data)
        known = sized_state(growing, known, self._following.data)
        self.start = Start(known, growing, user_shaped, self._rules(list(inputs)), free)
        return self.start

    def _rules(self, inputs: Sequence[str]) -> InputRules:
        return make_rules(self._options.feed, inputs, list(self._outputs), self.state)

    def _check_options(self) -> None:
        """Check the options against the models' files before anything runs."""
        inputs, outputs = self._declared("inputs"), self._outputs
        if not self._patterns(inputs):
            raise UsageError(
                "--steps and --feed need --state: which outputs go into which inputs",
                why=f"the outputs are {listed(outputs)}; the inputs are {listed(inputs)}" if outputs else "",
                hint="--state 'OUTPUT=INPUT', a regular expression",
            )
        if self.steps < 1:
            raise UsageError("--state needs --steps: the number of times that outputs are fed back", hint="--steps 8")
        if outputs and inputs:
            state = wire(self._patterns(inputs), list(outputs), list(inputs))
            check_declared(state, inputs, outputs)
            make_rules(self._options.feed, list(inputs), list(outputs), state)

    def _patterns(self, inputs: Iterable[str]) -> tuple[str, ...]:
        """Return the patterns of `--state`, or those of decoders' usual names."""
        return self._options.state or usual_patterns(list(self._outputs), list(inputs))

    def _declared(self, side: str) -> TensorMetadata:
        """Read the metadata of the inputs or outputs from the models' files."""
        entries: dict[str, Any] = {}
        for description in self._resolved.descriptions.values():
            if description is not None:
                for name, entry in getattr(description, side).items():
                    entries.setdefault(name, entry)
        return TensorMetadata(entries)

    # --- the feeds of a session

    def feeds(self, source: DataSource, inputs: TensorMetadata) -> Iterator[Feed]:
        """Yield the feeds of all sequences; between two of them the session calls `made` with the outputs."""
        for number, sequence_feeds in enumerate(self.starts(source, inputs)):
            shared, feed_by_run = sequence_feeds[0], dict.fromkeys(self._candidates, sequence_feeds[0])
            for step in range(self.steps):
                self.findings.begin(number, step)
                yield FeedPerRun(shared, dict(feed_by_run))
                if step + 1 == self.steps:
                    break
                reference = self._reference_outputs()
                if reference is None:
                    return
                following = sequence_feeds[step + 1]
                feed_by_run = {
                    label: self.then(step, feed, self._outputs_by_run[label], reference, following)
                    for label, feed in feed_by_run.items()
                    if label in self._outputs_by_run
                }
                shared = self.then(step, shared, reference, reference, following)

    def made(self, outputs: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep the outputs that the next inputs are made of, and record the top tokens."""
        if not self._outputs and outputs and self.start is not None:
            self._outputs = TensorMetadata.from_feed_dict(next(iter(outputs.values())))
            self._begin(self.start.inputs, self.start.free)
        others = {label + OTHERS_STATE for label in self._candidates}
        carried = self._carried_outputs()
        self._outputs_by_run = {
            label: copy_feed({name: array for name, array in arrays.items() if name in carried})
            for label, arrays in outputs.items()
            if label not in others
        }
        ranked = self.start.rules.ranked if self.start is not None else ()
        for label, arrays in outputs.items():
            for name in ranked:
                if name in arrays:
                    self.findings.add_tokens(label, name, top_token(arrays[name])[:, 0].tolist())

    def _carried_outputs(self) -> set[str]:
        """Return the outputs that the next inputs may be made of."""
        assert self.start is not None
        if self.start.rules.scripted:
            return set(self._outputs)
        return {*self.state.values(), *self.start.rules.ranked}

    def _reference_outputs(self) -> Mapping[str, Any] | None:
        """Return the outputs of the reference, or of the only run where nothing is compared."""
        for label in (self._reference, self._following.reference):
            if label in self._outputs_by_run:
                return self._outputs_by_run[label]
        rest = [label for label in self._outputs_by_run if label not in self._candidates]
        return self._outputs_by_run[rest[-1]] if rest else None

    # --- what was found

    def add(self, iteration: int, candidate: str, reference: str, comparisons: Iterable[OutputComparison]) -> None:
        """Record the verdicts on a step."""
        self.findings.add(candidate, reference, comparisons)

    def finish(self, outcome: Outcome) -> None:
        """Report the step at which the runs part, and whether the step or the state is the cause."""
        assert self.start is not None or not outcome.inputs
        outcome.notes[:0] = self.findings.sentences()
        outcome.blocks += self.findings.tables()
        outcome.extra["steps"] = self.findings.to_json()

    @property
    def notes(self) -> list[str]:
        """Notes on choices that the user did not make."""
        if self.start is None:
            return []
        empty = self.start.empty
        rules = [f"{name} by {self.start.rules.names[name]}" for name in self.start.rules.assumed]
        notes = [f"{listed(empty)}: empty in the first step"] if empty else []
        if not self._options.state and self.state:
            (pattern,) = self._patterns(self.start.inputs)
            notes.append(f"outputs go back as decoders call them: --state '{pattern}'")
        if not self.start.free and (open_ones := open_sizes(self.start.growing, self.start.inputs)):
            sizes = " ".join(f"{name}=N" for name in open_ones)
            notes.append(f"the size of {listed(open_ones)} is not known and was taken to be 1: --input-shapes {sizes}")
        if rules:
            notes.append(f"from step to step {', '.join(rules)}, which decoders want; --feed INPUT=RULE says otherwise")
        return notes


class _StepSource(DataSource):
    def __init__(self, steps: StepFeedback, inner: DataSource) -> None:
        self._steps, self._inner = steps, inner
        self.synthetic = inner.synthetic

    @property
    def notes(self) -> Sequence[str]:
        """Notes of the inner source, except on inputs that got other values since, and on choices made here."""
        start = self._steps.start
        changed = {*start.rules.assumed, *start.empty} if start is not None and start.free else set()
        tokens = {start.rules.tokens} if start is not None else set()
        inner = [note for note in self._inner.notes if note.split(":")[0] not in changed - tokens]
        return [*inner, *self._steps.notes]

    def suggestion(self) -> str:
        return self._inner.suggestion()

    def __call__(self, inputs: TensorMetadata) -> Iterator[Feed]:
        return self._steps.feeds(self._inner, inputs)


def _twice(run: BackendRun, backend: ResolvedBackend) -> list[BackendRun]:
    """Return a run on its own state and one on the reference's, with one runner between them."""
    shared = Shared(backend.make_runner)
    results = [run.result, replace(run.result, label=run.label + OTHERS_STATE, notes=[])]
    return [
        BackendRun(result, lambda label=result.label: Handle(shared, label), backend.needs)  # type: ignore[misc]
        for result in results
    ]

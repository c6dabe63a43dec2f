"""View of a run that observers get, and the isolation of their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import OthersCode, PluginError, PolycmpError
from polycmp.results.outcome import Invalid, Outcome
from polycmp.results.runs import IterationResult
from polycmp.spec import Compared, RunObserver
from polycmp.tensors import Feed, Outputs

if TYPE_CHECKING:
    from typing_extensions import Self

    from polycmp.plan import Plan
    from polycmp.plugins import Contributed, Registry
    from polycmp.runs.resolution import Resolved
    from polycmp.spec import ObserverSpec


@dataclass(frozen=True)
class RunStep:
    """One iteration, or one window of it, as observers see it; its arrays are valid until the next step.

    Attributes:
        index: The iteration, counted from 0.
        window: Number of the part of the model that the outputs come from, where they come part by part.
        feed: The inputs.
        made: The outputs by label of the run, as the runs made them; a run that failed is absent.
        outputs: The outputs as they are compared: those in `made`, but for what observers have changed.
        seconds: Duration of the iteration in seconds, by the run's label; with windows, only the last one has it.
        reference: The label of the run that the others are compared with; empty if nothing is compared.
        invalid: The outputs that hold NaN or infinity, where that is looked for; known when they were compared.
        compared: The verdict on each output by label of the candidate; empty until they were compared.
        sides: The outputs of candidate and reference that were compared, by label of the candidate.
        output_names: The reference's names of outputs that the candidates name differently.
    """

    index: int
    window: int
    feed: Feed
    made: Mapping[str, Outputs]
    outputs: Mapping[str, IterationResult]
    seconds: Mapping[str, float] = field(default_factory=dict)
    reference: str = ""
    invalid: Sequence[Invalid] = ()
    compared: Mapping[str, Sequence[OutputComparison]] = field(default_factory=dict)
    sides: Mapping[str, tuple[Outputs, Outputs]] = field(default_factory=dict)
    output_names: Mapping[str, str] = field(default_factory=dict)

    def pairs(self) -> Iterator[Compared]:
        """Yield each two arrays that were compared."""
        for candidate, (output, expected) in self.sides.items():
            for name, array in output.items():
                other = self.output_names.get(name, name)
                if other in expected:
                    yield Compared(self.index, candidate, self.reference, name, array, expected[other])


class ActiveObserver(NamedTuple):
    """An observer that takes part.

    Attributes:
        observer: The observer.
        label: Name of the plugin or feature, for messages.
        check: The command that looks into it when it fails.
    """

    observer: RunObserver
    label: str
    check: str = ""

    def fence(self, what: str) -> OthersCode:
        """Return a block in which the failures of the observer become an error that names it."""
        return OthersCode(PluginError, what, whose=self.label, hint=self.check)


class Observers:
    """The observers of one run. Their errors are isolated: an exception in one becomes an error that names it.

    As a context manager they are closed at the end of the block.

    Args:
        observing: The observers in the order in which they are asked.

    Attributes:
        errors: Errors of observers that did not stop the run.
    """

    def __init__(self, observing: Iterable[ActiveObserver] = ()) -> None:
        self._observing = list(observing)
        self._failed: list[ActiveObserver] = []
        self.errors: list[PolycmpError] = []

    @classmethod
    def of(cls, resolved: Resolved) -> Observers:
        """Return the observers that have something to do in a run: first those that change something.

        Raises:
            PluginError: One that is asked for is not there, is broken, or is no observer.
            UsageError: The plan's options for one cannot be right.
        """
        contributions = sorted(resolved.registry.observers.values(), key=lambda item: not item.spec.changes)
        return cls._made(contributions, resolved)

    @classmethod
    def changing(cls, resolved: Resolved) -> Observers:
        """Return the observers that decide on what is compared, and how; errors as of `of`."""
        return cls._made([item for item in resolved.registry.observers.values() if item.spec.changes], resolved)

    @classmethod
    def _made(cls, contributions: Iterable[Contributed[ObserverSpec]], resolved: Resolved) -> Observers:
        for name, option in _asked_for(resolved.plan):
            _check_present(name, option, resolved.registry)
        observers = (_make(item, resolved) for item in contributions)
        return cls(item for item in observers if item is not None)

    @classmethod
    def of_search(cls, resolved: Resolved) -> Observers:
        """Return the observers that have something to do where a command searches inside models; errors as of `of`."""
        observers = (_make(item, resolved) for item in resolved.registry.observers.values() if item.spec.searches)
        return cls(item for item in observers if item is not None)

    @classmethod
    def with_options(cls, resolved: Resolved) -> Observers:
        """Return the observers that the plan holds options for, and no others; errors as of `of`."""
        asked = resolved.plan.observer_options
        observers = (_make(item, resolved) for item in resolved.registry.observers.values() if item.name in asked)
        return cls(item for item in observers if item is not None)

    def __bool__(self) -> bool:
        """Whether any observer takes part."""
        return bool(self._observing)

    def join(self, observer: RunObserver, label: str) -> None:
        """Let another observer take part, whose errors name `label`."""
        self._observing.append(ActiveObserver(observer, label))

    @property
    def whole_steps(self) -> str:
        """The reason why all outputs of an iteration are needed at once; empty if they may come in parts."""
        return next((item.observer.whole_steps for item in self._observing if item.observer.whole_steps), "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for item in (*self._observing, *self._failed):
            self._attempt(item, "cannot close", item.observer.close)

    def start(self, outcome: Outcome) -> None:
        """Begin.

        Raises:
            PolycmpError: An observer cannot begin.
        """
        for item in self._observing:
            with item.fence("cannot observe this run"):
                item.observer.start(outcome)

    def transform(self, step: RunStep) -> RunStep:
        """Return a step with the outputs as they are to be compared.

        Raises:
            PolycmpError: An observer cannot change them.
        """
        for item in self._observing:
            with item.fence("cannot change the outputs"):
                changed = item.observer.transform(step)
                if changed is not None:
                    results = {label: _result(outputs, step.outputs[label]) for label, outputs in changed.items()}
                    step = replace(step, outputs={**step.outputs, **results})
        return step

    def sides(self, step: RunStep, candidate: str) -> tuple[IterationResult, IterationResult]:
        """Return the outputs of a candidate and of the reference as they are to be compared with each other.

        Raises:
            PolycmpError: An observer cannot say which are compared as they were made.
        """
        outputs, expected = step.outputs[candidate], step.outputs[step.reference]
        names: set[str] = set()
        for item in self._observing:
            with item.fence("cannot change the outputs"):
                names.update(item.observer.as_made(step, candidate))
        if names:
            outputs, expected = _result(outputs, outputs), _result(expected, expected)
        for name in names:
            other = step.output_names.get(name, name)
            outputs[name], expected[other] = step.made[candidate][name], step.made[step.reference][other]
        return outputs, expected

    def on_step(self, step: RunStep) -> None:
        """Show a step that was compared; an observer that fails takes part no longer."""
        for item in list(self._observing):
            self._attempt(item, f"cannot observe iteration {step.index}", partial(item.observer.on_step, step))

    def on_pair(self, pair: Compared) -> None:
        """Show two arrays that a search compared, as a step of its own."""
        sides = {pair.candidate: ({pair.output: pair.made}, {pair.output: pair.expected})}
        self.on_step(RunStep(pair.iteration, 0, {}, {}, {}, reference=pair.reference, sides=sides))

    def finish(self, outcome: Outcome) -> None:
        """Pass the outcome to all observers; their failures are among its notes and errors."""
        for item in list(self._observing):
            self._attempt(item, "cannot finish", partial(item.observer.finish, outcome))
        outcome.notes += [error.parts()[0] for error in self.errors]
        outcome.errors = self.errors

    def _attempt(self, item: ActiveObserver, what: str, call: Callable[[], None]) -> None:
        """Call an observer; after an error, which is kept, the run goes on without it."""
        try:
            with item.fence(what):
                call()
        except PolycmpError as error:
            self.errors.append(error)
            if item in self._observing:
                self._observing.remove(item)
                self._failed.append(item)


def _asked_for(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the observers without which options of the core do nothing, each with the option."""
    if plan.compare.check_average:
        yield "averages", "--check-average"
    if plan.compare.postprocess or plan.compare.postprocess_script:
        yield "postprocessing", "--postprocess" if plan.compare.postprocess else "--postprocess-func-script"


def _check_present(name: str, option: str, registry: Registry) -> None:
    """Check that an observer is there that an option asks for; the error names the option."""
    try:
        registry.find_observer(name)
    except PolycmpError as error:
        error.whose = error.whose or option
        raise


def _make(item: Contributed[ObserverSpec], resolved: Resolved) -> ActiveObserver | None:
    """Return an observer of a plugin; None where it has nothing to do."""
    options = resolved.plan.observer_options.get(item.name)
    if item.spec.options is not None and options is None:
        return None
    factory = resolved.registry.load(item)
    check = f"polycmp plugins check {item.plugin}"
    with OthersCode(PluginError, "cannot observe this run", whose=item.label, hint=check):
        observer = factory(resolved) if options is None else factory(resolved, options)
    if observer is None:
        return None
    if not isinstance(observer, RunObserver):
        why = f"its factory gave {type(observer).__name__}, which is not derived from polycmp.spec.RunObserver"
        raise PluginError("cannot observe this run", whose=item.label, why=why, hint=check)
    return ActiveObserver(observer, item.label, check)


def _result(outputs: Outputs, of: IterationResult) -> IterationResult:
    return IterationResult(outputs, of.runtime, of.runner_name)

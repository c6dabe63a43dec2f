"""Comparing runs, one iteration at a time, so that streams of results are held for one iteration only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from polycmp.builtin.api.accuracy import AccuracyResult, AccuracyResults
from polycmp.builtin.formats.run_results import RunResults
from polycmp.builtin.observers.averages import AveragingComparer, MetricsJudge, metrics_judge, no_mean
from polycmp.compare import (
    OutputComparison,
    OutputJudge,
    PairComparer,
    PairFunction,
    PairImpostors,
    as_pair_function,
    blind,
    impostors_judge,
    without_elements,
)
from polycmp.errors import ComparisonError, DataError, InvalidValueError, did_you_mean
from polycmp.options import unique_label
from polycmp.plugins import Registry
from polycmp.results import IterationResult
from polycmp.spec import CompareFuncTools


@dataclass(frozen=True)
class Pairs:
    """Selection of the pairs of runs to compare.

    Attributes:
        positions: Pairs of positions, candidate first; None for every run with the reference.
        reference: A label; empty for the last run.
    """

    positions: Sequence[tuple[int, int]] | None = None
    reference: str = ""

    def of(self, labels: Sequence[str]) -> list[tuple[str, str]]:
        """Return pairs of labels.

        Raises:
            ComparisonError: There are fewer than two runs.
            DataError: No run has the label of the reference.
            InvalidValueError: There is no run at a position, or it would be compared with itself.
        """
        if len(labels) < 2:
            raise ComparisonError("a comparison needs two runs", hint="pass two runners to Comparator.run()")
        pairs = _positions(self.positions, len(labels)) or _star(labels, self.reference)
        return [(labels[candidate], labels[reference]) for candidate, reference in pairs]


def compare(runs: Any, everyone: Sequence[ComparisonSettings], pairs: Pairs, *, fail_fast: bool) -> AccuracyResults:
    """Compare runs with several functions; stop at the first difference if that is asked for.

    Args:
        runs: Results, a stream of them, or several of either.
        everyone: The functions, each with how it is used.
        pairs: The pairs of runs to compare.
        fail_fast: Whether to stop at the first difference.
    """
    results = AccuracyResults(AccuracyResult() for _ in everyone)
    with ExitStack() as stack:
        steps = SideBySide(runs, stack)
        first = next(steps, {})
        comparing = [
            _Pair(result, *pair, settings)
            for pair in pairs.of(steps.labels)
            for result, settings in zip(results, everyone, strict=True)
        ]
        for step in chain([first], steps):
            passed = [pair.add(step) for pair in comparing]
            if fail_fast and not all(passed):
                break
    together: dict[tuple[str, str], list[_Pair]] = {}
    for pair in comparing:
        together.setdefault(pair.names, []).append(pair)
    for judged in together.values():
        _finish(judged)
    return results


def _finish(judged: Sequence[_Pair]) -> None:
    """End the comparison of two runs; what any of several functions would have seen is not blind."""
    comparisons = [pair.finish() for pair in judged]
    for name in comparisons[0] if all(comparisons) else ():
        if all(name in blind_outputs for blind_outputs in comparisons):
            for pair, blind_outputs in zip(judged, comparisons, strict=True):
                pair.say(name, blind_outputs[name])


class SideBySide(Iterator[dict[str, IterationResult]]):
    """The iterations of several results or streams side by side, by labels that no two runs share.

    Args:
        given: Results, a stream of them, or several of either.
        stack: Ends the streams, whose runners are active until then.
    """

    def __init__(self, runs: Any, stack: ExitStack) -> None:
        self._streams: list[Iterator[RunResults]] = []
        self._labels: dict[tuple[int, int], str] = {}
        for item in runs if is_several(runs) else (runs,):
            self._streams.append(single_iterations(item) if isinstance(item, RunResults) else iter(item))
            if close := getattr(self._streams[-1], "close", None):
                stack.callback(close)

    @property
    def labels(self) -> list[str]:
        """The labels of all runs that had a part in the iterations so far, in the order in which they were given."""
        return [self._labels[place] for place in sorted(self._labels)]

    def __next__(self) -> dict[str, IterationResult]:
        """Return the next iteration of those runs that have one."""
        step: dict[str, IterationResult] = {}
        for place, stream in enumerate(self._streams):
            for number, (label, iterations) in enumerate(next(stream, RunResults()).items()):
                key = place, number
                if key not in self._labels:
                    self._labels[key] = unique_label(label, self._labels.values())
                step.update((self._labels[key], iteration) for iteration in iterations[:1])
        if not step:
            raise StopIteration
        return step


def single_iterations(results: RunResults) -> Iterator[RunResults]:
    """Yield results of one iteration each, and at least one; a run that has no more of them has none there."""
    runs = list(results.items())
    for index in range(max([1, *(len(iterations) for _, iterations in runs)])):
        yield RunResults([(label, list(iterations[index : index + 1])) for label, iterations in runs])


def is_several(results: Any) -> bool:
    """Return whether these are several results or streams: `RunResults` is a list itself."""
    return isinstance(results, list | tuple) and not isinstance(results, RunResults)


def _positions(comparisons: Sequence[tuple[int, int]] | None, count: int) -> list[tuple[int, int]]:
    """Return pairs of positions from 0 on."""
    pairs = []
    for pair in comparisons or ():
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(isinstance(place, int) for place in pair):
            raise InvalidValueError(
                f"comparisons: {pair!r} is not a pair of positions",
                hint="comparisons=[(0, 1)] compares run 0 with run 1",
            )
        for place in pair:
            if not -count <= place < count:
                raise InvalidValueError(
                    f"comparisons: there is no run at position {place}",
                    why=f"there are {count} runs, at positions 0 to {count - 1}",
                )
        candidate, reference = (place % count for place in pair)
        if candidate == reference:
            raise InvalidValueError(f"comparisons: {pair!r} compares a run with itself", why="that would always pass")
        pairs.append((candidate, reference))
    return pairs


def _star(labels: Sequence[str], reference: str) -> list[tuple[int, int]]:
    if reference and reference not in labels:
        raise DataError(f"no run is called {reference!r}", why=did_you_mean(reference, labels))
    center = labels.index(reference) if reference else len(labels) - 1
    return [(index, center) for index in range(len(labels)) if index != center]


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings for comparing two runs.

    Attributes:
        function: The compare function.
        map_output: Names in the candidate to names in the reference.
        shape_check: Whether another shape is a difference.
        check_average: Whether means over all iterations are judged.
        accepted: Names or patterns of outputs that pass although nothing could have differed.
    """

    function: Callable[..., Any]
    map_output: Mapping[str, str]
    shape_check: bool
    check_average: bool
    accepted: tuple[str, ...] = ()

    @property
    def show(self) -> Callable[..., None] | None:
        """Callback of the function that is shown both sides, such as to draw them; None for nothing."""
        return self.function.show if isinstance(self.function, OutputJudge) else None

    def comparer(self, candidate: str, reference: str) -> PairComparer:
        """Make the comparer of two runs, which takes one output at a time."""
        checked = self.shape_check and getattr(self.function, "check_shapes", True)
        name, tools = _known(self.function)
        functions = {name or "compare": self.function}
        return PairComparer(
            candidate,
            reference,
            functions,
            map_output=self.map_output,
            shape_check=checked,
            any_shape=tools.any_shape,
            accepted=(),
        )


class _Pair:
    """Two runs that are being compared; what is found is added to the result."""

    def __init__(self, result: AccuracyResult, candidate: str, reference: str, settings: ComparisonSettings) -> None:
        self.names, self._reasons = (candidate, reference), result.reasons
        self._found: list[dict[str, Any]] = []
        result[candidate, reference] = self._found
        comparer = settings.comparer(candidate, reference)
        judges = _mean_judges(settings.function) if settings.check_average else {}
        self._mean = AveragingComparer(comparer, judges) if settings.check_average else None
        judge = as_pair_function(settings.function)
        self._impostors = PairImpostors(impostors_judge(settings.function)) if judge is not None else None
        self._judge: PairFunction = judge or comparer.add
        self._comparer, self._accepted = comparer, settings.accepted
        self._show, self._map_output = settings.show, settings.map_output
        self._iteration = itertools.count()

    def add(self, step: Mapping[str, IterationResult]) -> bool:
        """Compare one iteration; return whether it passed as far as that can be said now."""
        outputs, expected = (step.get(name) for name in self.names)
        if outputs is None or expected is None:
            if (outputs is None) != (expected is None):
                reason = f"{self.names[0]} and {self.names[1]} ran unequal iterations"
                self._reasons += [reason] if reason not in self._reasons else []
            return True
        if self._show is not None:
            self._show(outputs, expected, self.names, map_output=self._map_output, iteration=next(self._iteration))
        if self._mean is not None:
            self._mean.add(outputs, expected)
            return True
        if self._impostors is not None:
            self._impostors.look(expected)
        self._found.append({item.output: item for item in self._judge(outputs, expected)})
        return all(item.passed for item in self._found[-1].values())

    def finish(self) -> Mapping[str, str]:
        """Judge the means; return why nothing could have differed, by the outputs of which that is so."""
        if self._mean is not None:
            outputs = dict(self._mean.result().outputs)
            blind_outputs = {name: item.reason for name, item in outputs.items() if item.inconclusive == "blind"}
            self._found.append({name: _unblinded(item) for name, item in outputs.items()})
            return blind_outputs
        if self._impostors is not None:
            return self._impostors.passed
        pair = without_elements(self._comparer.result(), ())
        return {name: item.reason for name, item in pair.outputs.items() if item.inconclusive == "blind"}

    def say(self, name: str, why: str) -> None:
        """Mark an output as one in which nothing could have differed."""
        having = [outputs for outputs in self._found if name in outputs]
        if all(outputs[name].passed for outputs in having):
            for outputs in having:
                outputs[name] = blind(outputs[name], why, self._accepted)


def _unblinded(item: OutputComparison) -> OutputComparison:
    """Return the verdict on an output without remarks on the comparison itself."""
    return replace(item, passed=True, inconclusive="", reason="") if item.inconclusive == "blind" else item


@cache
def _builtin() -> Registry:
    return Registry.discover({"POLYCMP_PLUGINS": "none"})


def _known(function: Any) -> tuple[str, CompareFuncTools]:
    """Return the name of one of our own compare functions, and what is true of it; of any other nothing is known."""
    made_by = f"{type(function).__module__}:{type(function).__qualname__}"
    registry = _builtin()
    contribution = next((item for item in registry.compare_funcs.values() if item.spec.factory == made_by), None)
    return ("", CompareFuncTools()) if contribution is None else (contribution.name, registry.tools(contribution))


def _mean_judges(function: Any) -> dict[str, MetricsJudge]:
    """Return the judge of the means of a compare function's metrics.

    Raises:
        InvalidValueError: They have no mean.
    """
    name, tools = _known(function)
    judge, problem = metrics_judge(function, tools), no_mean(tools, getattr(function, "options", None))
    if judge is None or problem is not None:
        why, hint = problem or ("it gives no metrics, or none that can be judged again", "leave check_average out")
        raise InvalidValueError(f"check_average: {name or 'the compare function'} has no mean", why=why, hint=hint)
    return {name: judge}

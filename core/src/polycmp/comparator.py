"""The Python face of a comparison: the same engine as the command line, on runners that you made yourself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polycmp.builtin_options import RandomOptions
from polycmp.compare.facade import CompareFunc
from polycmp.compare.pair import PairComparer
from polycmp.compare.postprocess import PostprocessFunc
from polycmp.compare.scripted import PairFunction, as_pair_function
from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import ComparisonError, DataError, InvalidValueError, UsageError, did_you_mean
from polycmp.results.outcome import BackendResult
from polycmp.results.runs import IterationResult, RunResults
from polycmp.runner import Runner
from polycmp.runs.backend_run import LiveRun, copy_outputs
from polycmp.runs.loop import Pace, run_steps
from polycmp.tensors import DataSource, Feed, Source, TensorMetadata
from polycmp.values import unique_label

__all__ = [
    "AccuracyResult",
    "Comparator",
    "CompareFunc",
    "DataLoader",
    "IterationResult",
    "PostprocessFunc",
    "RunResults",
]


Shapes = Mapping[str, tuple[int, ...]]


class DataLoader(DataSource):
    """Reproducible random inputs; iterate over it once `input_metadata` is known.

    Args:
        seed: Seed of the first iteration; each further one adds 1.
        iterations: Number of iterations.
        input_metadata: Names, types and shapes of the inputs; by default those of the first runner.
        val_range: Range of the values as `(low, high)`, or one per input name; by default from 0 to 1.
        backend_module: `numpy` or `torch`: whose arrays to make.
        input_shapes: Shapes of dynamic inputs, or the values of shape tensors, by name or pattern; or several such
            mappings, which the iterations take in turn.
        dimensions: Sizes by name of dimension, for all inputs that declare it.
    """

    synthetic = True

    def __init__(
        self,
        seed: int = 1,
        iterations: int = 1,
        input_metadata: TensorMetadata | None = None,
        val_range: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None,
        backend_module: str = "numpy",
        input_shapes: Shapes | Sequence[Shapes] | None = None,
        dimensions: Mapping[str, int] | None = None,
    ) -> None:
        ranges = {} if val_range is None else val_range if isinstance(val_range, Mapping) else {"": val_range}
        self._options = RandomOptions(seed, dict(ranges), iterations, backend_module)
        self._shapes: Sequence[Shapes] = [input_shapes] if isinstance(input_shapes, Mapping) else input_shapes or [{}]
        self._dimensions = dict(dimensions or {})
        self.input_metadata = input_metadata

    def __call__(self, inputs: TensorMetadata) -> Iterable[Feed]:
        """Return the feeds for a model's inputs; dimensions from `input_metadata` replace unknown ones.

        Raises:
            UsageError: `input_metadata` does not fit the inputs.
        """
        from polycmp.data.dimensions import merge_inputs
        from polycmp.data.random import make_random
        from polycmp.data.shapes import feeds_in_turn

        wanted = self.input_metadata or TensorMetadata()
        shapes = {
            name: entry.static_shape() for name, entry in wanted.items() if entry.shape and not entry.is_dynamic()
        }
        known = merge_inputs([inputs, TensorMetadata({name: wanted[name] for name in wanted if name in inputs})])
        turns = [{**shapes, **item} for item in self._shapes]
        return feeds_in_turn(make_random(self._options), known, turns, dimensions=self._dimensions)

    def __iter__(self) -> Any:
        if self.input_metadata is None:
            raise UsageError("a DataLoader needs to know the inputs", hint="DataLoader(input_metadata=…)")
        return iter(self(self.input_metadata))


class AccuracyResult(dict[tuple[str, str], list[dict[str, OutputComparison]]]):
    """Verdicts by pair of runs, then iteration, then output; true if everything agreed and something was compared."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def __bool__(self) -> bool:
        verdicts = [item for iterations in self.values() for outputs in iterations for item in outputs.values()]
        return bool(verdicts) and not self.reasons and all(item.passed for item in verdicts)

    @property
    def compared(self) -> bool:
        """Whether any output was held against another."""
        verdicts = [item for iterations in self.values() for outputs in iterations for item in outputs.values()]
        return any(item.candidate_type and item.reference_type for item in verdicts)

    def stats(self, runner_pair: tuple[str, str] | None = None) -> tuple[int, int, int]:
        """Return how many iterations of a pair passed, failed, and were compared at all.

        Args:
            runner_pair: Labels of candidate and reference; by default the first pair.
        """
        iterations = self[runner_pair or next(iter(self))]
        passed = sum(all(item.passed for item in outputs.values()) for outputs in iterations)
        return passed, len(iterations) - passed, len(iterations)

    def percentage(self, runner_pair: tuple[str, str] | None = None) -> float:
        """Return the share of a pair's iterations that passed, from 0 to 1."""
        passed, _, total = self.stats(runner_pair)
        return passed / total if total else 0.0

    def describe(self) -> str:
        """Return the verdicts as text: one line per pair, and one per output that differs."""
        lines = []
        for pair, iterations in self.items():
            passed, _, total = self.stats(pair)
            lines.append(f"{pair[0]} against {pair[1]}: {passed} of {total} iterations passed")
            for index, outputs in enumerate(iterations):
                lines += [
                    f"  iteration {index}, {name}: {item.reason}" for name, item in outputs.items() if not item.passed
                ]
        return "\n".join([*lines, *self.reasons])


class Comparator:
    """Runs runners on the same data and compares what they return."""

    @staticmethod
    def run(
        runners: Sequence[Runner],
        data_loader: Source | Iterable[Feed] | None = None,
        warm_up: int = 0,
        streaming: bool = False,
        save_inputs_path: str | None = None,
        save_outputs_path: str | None = None,
    ) -> RunResults:
        """Run all runners on the same inputs and return their outputs.

        Args:
            runners: The runners, not active. One with the name of another gets `#2` behind it, so that
                `results[runner.name]` is its own.
            data_loader: An iterable of feeds, or a callable that gives one for the first runner's inputs; by default
                one feed of random numbers.
            warm_up: Calls per runner before the first that counts.
            streaming: Keep all runners active and go iteration by iteration; by default one runner after the other.
            save_inputs_path: Also write the inputs there.
            save_outputs_path: Also write the outputs there.

        Raises:
            PolycmpError: A runner or the data loader failed; the runner's own error where it raised one.
        """
        runs: list[LiveRun] = []
        for runner in runners:
            runner.name = unique_label(runner.name, (run.label for run in runs))
            runs.append(LiveRun(BackendResult(runner.name, type(runner).__name__), _giving(runner)))
        results = RunResults((run.label, []) for run in runs)
        feeds: list[Feed] = []
        for step in run_steps(runs, _source(data_loader), Pace(not streaming, warm_up)):
            _raise_first(runs)
            if save_inputs_path:
                feeds.append(copy_outputs(step.feed))
            for label, outputs in step.outputs.items():
                kept = copy_outputs(outputs) if streaming else outputs
                results[label].append(IterationResult(kept, step.seconds[label], label))
        _raise_first(runs)
        _save(feeds, results, save_inputs_path, save_outputs_path)
        return results

    @staticmethod
    def postprocess(run_results: RunResults, postprocess_func: Callable[[IterationResult], Any]) -> RunResults:
        """Return results with a function applied to every iteration.

        Args:
            run_results: Outputs of runs.
            postprocess_func: Takes the outputs of one iteration and returns them changed.
        """
        changed = RunResults()
        for label, iterations in run_results.items():
            changed.append(
                (label, [IterationResult(postprocess_func(item), item.runtime, label) for item in iterations])
            )
        return changed

    @staticmethod
    def validate(
        run_results: RunResults, check_inf: bool = False, check_nan: bool = True, fail_fast: bool = False
    ) -> bool:
        """Return whether no output of any run holds NaN, or infinity if asked for.

        Args:
            run_results: Outputs of runs.
            check_inf: Look for infinities.
            check_nan: Look for NaN.
            fail_fast: Stop at the first find.
        """
        from polycmp.compare.validity import find_invalid

        valid = True
        for iterations in run_results.values():
            for outputs in iterations:
                for found in find_invalid(outputs):
                    if (check_nan and found.nan) or (check_inf and found.inf):
                        valid = False
                        if fail_fast:
                            return False
        return valid

    @staticmethod
    def compare_accuracy(
        run_results: RunResults,
        fail_fast: bool = False,
        comparisons: Sequence[tuple[int, int]] | None = None,
        compare_func: Callable[..., Any] | None = None,
        map_output: Mapping[str, str] | None = None,
        shape_check: bool = True,
        reference: str = "",
    ) -> AccuracyResult:
        """Compare runs, by default every one with the last.

        Args:
            run_results: Outputs of runs.
            fail_fast: Stop at the first difference.
            comparisons: Pairs of positions, candidate first; negative ones count from the end.
            compare_func: Judges one output (`compare(candidate, reference, output=…)`), or all outputs of an iteration
                (`compare(iteration, reference_iteration)` giving a mapping); by default `CompareFunc.simple()`. It gets
                arrays that cannot be written to.
            map_output: Names in the candidate to names in the reference, where they differ.
            shape_check: Whether another shape is a difference.
            reference: Label of the run the others are compared with; by default the last.

        Raises:
            DataError: No run is called `reference`.
            ComparisonError: There are fewer than two runs; or `compare_func` fails, or returns no verdict.
            InvalidValueError: `comparisons` names a run that is not there, or compares one with itself.
        """
        runs = _with_labels_of_their_own(run_results)
        if len(runs) < 2:
            raise ComparisonError("a comparison needs two runs", hint="pass two runners to Comparator.run()")
        result = AccuracyResult()
        settings = (compare_func or CompareFunc.simple(), dict(map_output or {}), shape_check)
        for candidate, other in _positions(comparisons, len(runs)) or _star(runs, reference):
            if not _compare_pair(result, runs[candidate], runs[other], settings, fail_fast=fail_fast):
                break
        return result


_Run = tuple[str, list[IterationResult]]


def _with_labels_of_their_own(run_results: RunResults) -> list[_Run]:
    runs: list[_Run] = []
    for label, iterations in run_results.items():
        runs.append((unique_label(label, (known for known, _ in runs)), iterations))
    return runs


def _positions(comparisons: Sequence[tuple[int, int]] | None, count: int) -> list[tuple[int, int]]:
    """Return pairs of positions from 0 on."""
    found = []
    for pair in comparisons or ():
        if not isinstance(pair, Sequence) or len(pair) != 2 or not all(isinstance(place, int) for place in pair):
            raise InvalidValueError(
                f"comparisons: {pair!r} is no pair of positions", hint="comparisons=[(0, 1)] compares run 0 with run 1"
            )
        for place in pair:
            if not -count <= place < count:
                raise InvalidValueError(
                    f"comparisons: there is no run at position {place}",
                    why=f"there are {count} runs, at positions 0 to {count - 1}",
                )
        candidate, reference = (place % count for place in pair)
        if candidate == reference:
            raise InvalidValueError(
                f"comparisons: {pair!r} compares a run with itself", why="that would pass whatever it holds"
            )
        found.append((candidate, reference))
    return found


def _star(runs: list[_Run], reference: str) -> list[tuple[int, int]]:
    labels = [label for label, _ in runs]
    if reference and reference not in labels:
        raise DataError(f"no run is called {reference!r}", why=did_you_mean(reference, labels))
    center = labels.index(reference) if reference else len(runs) - 1
    return [(index, center) for index in range(len(runs)) if index != center]


def _compare_pair(
    result: AccuracyResult,
    candidate: _Run,
    reference: _Run,
    settings: tuple[Callable[..., Any], Mapping[str, str], bool],
    *,
    fail_fast: bool,
) -> bool:
    """Compare two runs, add what was found to the result, and return whether to go on."""
    function, map_output, shape_check = settings
    comparer = PairComparer(
        candidate[0], reference[0], {"compare": function}, map_output=map_output, shape_check=shape_check
    )
    judge: PairFunction = as_pair_function(function) or comparer.add
    found: list[dict[str, OutputComparison]] = []
    result[candidate[0], reference[0]] = found
    if len(candidate[1]) != len(reference[1]):
        result.reasons.append(f"{candidate[0]} and {reference[0]} ran unequal iterations")
    for made, expected in zip(candidate[1], reference[1], strict=False):
        found.append({item.output: item for item in judge(made, expected)})
        if fail_fast and not all(item.passed for item in found[-1].values()):
            return False
    return True


def _source(data_loader: Source | Iterable[Feed] | None) -> Source:
    if data_loader is None:
        return DataLoader()
    if callable(data_loader):
        return data_loader
    return lambda _inputs: data_loader


def _giving(runner: Runner) -> Callable[[], Runner]:
    return lambda: runner


def _raise_first(runs: Iterable[LiveRun]) -> None:
    for run in runs:
        if run.error is not None:
            raise run.error


def _save(feeds: list[Feed], results: RunResults, inputs_path: str | None, outputs_path: str | None) -> None:
    if inputs_path:
        from polycmp.results.files import InputsWriter

        with InputsWriter(inputs_path) as writer:
            for feed in feeds:
                writer.add(feed)
    if outputs_path:
        results.save(outputs_path)

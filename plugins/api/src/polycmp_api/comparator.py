"""The Python face of a comparison: the same engine as the command line, on runners that you made yourself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from polycmp import builtin
from polycmp.compare.pair import PairComparer
from polycmp.compare.scripted import PairFunction, as_pair_function
from polycmp.compare.verdicts import OutputComparison
from polycmp.errors import ComparisonError, DataError, InvalidValueError, did_you_mean
from polycmp.records import dataclass
from polycmp.results.files import save_input_blob
from polycmp.results.outcome import BackendResult
from polycmp.results.runs import IterationResult
from polycmp.runner import Runner
from polycmp.runs.backend_run import BackendRun, copy_outputs
from polycmp.runs.loop import Pace, run_steps
from polycmp.spec import CompareFuncSpec
from polycmp.tensors import Feed, Source
from polycmp.values import unique_label
from polycmp_api.accuracy import AccuracyResult
from polycmp_api.compare_functions import CompareFunc
from polycmp_api.data_loader import DataLoader
from polycmp_api.named import (
    CosineSimilarityCompareFunc,
    IndicesCompareFunc,
    L2CompareFunc,
    PsnrCompareFunc,
    SimpleCompareFunc,
    SnrCompareFunc,
    TopKPostprocessFunc,
)
from polycmp_checks import plugin as checks
from polycmp_checks.averages import AveragingComparer, MetricsJudge, metrics_judge, no_mean
from polycmp_checks.postprocess import PostprocessFunc
from polycmp_formats.run_results import RunResults, StreamingDataLoader
from polycmp_workers.forked import ForkedRunner

__all__ = [
    "AccuracyResult",
    "Comparator",
    "CompareFunc",
    "CosineSimilarityCompareFunc",
    "DataLoader",
    "IndicesCompareFunc",
    "IterationResult",
    "L2CompareFunc",
    "PostprocessFunc",
    "PsnrCompareFunc",
    "RunResults",
    "SimpleCompareFunc",
    "SnrCompareFunc",
    "StreamingDataLoader",
    "TopKPostprocessFunc",
]


class Comparator:
    """Runs runners on the same data and compares what they return."""

    @staticmethod
    def run(
        runners: Sequence[Runner],
        data_loader: Source | Iterable[Feed] | None = None,
        warm_up: int | None = None,
        use_subprocess: bool | None = None,
        subprocess_timeout: float | None = None,
        subprocess_polling_interval: float | None = None,
        save_inputs_path: str | None = None,
        save_outputs_path: str | None = None,
        save_input_blob_path: str | None = None,
        streaming: bool | None = None,
    ) -> RunResults:
        """Run all runners on the same inputs and return their outputs.

        Args:
            runners: The runners, not active. One with the name of another gets `#2` behind it, so that
                `results[runner.name]` is its own.
            data_loader: An iterable of feeds, or a callable that gives one for the first runner's inputs; by default
                one feed of random numbers.
            warm_up: Calls per runner before the first that counts; 0.
            use_subprocess: Run each runner in a copy of this process, so that a crash is an error, and so that what it
                holds is gone when it is done. A GPU that this process has used already cannot be used in a copy.
            subprocess_timeout: Seconds after which a runner there that does not answer is ended; None waits for ever.
            subprocess_polling_interval: Of no effect: answers are noticed when they come.
            save_inputs_path: Also write the inputs there.
            save_outputs_path: Also write the outputs there.
            save_input_blob_path: Also write the bare bytes of the inputs into this folder.
            streaming: Keep all runners active and go iteration by iteration; by default one runner after the other.

        Raises:
            PolycmpError: A runner or the data loader failed; the runner's own error where it raised one.
            WorkerError: A runner's process died or hung.
            InvalidValueError: `use_subprocess` is asked for on a system that makes no copies of processes.
        """
        del subprocess_polling_interval
        runs: list[BackendRun] = []
        for runner in runners:
            runner.name = unique_label(runner.name, (run.label for run in runs))
            used = ForkedRunner(runner, subprocess_timeout or 0.0) if use_subprocess else runner
            runs.append(BackendRun(BackendResult(runner.name, type(runner).__name__), _giving(used)))
        results = RunResults((run.label, []) for run in runs)
        feeds: list[Feed] = []
        for step in run_steps(runs, _source(data_loader), Pace(not streaming, warm_up or 0)):
            _raise_first(runs)
            if save_input_blob_path:
                save_input_blob(save_input_blob_path, step.index, step.feed)
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
    def default_comparisons(run_results: RunResults) -> list[tuple[int, int]]:
        """Return the pairs of positions that `compare_accuracy` compares by default: every run with the last."""
        last = len(run_results) - 1
        return [(index, last) for index in range(last)]

    @staticmethod
    def compare_accuracy(
        run_results: RunResults,
        fail_fast: bool = False,
        comparisons: Sequence[tuple[int, int]] | None = None,
        compare_func: Callable[..., Any] | None = None,
        check_average: bool = False,
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
            check_average: Judge the mean of each metric over all iterations; the result then holds one verdict by
                output, as if there were one iteration.
            map_output: Names in the candidate to names in the reference, where they differ.
            shape_check: Whether another shape is a difference.
            reference: Label of the run the others are compared with; by default the last.

        Raises:
            DataError: No run is called `reference`.
            ComparisonError: There are fewer than two runs; or `compare_func` fails, or returns no verdict.
            InvalidValueError: `comparisons` names a run that is not there, or compares one with itself; or
                `check_average` is asked of a compare function whose metrics have no mean.
        """
        runs = _with_labels_of_their_own(run_results)
        if len(runs) < 2:
            raise ComparisonError("a comparison needs two runs", hint="pass two runners to Comparator.run()")
        result = AccuracyResult()
        settings = _Settings(compare_func or CompareFunc.simple(), dict(map_output or {}), shape_check, check_average)
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


@dataclass(frozen=True)
class _Settings:
    """How two runs are compared."""

    function: Callable[..., Any]
    map_output: Mapping[str, str]
    shape_check: bool
    check_average: bool

    def comparer(self, candidate: str, reference: str) -> PairComparer:
        """Return what compares two runs one output at a time."""
        checked = self.shape_check and getattr(self.function, "check_shapes", True)
        spec = _spec_of(self.function)
        functions = {spec.name if spec else "compare": self.function}
        any_shape = spec is not None and spec.any_shape
        return PairComparer(
            candidate, reference, functions, map_output=self.map_output, shape_check=checked, any_shape=any_shape
        )


def _compare_pair(
    result: AccuracyResult, candidate: _Run, reference: _Run, settings: _Settings, *, fail_fast: bool
) -> bool:
    """Compare two runs, add what was found to the result, and return whether to go on."""
    comparer = settings.comparer(candidate[0], reference[0])
    found: list[dict[str, OutputComparison]] = []
    result[candidate[0], reference[0]] = found
    if len(candidate[1]) != len(reference[1]):
        result.reasons.append(f"{candidate[0]} and {reference[0]} ran unequal iterations")
    iterations = zip(candidate[1], reference[1], strict=False)
    if settings.check_average:
        mean = AveragingComparer(comparer, _mean_judges(settings.function))
        for made, expected in iterations:
            mean.add(made, expected)
        found.append(dict(mean.result().outputs))
        return not fail_fast or all(item.passed for item in found[-1].values())
    judge: PairFunction = as_pair_function(settings.function) or comparer.add
    for made, expected in iterations:
        found.append({item.output: item for item in judge(made, expected)})
        if fail_fast and not all(item.passed for item in found[-1].values()):
            return False
    return True


def _spec_of(function: Any) -> CompareFuncSpec | None:
    """Return the descriptor of one of our own compare functions, None for any other."""
    made_by = f"{type(function).__module__}:{type(function).__qualname__}"
    ours = (*builtin.polycmp_compare_funcs(), *checks.polycmp_compare_funcs())
    return next((spec for spec in ours if spec.factory == made_by), None)


def _mean_judges(function: Any) -> dict[str, MetricsJudge]:
    """Return what judges the means of a compare function's metrics.

    Raises:
        InvalidValueError: They have no mean.
    """
    spec = _spec_of(function)
    judge = None if spec is None else metrics_judge(function, spec)
    problem = None if spec is None else no_mean(spec, getattr(function, "options", None))
    if spec is None or judge is None or problem is not None:
        why, hint = problem or ("it gives no metrics, or none that can be judged again", "leave check_average out")
        whose = spec.name if spec else "the compare function"
        raise InvalidValueError(f"check_average: {whose} has no mean", why=why, hint=hint)
    return {spec.name: judge}


def _source(data_loader: Source | Iterable[Feed] | None) -> Source:
    if data_loader is None:
        return DataLoader()
    if callable(data_loader):
        return data_loader
    return lambda _inputs: data_loader


def _giving(runner: Runner) -> Callable[[], Runner]:
    return lambda: runner


def _raise_first(runs: Iterable[BackendRun]) -> None:
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

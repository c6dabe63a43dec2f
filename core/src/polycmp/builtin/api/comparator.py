"""The Python face of a comparison: the same engine as the command line, on runners that you made yourself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polycmp.builtin.api.compare_functions import CompareFunc
from polycmp.builtin.api.comparing import ComparisonSettings, Pairs, compare, is_several
from polycmp.builtin.api.running import Saved, make_runs, make_source, stream
from polycmp.builtin.formats.run_results import RunResults
from polycmp.compare import find_invalid
from polycmp.errors import DataError
from polycmp.results import IterationResult
from polycmp.runner import Runner
from polycmp.runs import InputPairing, Schedule
from polycmp.tensors import Feed, Source

__all__ = ["Comparator"]


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
        map_input: Mapping[str, str] | None = None,
    ) -> Any:
        """Run all runners on the same inputs and return their outputs, as `RunResults`.

        Inputs that runners call otherwise are fed the same where it is certain which they are: by the spelling of their
        names, or because only one fits by type and shape.

        Args:
            runners: The runners, not active. `#2` is appended to the name of one that is taken, so that
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
            streaming: Return a stream of `RunResults` with one iteration each, which is run when it is asked for: all
                runners are active together, and nothing is kept. By default one runner after the other.
            map_input: Two names of one input: one runner's, and another's or that of the data.

        Raises:
            UsageError: It is not certain which inputs of two runners are the same.
            PolycmpError: A runner or the data loader failed; the runner's own error where it raised one.
            WorkerError: A runner's process died or hung.
            InvalidValueError: `use_subprocess` is asked for on a system that makes no copies of processes.
        """
        del subprocess_polling_interval
        runs = make_runs(runners, forked=bool(use_subprocess), timeout=subprocess_timeout)
        schedule, saved = (
            Schedule(not streaming, warm_up or 0),
            Saved(save_inputs_path, save_outputs_path, save_input_blob_path),
        )
        pairing = InputPairing(given=map_input, own_data=data_loader is not None and not callable(data_loader))
        steps = stream(runs, make_source(data_loader), schedule, saved, pairing)
        if streaming:
            return steps
        results = RunResults((run.label, []) for run in runs)
        for step in steps:
            for label, iterations in step.items():
                results[label].extend(iterations)
        return results

    @staticmethod
    def postprocess(run_results: Any, postprocess_func: Callable[[IterationResult], Any]) -> Any:
        """Return results with a function applied to every iteration.

        Args:
            run_results: Results, a stream of them, or a list of either; the same is returned.
            postprocess_func: Takes the outputs of one iteration and returns them changed.
        """
        if is_several(run_results):
            return [Comparator.postprocess(item, postprocess_func) for item in run_results]
        if not isinstance(run_results, RunResults):
            return (Comparator.postprocess(item, postprocess_func) for item in run_results)
        changed = RunResults()
        for label, iterations in run_results.items():
            changed.append(
                (label, [IterationResult(postprocess_func(item), item.runtime, label) for item in iterations])
            )
        return changed

    @staticmethod
    def validate(run_results: Any, check_inf: bool = False, check_nan: bool = True, fail_fast: bool = False) -> Any:
        """Return whether no output of any run holds NaN, or infinity if asked for.

        Args:
            run_results: Results; a stream of them, which is returned and fails at the first find; or a list of either.
            check_inf: Look for infinities.
            check_nan: Look for NaN.
            fail_fast: Stop at the first find.

        Raises:
            DataError: In a stream, when an iteration is asked for that holds such a value.
        """
        if is_several(run_results):
            return [Comparator.validate(item, check_inf, check_nan, fail_fast) for item in run_results]
        if not isinstance(run_results, RunResults):
            return _validated(run_results, check_inf, check_nan)
        valid = True
        for iterations in run_results.values():
            for outputs in iterations:
                for invalid in find_invalid(outputs):
                    if (check_nan and invalid.nan) or (check_inf and invalid.inf):
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
        run_results: Any,
        fail_fast: bool = False,
        comparisons: Sequence[tuple[int, int]] | None = None,
        compare_func: Callable[..., Any] | Sequence[Callable[..., Any]] | None = None,
        check_average: bool = False,
        map_output: Mapping[str, str] | None = None,
        shape_check: bool = True,
        reference: str = "",
        allow_blind: bool | Sequence[str] = False,
    ) -> Any:
        """Compare runs, by default every one with the last; return an `AccuracyResult`.

        Args:
            run_results: Results; a stream of them, of which one iteration is held at a time; or a list of either, whose
                runs are compared with each other.
            fail_fast: Stop at the first difference.
            comparisons: Pairs of positions, candidate first; negative ones count from the end.
            compare_func: Judges one output (`compare(candidate, reference, output=…)`), or all outputs of an iteration
                (`compare(iteration, reference_iteration)` giving a mapping); by default `CompareFunc.simple()`. It gets
                arrays that cannot be written to.
                Several of them give `AccuracyResults`, one for each.
            check_average: Judge the mean of each metric over all iterations; the result then holds one verdict by
                output, as if there were one iteration.
            map_output: Names in the candidate to names in the reference, where they differ.
            shape_check: Whether another shape is a difference.
            reference: Label of the run the others are compared with; by default the last.
            allow_blind: Names or patterns of outputs that pass although nothing could have differed, such as one whose
                values are all below the tolerance; True for all.

        Raises:
            DataError: No run is called `reference`.
            ComparisonError: There are fewer than two runs; or `compare_func` fails, or returns no verdict.
            InvalidValueError: `comparisons` names a run that is not there, or compares one with itself; or
                `check_average` is asked of a compare function whose metrics have no mean.
        """
        accepted = ("*",) * allow_blind if isinstance(allow_blind, bool) else tuple(allow_blind)
        functions = list(compare_func) if isinstance(compare_func, Sequence) else [compare_func]
        everyone = [
            ComparisonSettings(
                function or CompareFunc.simple(), dict(map_output or {}), shape_check, check_average, accepted
            )
            for function in functions
        ]
        compared = compare(run_results, everyone, Pairs(comparisons, reference), fail_fast=fail_fast)
        return compared if isinstance(compare_func, Sequence) else compared[0]


def _validated(results: Iterable[RunResults], check_inf: bool, check_nan: bool) -> Iterator[RunResults]:
    """Pass on each iteration that holds no such value."""
    for index, step in enumerate(results):
        if not Comparator.validate(step, check_inf, check_nan, fail_fast=True):
            what = " or ".join(["NaN"] * check_nan + ["infinity"] * check_inf)
            raise DataError(f"iteration {index} holds {what}", whose=", ".join(step.keys()))
        yield step

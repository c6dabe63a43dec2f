"""What compares the runs of a session: compare functions, a user's script, or means over the iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from polycmp.builtin import DEFAULT_COMPARE
from polycmp.compare.averages import (
    Means,
    MetricsJudge,
    metrics_judge,
    no_mean,
    recorded_metrics,
    tolerances_matter,
)
from polycmp.compare.pair import PairComparer
from polycmp.compare.scripted import PairFunction, as_pair_function, load_compare_script
from polycmp.compare.verdicts import DetailedVerdict, OutputComparison, PairComparison, WorstIterations, named_reason
from polycmp.errors import UsageError
from polycmp.plan import ComparePlan
from polycmp.runs.compare_functions import make_functions
from polycmp.runs.services import Rounding
from polycmp.spec import CompareFuncSpec, CompareFunction, Verdict
from polycmp.values import pick, split_script

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Outputs = Mapping[str, Any]
Functions = Mapping[str, CompareFunction]


class Comparer(Protocol):
    """Compares a candidate with the reference, iteration by iteration."""

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration and return its verdicts."""

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations."""


def comparer_maker(
    plan: ComparePlan, registry: Registry, rounding: Rounding | None = None
) -> Callable[[str, str], Comparer]:
    """Return what makes the comparer of two labels; scripts and functions are loaded now.

    Args:
        plan: How to compare.
        registry: The plugins.
        rounding: What knows of rounding, to judge by it where the plan says so.

    Raises:
        PluginError: A compare function is not there.
        DataError: A script cannot be loaded.
        UsageError: Options contradict each other.
    """
    if plan.check_average:
        check_average_plan(plan, registry)
    if plan.tolerance:
        check_tolerance(plan)
    if plan.script:
        function = load_compare_script(*split_script(plan.script, "compare_outputs"))
        judge = as_pair_function(function)
        if judge is not None:
            return lambda candidate, reference: ScriptedComparer(candidate, reference, judge)
        functions: Functions = {"script": function}
    else:
        functions = make_functions(plan, registry)
    judges = metrics_judges(functions, registry) if plan.check_average else {}

    def make(candidate: str, reference: str) -> Comparer:
        mine = functions
        if rounding is not None and plan.tolerance:
            options = next(choice.options for choice in plan.functions if choice.name == DEFAULT_COMPARE)
            judge = rounding.judge(options, candidate, reference, detail=plan.detail)
            mine = {**functions, DEFAULT_COMPARE: judge}
        pair = PairComparer(candidate, reference, mine, map_output=plan.map_output, shape_check=plan.shape_check)
        return AveragingComparer(pair, judges) if plan.check_average else pair

    return make


def check_tolerance(plan: ComparePlan) -> None:
    """Check that `--tolerance auto` makes sense for a plan.

    Raises:
        UsageError: It does not.
    """
    options = next((choice.options for choice in plan.functions if choice.name == DEFAULT_COMPARE), None)
    why = ""
    if plan.script or options is None:
        why = f"it sets the tolerance of the compare function {DEFAULT_COMPARE}, which does not take part"
    elif options.atol or options.rtol:
        why = "--atol and --rtol are given, too"
    elif set(options.check_error_stat.values()) != {("elemwise",)}:
        why = "--check-error-stat is given, and it looks at every element and at the mean square"
    elif plan.check_average:
        why = "--check-average judges means, and it judges each iteration by its own inputs"
    if why:
        raise UsageError("--tolerance auto has no meaning here", why=why, hint="leave one of them out")


def check_average_plan(plan: ComparePlan, registry: Registry) -> None:
    """Check that means over iterations make sense for a plan.

    Raises:
        UsageError: They do not.
    """
    if plan.fail_fast:
        raise UsageError("--check-average needs all iterations, --fail-fast stops early", hint="leave one of them out")
    if plan.script:
        raise UsageError("--check-average: a compare script gives no metrics to average", hint="use --compare NAME")
    for choice in plan.functions:
        check_mean(registry.find_compare_func(choice.name).spec, choice.options)


def check_mean(spec: CompareFuncSpec, options: Any, output: str | None = None) -> None:
    """Check that the metrics of a compare function have a mean with its options.

    Args:
        spec: Its descriptor.
        options: Its options.
        output: The output in question; by default any.

    Raises:
        UsageError: They have none.
    """
    found = no_mean(spec, options, output)
    if found is not None:
        raise UsageError(f"--check-average: {found[0]}", whose=spec.name, hint=found[1])


def metrics_judges(functions: Functions, registry: Registry) -> dict[str, MetricsJudge]:
    """Return what judges the means of each compare function's metrics.

    Raises:
        UsageError: A function cannot judge them.
    """
    return {name: mean_judge(function, registry.find_compare_func(name).spec) for name, function in functions.items()}


def mean_judge(function: CompareFunction, spec: CompareFuncSpec) -> MetricsJudge:
    """Return what judges the means of a compare function's metrics.

    Raises:
        UsageError: It cannot judge them.
    """
    judge = metrics_judge(function, spec)
    if judge is None:
        raise UsageError(
            "--check-average: its metrics cannot be averaged", whose=spec.name, hint="leave it out of --compare"
        )
    return judge


class ScriptedComparer:
    """Compare with a function that judges all outputs of an iteration at once.

    Args:
        candidate_label: The candidate in reports.
        reference_label: The reference in reports.
        judge: The function.
    """

    def __init__(self, candidate_label: str, reference_label: str, judge: PairFunction) -> None:
        self._labels = (candidate_label, reference_label)
        self._judge = judge
        self._worst = WorstIterations()
        self._iterations = 0

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration.

        Raises:
            ComparisonError: The function fails, or returns something else than verdicts by output.
        """
        found = [replace(item, worst_iteration=self._iterations) for item in self._judge(candidate, reference)]
        self._worst.add(found)
        self._iterations += 1
        return found

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations; a function that judged nothing is a failure."""
        ran = self._iterations if candidate_iterations is None else candidate_iterations
        wanted = self._iterations if reference_iterations is None else reference_iterations
        reasons = [f"{self._labels[0]} ran {ran} iterations, {self._labels[1]} {wanted}"] if ran != wanted else []
        if not self._worst.outputs:
            reasons.append("the compare function judged no output")
        return PairComparison(
            *self._labels,
            not reasons and self._worst.passed,
            dict(self._worst.outputs),
            self._iterations,
            "; ".join(reasons),
        )


class AveragingComparer:
    """Judge the mean of each metric over all iterations.

    Args:
        pair: Compares the single iterations.
        judges: What judges the metrics of each compare function, by name.
    """

    def __init__(self, pair: Comparer, judges: Mapping[str, MetricsJudge]) -> None:
        self._pair = pair
        self._judges = judges
        self._means: dict[tuple[str, str], Means] = {}
        self._final: set[str] = set()

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration and take in its metrics."""
        found = self._pair.add(candidate, reference)
        for item in found:
            if not item.passed and not all(tolerances_matter(verdict.metrics) for verdict in item.verdicts.values()):
                self._final.add(item.output)
            if not item.verdicts:
                self._final.add(item.output)
            for name, verdict in item.verdicts.items():
                if tolerances_matter(verdict.metrics):
                    means = self._means.setdefault((item.output, name), self._judges[name].means())
                    means.add(recorded_metrics(verdict))
        return found

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict on the means; an output that failed in some iteration without metrics has failed."""
        single = self._pair.result(candidate_iterations, reference_iterations)
        outputs = {name: self._averaged(item) for name, item in single.outputs.items()}
        passed = not single.reason and all(item.passed for item in outputs.values())
        return replace(single, passed=passed, outputs=outputs)

    def _averaged(self, item: OutputComparison) -> OutputComparison:
        if item.output in self._final:
            return item
        verdicts = dict(item.verdicts)
        for name, judge in self._judges.items():
            if (item.output, name) not in self._means:
                continue
            verdict = judge(self._means[item.output, name].result(), output=item.output)
            verdicts[name] = _with_stats(verdict, item.verdicts.get(name))
        return averaged(item, verdicts)


def averaged(item: OutputComparison, verdicts: Mapping[str, Verdict]) -> OutputComparison:
    """Return an output's comparison with the verdicts on means in the place of its own."""
    reasons = [
        named_reason(name, verdict.reason, len(verdicts)) for name, verdict in verdicts.items() if not verdict.passed
    ]
    text = f"mean over {item.iterations} iterations: {'; '.join(reasons)}" if reasons else ""
    return replace(item, passed=not reasons, reason=text, verdicts=verdicts, failed_iterations=0)


def _with_stats(verdict: Verdict, single: Verdict | None) -> Verdict:
    """Return the verdict on a mean with the error statistics of the worst iteration, for reports."""
    if isinstance(verdict, DetailedVerdict) and isinstance(single, DetailedVerdict):
        return replace(verdict, stats=single.stats)
    return verdict


def settings_of(options: Any, output: str) -> dict[str, Any]:
    """Return a compare function's options as far as they concern one output."""
    fields = {} if options is None else vars(options)
    return {name: pick(value, output, None) if isinstance(value, Mapping) else value for name, value in fields.items()}

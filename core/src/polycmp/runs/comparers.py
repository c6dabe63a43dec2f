"""Comparers of the runs of a session: compare functions, or a user's script."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from polycmp.compare.blindness import PairImpostors, blind, impostors_judge
from polycmp.compare.pair import PairComparer
from polycmp.compare.scripted import PairFunction, as_pair_function
from polycmp.compare.verdicts import OutputComparison, PairComparison, WorstIterations, inconclusive, verdict_over
from polycmp.plan import ComparePlan
from polycmp.plan.defaults import DEFAULT_COMPARE
from polycmp.runs.compare_functions import PlannedFunctions
from polycmp.runs.tolerances import Tolerances, check_tolerance
from polycmp.spec import CompareFunction
from polycmp.tensors import Outputs

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Functions = Mapping[str, CompareFunction]


class Comparer(Protocol):
    """Compares a candidate with the reference, iteration by iteration."""

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration and return its verdicts."""

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations."""


class MakeComparer(Protocol):
    """Makes the comparer of two labels."""

    def __call__(self, candidate: str, reference: str, *, final: Collection[str] | None = None) -> Comparer:
        """Make the comparer of a candidate and the reference.

        Args:
            candidate: The candidate's label.
            reference: The reference's.
            final: The outputs of the model, where tensors inside it are compared, too; None where all are.
        """


def comparer_maker(
    plan: ComparePlan,
    registry: Registry,
    planned: PlannedFunctions | None = None,
    tolerances: Tolerances | None = None,
    *,
    watching: bool = False,
) -> MakeComparer:
    """Return the maker of comparers, for two labels and single iterations.

    Args:
        plan: The part of the plan on comparing.
        registry: The plugins.
        planned: The plan's compare functions; by default they are looked up and made now.
        tolerances: Finds the tolerances of the default compare function; None to take those of its options.
        watching: Whether the verdicts over all iterations say so where nothing could have differed.

    Raises:
        PluginError: A compare function is not there.
        DataError: A script cannot be loaded.
        UsageError: Options contradict each other.
    """
    accepted = plan.allow_blind if watching else None
    if plan.tolerance:
        check_tolerance(plan)
    planned = planned or PlannedFunctions(plan, registry)
    functions: Functions = planned.by_name
    if plan.script:
        function = functions["script"]
        judge = as_pair_function(function)
        if judge is not None and not plan.check_average:
            again = impostors_judge(function) if watching else None
            return lambda candidate, reference, **_: ScriptedComparer(
                candidate, reference, judge, again, plan.allow_blind
            )

    def make(candidate: str, reference: str, *, final: Collection[str] | None = None) -> Comparer:
        judges, any_shape = functions, planned.any_shape
        if tolerances is not None:
            options = next(choice.options for choice in plan.functions if choice.name == DEFAULT_COMPARE)
            judge = tolerances.judge(options, candidate, reference, detail=plan.detail)
            judges = {**functions, DEFAULT_COMPARE: judge}
            any_shape = plan.shape_check and getattr(judge, "any_shape", False)
        return PairComparer(
            candidate,
            reference,
            judges,
            map_output=plan.map_output,
            shape_check=plan.shape_check,
            any_shape=any_shape,
            accepted=accepted,
            final=final,
        )

    return make


class ScriptedComparer:
    """Compare with a function that judges all outputs of an iteration at once.

    Args:
        candidate_label: The candidate in reports.
        reference_label: The reference in reports.
        judge: The function.
        again: The same function, to be asked with impostors; None not to ask whether anything could differ.
        accepted: Names or patterns of outputs that pass all the same.
    """

    def __init__(
        self,
        candidate_label: str,
        reference_label: str,
        judge: PairFunction,
        again: Callable[[], PairFunction] | None = None,
        accepted: Collection[str] = (),
    ) -> None:
        self._impostors = PairImpostors(again) if again is not None else None
        self._accepted = accepted
        self._labels = (candidate_label, reference_label)
        self._judge = judge
        self._worst = WorstIterations()
        self._iterations = 0

    def add(self, candidate: Outputs, reference: Outputs) -> list[OutputComparison]:
        """Compare one iteration.

        Raises:
            ComparisonError: The function fails, or returns something else than verdicts by output.
        """
        if self._impostors is not None:
            self._impostors.look(reference)
        comparisons = [replace(item, worst_iteration=self._iterations) for item in self._judge(candidate, reference)]
        self._worst.add(comparisons)
        self._iterations += 1
        return comparisons

    def result(
        self, candidate_iterations: int | None = None, reference_iterations: int | None = None
    ) -> PairComparison:
        """Return the verdict over all iterations; a function that judged nothing is a failure."""
        ran = self._iterations if candidate_iterations is None else candidate_iterations
        wanted = self._iterations if reference_iterations is None else reference_iterations
        reasons = [f"{self._labels[0]} ran {ran} iterations, {self._labels[1]} {wanted}"] if ran != wanted else []
        if not self._worst.outputs:
            reasons.append("the compare function judged no output")
        outputs = dict(self._worst.outputs)
        for name, why in self._impostors.passed.items() if self._impostors is not None else ():
            if name in outputs and outputs[name].passed:
                outputs[name] = blind(outputs[name], why, self._accepted)
        verdict = "failed" if reasons else verdict_over(outputs.values())
        return PairComparison(
            *self._labels,
            verdict == "passed",
            outputs,
            self._iterations,
            "; ".join(reasons),
            inconclusive(verdict),
        )

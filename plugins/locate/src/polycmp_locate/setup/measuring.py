"""What tells, without a tolerance that somebody gave, how far rounding takes the tensors of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polycmp.compare import SimpleOptions
from polycmp.judging import PerturbedRuns, RoundingTolerances, perturbed_runs
from polycmp.layerwise import PartitionedRun
from polycmp.plan import DEFAULT_COMPARE
from polycmp.runs import Resolved, Tolerances, is_measured
from polycmp.spec import CompareFunction
from polycmp.tensors import Feed
from polycmp_locate.pairing.pair_noise import paired_rounding
from polycmp_locate.pairing.view import SharedGraph, file_graph
from polycmp_locate.setting import JudgeByRounding, Setting


def rounding_of_outputs(
    resolved: Resolved, candidate: str, reference: str, *, other_model: bool = False
) -> JudgeByRounding:
    """Return what judges a model's outputs by measured rounding, as `polycmp run` does where nobody gave a tolerance.

    Args:
        resolved: The backends.
        candidate: Label of the run to judge.
        reference: Label of the run to believe.
        other_model: Whether that is no backend, but a saved run of another model.
    """
    by_one_name = replace(resolved.plan.compare, map_output={})  # both sides are asked for outputs by one name
    under_names = replace(resolved, plan=replace(resolved.plan, compare=by_one_name))
    tolerances = RoundingTolerances(under_names, reference, other_model=other_model)
    return _judging(resolved, tolerances, candidate, reference)


def _judging(resolved: Resolved, tolerances: Tolerances, candidate: str, reference: str) -> JudgeByRounding:
    """Return what judges by tolerances that are measured, with the options that were given beside them."""
    plan = resolved.plan.compare
    simple_options = next((choice.options for choice in plan.functions if choice.name == DEFAULT_COMPARE), None)
    options = simple_options if is_measured(plan) and simple_options is not None else SimpleOptions()

    def judge_by_rounding(feed: Feed, outputs: Sequence[str]) -> CompareFunction:
        tolerances.begin(feed, outputs)
        return tolerances.judge(options, candidate, reference, detail=False)

    return judge_by_rounding


def inner_rounding(resolved: Resolved, setting: Setting) -> JudgeByRounding | None:
    """Return what judges the tensors inside by measured rounding; None where nothing measures them.

    Args:
        resolved: The backends.
        setting: The two sides.
    """

    def perturbed(run: PartitionedRun) -> PerturbedRuns | None:
        return perturbed_runs(resolved, run.label, file_graph(run.graph))

    tolerances: Tolerances | None = None
    if isinstance(setting.reference.graph, SharedGraph):
        tolerances = paired_rounding(setting.candidate, setting.reference, perturbed)
    elif perturbed(setting.reference) is not None:
        tolerances = RoundingTolerances(resolved, setting.reference.label)
    return (
        None if tolerances is None else _judging(resolved, tolerances, setting.candidate.label, setting.reference.label)
    )

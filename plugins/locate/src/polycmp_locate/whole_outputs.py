"""Judging the outputs of a whole model as `polycmp run` does, where more than compare functions of tensors decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from polycmp.compare import OutputComparison, SimpleOptions
from polycmp.errors import UsageError
from polycmp.plan import DEFAULT_COMPARE, Choice, ComparePlan
from polycmp.results import Outcome
from polycmp.runs import Resolved, copy_outputs
from polycmp.session import judge_outputs
from polycmp.tensors import Feed, Outputs

#: Judges the candidate's outputs by the reference's, on some inputs.
JudgeOutputs = Callable[[Feed, Outputs, Outputs], Sequence[OutputComparison]]

#: Verdicts for which a fault is looked for.
_OFF = frozenset({"failed", "undecided"})


def output_judge(resolved: Resolved, candidate: str, reference: str) -> JudgeOutputs | None:
    """Return the judge of a model's outputs; None where each is judged by itself.

    An output of the model that the judgement names is judged by that. All others fail or pass with the whole: a
    postprocessing script may make boxes of them.

    Args:
        resolved: The run.
        candidate: Label of the run to judge.
        reference: Label of the run to believe.
    """
    plan = resolved.plan.compare
    if not (plan.script or plan.postprocess or plan.postprocess_script or plan.validate or not plan.shape_check):
        return None
    same_names = replace(resolved, plan=replace(resolved.plan, compare=replace(plan, map_output={})))

    def judge(feed: Feed, actual: Outputs, expected: Outputs) -> list[OutputComparison]:
        feeds = [(feed, copy_outputs(actual), copy_outputs(expected))]
        outcome = judge_outputs(same_names, candidate, reference, feeds)
        known = {name: item for pair in outcome.comparisons for name, item in pair.outputs.items()}
        invalid = {item.output for item in outcome.invalid}
        # Nothing that was measured explains what a metric leaves undecided: the search has to.
        failed, reason = outcome.verdict in _OFF, why_failed(outcome)
        return [
            OutputComparison(
                name,
                name,
                not (name in invalid or (known[name].verdict in _OFF if name in known else failed)),
                reason=known[name].reason if name in known else reason if failed else "",
                inconclusive="undecided" if name in known and known[name].verdict == "undecided" else "",
            )
            for name in actual
        ]

    return judge


def for_tensors(compare: ComparePlan) -> ComparePlan:
    """Return the options of comparing for tensors inside a model.

    Compare functions of what postprocessing makes, such as boxes, mean nothing there: `simple` takes their place.

    Args:
        compare: The part of the plan on comparing.
    """
    if not (compare.postprocess or compare.postprocess_script):
        return compare
    default_functions = tuple(choice for choice in compare.functions if choice.name == DEFAULT_COMPARE)
    return replace(compare, functions=default_functions or (Choice(DEFAULT_COMPARE, SimpleOptions()),))


def why_failed(outcome: Outcome) -> str:
    """Return why outputs did not pass; empty if they did."""
    reasons = [f"{item.output}: NaN or infinity in iteration {item.iteration}" for item in outcome.invalid]
    for pair in outcome.comparisons:
        reasons += [f"{item.output}: {item.reason}" for item in pair.outputs.values() if not item.passed]
        reasons += [pair.reason] if pair.reason else []
    return next(iter(reasons), "")


def refuse_means(compare: ComparePlan, what: str) -> None:
    """Refuse to judge means over the inputs where each is judged by itself.

    Args:
        compare: The part of the plan on comparing.
        what: Name of the command that looks at one input at a time.

    Raises:
        UsageError: Means are asked for.
    """
    if compare.check_average:
        raise UsageError(
            f"--check-average judges means over all inputs, and {what} looks at one input at a time",
            hint="leave it out; polycmp run, locate --rank and --save-mixed take it",
        )

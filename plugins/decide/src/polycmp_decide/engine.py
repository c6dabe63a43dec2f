"""Both sides on the same samples, their predictions, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polycmp.errors import DataError, UsageError
from polycmp.runs import BackendRun, Schedule, resolve, run_steps
from polycmp_decide.decision import Decision, Demand, decide
from polycmp_decide.scores import Scores
from polycmp_decide.tasks import Task

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry

Stage = Callable[[str], None]


@dataclass(frozen=True)
class Samples:
    """The samples, in the order in which the inputs come.

    Attributes:
        names: Their names.
        labels: What is right of each.
        source: Where the labels come from, for messages.
    """

    names: Sequence[str]
    labels: Sequence[Any]
    source: str


@dataclass(frozen=True)
class Side:
    """One side, and what it predicts.

    Attributes:
        label: The backend's label.
        version: What drives it, with its version.
        predictions: A prediction for each sample.
        error: Why it failed; empty if it did not.
        hint: What to do about that.
        notes: Remarks of the backend.
    """

    label: str
    version: str = ""
    predictions: list[Any] = field(default_factory=list)
    error: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings:
    """All that was found.

    Attributes:
        new: The new side.
        old: The old side, which is the reference.
        samples: The samples.
        task: The task.
        demand: What was asked.
        truths: What is right of each sample; none where a side failed.
        scores: The scores; None where a side failed.
        decision: The answer; None where a side failed.
        notes: Remarks on the inputs.
    """

    new: Side
    old: Side
    samples: Samples
    task: Task
    demand: Demand
    truths: Sequence[Any] = ()
    scores: Scores | None = None
    decision: Decision | None = None
    notes: tuple[str, ...] = ()


def find(
    plan: Plan, registry: Registry, task: Task, samples: Samples, demand: Demand, on_stage: Stage = lambda _: None
) -> Findings:
    """Run both sides on the samples, and decide.

    Args:
        plan: Two backends, the new side first, and the inputs.
        registry: The plugins.
        task: The task.
        samples: The samples; as many as there are inputs.
        demand: What is asked.
        on_stage: Told in words what happens next.

    Raises:
        PolycmpError: Nothing could be run or scored: wrong names, no model, no data, labels that do not fit.
    """
    truths = [task.truth(label) for label in samples.labels]
    resolved = resolve(plan, registry)
    runs = [backend.make_run() for backend in resolved.backends]
    if len(runs) != 2:
        raise UsageError(
            f"{len(runs)} sides", why="one new side is held beside one old one",
            hint="polycmp decide NEW OLD -b BACKEND, or MODEL -b NEW -b OLD",
        )  # fmt: skip
    predicted: dict[str, list[Any]] = {run.label: [] for run in runs}
    schedule = Schedule(sequential=plan.sequential, warm_up=plan.warm_up, on_stage=on_stage, together=True)
    for step in run_steps(runs, resolved.source, schedule):
        for label, outputs in step.outputs.items():
            predicted[label] += task.predictions(outputs, step.feed)
    new, old = (_side(run, predicted[run.label][: len(truths)]) for run in runs)
    findings = Findings(new, old, samples, task, demand, notes=tuple(resolved.source.notes))
    if new.error or old.error:
        return findings
    if any(len(side.predictions) < len(truths) for side in (new, old)) or _more(predicted, plan, len(truths)):
        counts = ", ".join(f"{len(items)} by {label}" for label, items in predicted.items())
        raise DataError(
            f"{len(truths)} labels, and other numbers of predictions: {counts}", whose=samples.source,
            hint="give a label for each sample, in the order of the inputs",
        )  # fmt: skip
    on_stage("deciding")
    scores = task.scores(new.predictions, old.predictions, truths)
    return Findings(
        new, old, samples, task, demand, truths, scores, decide(scores, demand), tuple(resolved.source.notes)
    )


def _more(predicted: dict[str, list[Any]], plan: Plan, number: int) -> bool:
    """Return whether there are predictions that no label is for; a picture that fills a batch up has none."""
    return plan.data.loader.name != "pictures" and any(len(items) > number for items in predicted.values())


def _side(run: BackendRun, predictions: list[Any]) -> Side:
    result = run.result
    return Side(run.label, result.version, predictions, result.error, result.hint, tuple(result.notes))

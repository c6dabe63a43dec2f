"""Run of all sides on the same samples: their predictions, scores and the decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polycmp.errors import DataError, UsageError
from polycmp.runs import BackendRun, Resolved, Schedule, resolve, run_steps
from polycmp_decide.decision import Decision, Demand, decide
from polycmp_decide.scores import Scores
from polycmp_decide.tasks import Task
from polycmp_decide.whose import Columns, OutputShares

if TYPE_CHECKING:
    from polycmp.plan import Plan
    from polycmp.plugins import Registry

Stage = Callable[[str], None]


@dataclass(frozen=True)
class Samples:
    """The samples, in the order in which the inputs come.

    Attributes:
        names: Their names.
        labels: The label of each.
        source: Where the labels come from, for messages.
    """

    names: Sequence[str]
    labels: Sequence[Any]
    source: str


@dataclass(frozen=True)
class SidePredictions:
    """One side and its predictions.

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
class DropShare:
    """Share of one of two causes in a drop: of the new file, or of the device.

    Attributes:
        name: `file` or `device`.
        label: Label of the side that it is seen on.
        scores: The scores with it, and those without.
        decision: How sure its drop is.
    """

    name: str
    label: str
    scores: Scores
    decision: Decision


@dataclass(frozen=True)
class DecisionFindings:
    """Findings on the new side.

    Attributes:
        new: The new side.
        old: The old side, which is the reference.
        host: The new file on the old side's backend; None of two sides.
        samples: The samples.
        task: The task.
        demand: The demand.
        truths: The right answer of each sample; none where a side failed.
        scores: The scores; None where a side failed.
        decision: The answer; None where a side failed.
        notes: Remarks on the inputs.
        parts: Shares of the new file and of the device in the drop; none of two sides.
        shares: Shares in the error of the outputs; None of two sides.
    """

    new: SidePredictions
    old: SidePredictions
    host: SidePredictions | None
    samples: Samples
    task: Task
    demand: Demand
    truths: Sequence[Any] = ()
    scores: Scores | None = None
    decision: Decision | None = None
    notes: tuple[str, ...] = ()
    parts: tuple[DropShare, ...] = ()
    shares: OutputShares | None = None

    @property
    def sides(self) -> tuple[SidePredictions, ...]:
        """All sides, the old one last."""
        return (self.new, self.old) if self.host is None else (self.new, self.host, self.old)


def find(
    plan: Plan, registry: Registry, task: Task, samples: Samples, demand: Demand, on_stage: Stage = lambda _: None
) -> DecisionFindings:
    """Run all sides on the samples, and decide; a third side separates the file's share from the device's.

    Args:
        plan: Two backends, the new side first, or three, the new file on the old side's backend among them; and the
            inputs.
        registry: The plugins.
        task: The task.
        samples: The samples; as many as there are inputs.
        demand: The demand.
        on_stage: Told in words what happens next.

    Raises:
        PolycmpError: Nothing could be run or scored: wrong names, no model, no data, labels that do not fit.
    """
    truths = [task.truth(label) for label in samples.labels]
    resolved = resolve(plan, registry)
    runs = {backend.label: backend.make_run() for backend in resolved.backends}
    order = _order(resolved)
    shares = OutputShares(order, {}) if isinstance(order, Columns) else None
    labels = [order.device, order.host, order.reference.label] if isinstance(order, Columns) else list(runs)
    predicted: dict[str, list[Any]] = {label: [] for label in labels}
    schedule = Schedule(sequential=plan.sequential, warm_up=plan.warm_up, on_stage=on_stage, together=True)
    for step in run_steps(list(runs.values()), resolved.source, schedule):
        for label, outputs in step.outputs.items():
            predicted[label] += task.predictions(outputs, step.feed)
        if shares is not None:
            shares.add(step.outputs)
    sides = [_side(runs[label], predicted[label][: len(truths)]) for label in labels]
    findings = DecisionFindings(
        sides[0], sides[-1], sides[1] if len(sides) > 2 else None, samples, task, demand,
        notes=tuple(resolved.source.notes), shares=shares,
    )  # fmt: skip
    if any(side.error for side in sides):
        return findings
    if any(len(side.predictions) < len(truths) for side in sides) or _more(predicted, plan, len(truths)):
        counts = ", ".join(f"{len(items)} by {label}" for label, items in predicted.items())
        raise DataError(
            f"{len(truths)} labels, and other numbers of predictions: {counts}", whose=samples.source,
            hint="give a label for each sample, in the order of the inputs",
        )  # fmt: skip
    on_stage("deciding")
    scores = task.scores(findings.new.predictions, findings.old.predictions, truths)
    decided = replace(findings, truths=truths, scores=scores, decision=decide(scores, demand))
    return decided if findings.host is None else replace(decided, parts=tuple(_parts(decided, findings.host)))


def _order(resolved: Resolved) -> Columns | None:
    """Return the roles of three sides; None of two.

    Raises:
        UsageError: There are others.
    """
    backends = resolved.backends
    columns = Columns.of(backends, backends[-1].label)
    if len(backends) == 2 or columns is not None:
        return columns
    raise UsageError(
        f"{len(backends)} sides", why="one new side is held beside one old one, or a third, the new file on the old "
        "side's backend, stands between them",
        hint="polycmp decide NEW OLD -b BACKEND, or OLD -b DEVICE:model=NEW -b BACKEND:model=NEW -b BACKEND",
    )  # fmt: skip


def _parts(findings: DecisionFindings, host: SidePredictions) -> Iterator[DropShare]:
    """Yield the drop of the new file on the old side's backend, and the further drop on the device."""
    for name, label, new, old in (
        ("file", host.label, host, findings.old), ("device", findings.new.label, findings.new, host),
    ):  # fmt: skip
        scores = findings.task.scores(new.predictions, old.predictions, findings.truths)
        yield DropShare(name, label, scores, decide(scores, findings.demand))


def _more(predicted: dict[str, list[Any]], plan: Plan, number: int) -> bool:
    """Return whether there are predictions without a label, except of pictures that fill up a batch."""
    return plan.data.loader.name != "pictures" and any(len(items) > number for items in predicted.values())


def _side(run: BackendRun, predictions: list[Any]) -> SidePredictions:
    result = run.result
    return SidePredictions(run.label, result.version, predictions, result.error, result.hint, tuple(result.notes))

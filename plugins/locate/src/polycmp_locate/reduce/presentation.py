"""Result of a reduction, in the form that reports render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.report import Block, Cell, Column, Fact, Note, Result, Row, Table, Verdict
from polycmp.sentences import ERROR, FOUND, NO_FAULT, counted
from polycmp_locate.reduce.parts import ModelPart
from polycmp_locate.reduce.reduction import Reduction
from polycmp_locate.report_builder import build_result

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph

_SHOWN = 20


def result_of(reduction: Reduction) -> Result:
    """Build the result for reports. Exit status 0: it was reduced, or nothing fails; 3: stopped, or no start."""
    return build_result(
        "debug reduce",
        _verdict(reduction),
        _heading(reduction),
        _sentence(reduction),
        title="debug reduce",
        typed=reduction.command,
        seconds=reduction.seconds,
        timed=reduction.problem is None,
        document=_document(reduction),
        facts=(Fact("operators", str(len(reduction.graph.nodes))), Fact("steps", str(reduction.steps))),
        content=_content(reduction),
        notes=reduction.notes,
    )


def _verdict(reduction: Reduction) -> Verdict:
    return "error" if reduction.problem is not None or reduction.stopped else "passed"


def _heading(reduction: Reduction) -> str:
    if reduction.problem is not None or reduction.stopped:
        return ERROR
    return NO_FAULT if reduction.failing is None else FOUND


def _sentence(reduction: Reduction) -> str:
    if reduction.problem is not None:
        return reduction.problem.what
    if reduction.failing is None:
        return "the whole model passes, so there is nothing to reduce"
    label = reduction.graph.nodes[reduction.failing.nodes[-1]].label
    size = reduction.failing.size
    part = f"{size} of {counted(len(reduction.graph.nodes), 'operator')}"
    what = f"{part} still fail" if size > 1 else f"{label} alone still fails, {part}"
    return f"{'stopped; so far ' if reduction.stopped else ''}{what}, after {counted(reduction.steps, 'step')}"


def _content(reduction: Reduction) -> Iterator[Block]:
    if reduction.problem is not None:
        yield reduction.problem
    if reduction.failing is not None:
        yield _table(reduction.graph, reduction.failing)
        yield Note(reduction.sentence, label="whole model")
        if reduction.passing is not None:
            yield Note(
                f"{counted(reduction.passing.size, 'operator')}: {_borders(reduction.passing)}",
                label="nearest part that passes",
            )
    if reduction.replayed:
        yield Note(f"{reduction.replayed} verdicts are those of the earlier search")
    yield from (Note(f"{path} ({what})", label="saved") for what, path in reduction.files)


def _table(graph: ModelGraph, part: ModelPart) -> Table:
    nodes = [graph.nodes[index] for index in part.nodes]
    rows = tuple(
        Row(node.label, "failed", (Cell(", ".join(node.inputs)), Cell(", ".join(node.outputs)))) for node in nodes
    )
    more = f" (the first {_SHOWN} of {len(rows)})" if len(rows) > _SHOWN else ""
    return Table(
        title=f"The smallest part that fails{more}: {_borders(part)}",
        rows=rows[:_SHOWN],
        columns=(Column("Reads"), Column("Makes")),
        name_title="Operator",
        judged=False,
    )


def _borders(part: ModelPart) -> str:
    return f"{_some(part.inputs)} → {_some(part.outputs)}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f", … ({len(names)})" if len(names) > 4 else "")


def _document(reduction: Reduction) -> dict[str, Any]:
    return {
        "fault": reduction.sentence,
        "operators": len(reduction.graph.nodes),
        "steps": reduction.steps,
        "steps_of_an_earlier_search": reduction.replayed,
        "stopped": reduction.stopped,
        "failing": _part(reduction.graph, reduction.failing),
        "passing": _part(reduction.graph, reduction.passing),
        "files": dict(reduction.files),
    }


def _part(graph: ModelGraph, part: ModelPart | None) -> dict[str, Any] | None:
    if part is None:
        return None
    nodes = [graph.nodes[index] for index in part.nodes]
    operators = [{"type": node.op_type, "name": node.name, "outputs": list(node.outputs)} for node in nodes]
    return {"inputs": list(part.inputs), "outputs": list(part.outputs), "operators": operators}

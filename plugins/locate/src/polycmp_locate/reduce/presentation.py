"""Result of a reduction, in the form that reports render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.report import Block, Cell, Column, Fact, Note, Result, Row, Table, Verdict
from polycmp.sentences import ERROR, FOUND, NO_FAULT, counted
from polycmp_locate.reduce.parts import Part
from polycmp_locate.reduce.reduction import Reduction
from polycmp_locate.report_builder import build_result

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph

_SHOWN = 20


def result_of(found: Reduction) -> Result:
    """Return it as reports render it. Exit status 0: it was reduced, or nothing fails; 3: stopped, or no start."""
    return build_result(
        "debug reduce",
        _verdict(found),
        _heading(found),
        _sentence(found),
        title="debug reduce",
        typed=found.command,
        seconds=found.seconds,
        timed=found.problem is None,
        document=_document(found),
        facts=(Fact("operators", str(len(found.graph.nodes))), Fact("steps", str(found.steps))),
        content=_content(found),
        notes=found.notes,
    )


def _verdict(found: Reduction) -> Verdict:
    return "error" if found.problem is not None or found.stopped else "passed"


def _heading(found: Reduction) -> str:
    if found.problem is not None or found.stopped:
        return ERROR
    return NO_FAULT if found.failing is None else FOUND


def _sentence(found: Reduction) -> str:
    if found.problem is not None:
        return found.problem.what
    if found.failing is None:
        return "the whole model passes, so there is nothing to reduce"
    label = found.graph.nodes[found.failing.nodes[-1]].label
    size = found.failing.size
    part = f"{size} of {counted(len(found.graph.nodes), 'operator')}"
    what = f"{part} still fail" if size > 1 else f"{label} alone still fails, {part}"
    return f"{'stopped; so far ' if found.stopped else ''}{what}, after {counted(found.steps, 'step')}"


def _content(found: Reduction) -> Iterator[Block]:
    if found.problem is not None:
        yield found.problem
    if found.failing is not None:
        yield _table(found.graph, found.failing)
        yield Note(found.sentence, label="whole model")
        if found.passing is not None:
            yield Note(f"{_count(found.passing.size)}: {_borders(found.passing)}", label="nearest part that passes")
    if found.taken:
        yield Note(f"{found.taken} verdicts are those of the earlier search")
    yield from (Note(f"{path} ({what})", label="saved") for what, path in found.files)


def _table(graph: ModelGraph, part: Part) -> Table:
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


def _borders(part: Part) -> str:
    return f"{_some(part.inputs)} → {_some(part.outputs)}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f", … ({len(names)})" if len(names) > 4 else "")


def _count(size: int) -> str:
    return f"{size} operator{'' if size == 1 else 's'}"


def _document(found: Reduction) -> dict[str, Any]:
    return {
        "fault": found.sentence,
        "operators": len(found.graph.nodes),
        "steps": found.steps,
        "steps_of_an_earlier_search": found.taken,
        "stopped": found.stopped,
        "failing": _part(found.graph, found.failing),
        "passing": _part(found.graph, found.passing),
        "files": dict(found.files),
    }


def _part(graph: ModelGraph, part: Part | None) -> dict[str, Any] | None:
    if part is None:
        return None
    nodes = [graph.nodes[index] for index in part.nodes]
    operators = [{"type": node.op_type, "name": node.name, "outputs": list(node.outputs)} for node in nodes]
    return {"inputs": list(part.inputs), "outputs": list(part.outputs), "operators": operators}

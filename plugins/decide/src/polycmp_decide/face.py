"""Findings on the new side, in the form that reports render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from polycmp.report import Block, Cell, Column, Fact, Facts, NextStep, Note, Problem, Result, Row, Table, Verdict
from polycmp.sentences import backends_failed, heading_of
from polycmp_decide.decision_run import DecisionFindings, DropShare, SidePredictions
from polycmp_decide.sentences import answer, guessing, loss, points
from polycmp_decide.sources import open_pictures, thumbnail_of

_VERDICTS: dict[str, Verdict] = {"worse": "failed", "not worse": "passed", "undecided": "undecided"}
_PREPARED = "; pictures are prepared by --pictures-mean, --pictures-std, --pictures-scale, --pictures-bgr"
#: Samples of which a page has a small picture, those that lost most.
_DRAWN = 100


def result_of(
    findings: DecisionFindings, command_line: str, steps: Sequence[NextStep] = (), pictures: str = ""
) -> Result:
    """Build the result for reports.

    Args:
        findings: The findings.
        command_line: The command line as typed.
        steps: Commands to type next.
        pictures: Folder or data set with the samples, where they are pictures; empty where they are not.

    Raises:
        FileError: A picture cannot be read.
    """
    decision = findings.decision
    verdict: Verdict = _VERDICTS[decision.word] if decision else "error"
    failed = [side.label for side in findings.sides if side.error]
    return Result(
        command="decide",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=_sentence(findings) or backends_failed(failed),
        title=f"{findings.new.label} · {findings.old.label}",
        content=(*_blocks(findings, pictures), *steps),
        command_line=command_line,
        document={
            "schema": 1, "verdict": verdict, "command": command_line, "decide": _document(findings),
        },
    )  # fmt: skip


def _blocks(findings: DecisionFindings, pictures: str) -> Iterator[Block]:
    sides = findings.sides
    for side in sides:
        if side.error:
            yield Problem(f"{side.label} failed", side.error, side.hint, subject=side.label)
    if findings.scores and findings.decision:
        yield _scores(findings)
        rows = list(_changed(findings))
        if pictures:
            drawn = open_pictures(pictures)
            small = [replace(row, drawing=thumbnail_of(drawn, row.name)) for row in rows[:_DRAWN]]
            rows = [*small, *rows[_DRAWN:]]
        if rows:
            yield Table(
                "Samples that change", tuple(rows), _columns(findings), name_title="Sample", judged=False,
                drawing_title="Picture" if pictures else "", heading="Samples that change", failures_first=True,
                summary=f"{findings.scores.lost:,} lost, {findings.scores.won:,} won",
            )  # fmt: skip
    shares = findings.shares.facts() if findings.shares is not None else None
    if shares is not None:
        yield shares
    doubt = guessing(findings.old.label, findings.truths, findings.scores, findings.task.shown)
    if doubt:
        yield Note(f"{doubt}{_PREPARED if pictures else ''}")
    yield from (Note(note, side.label) for side in sides for note in side.notes)
    yield from (Note(f"inputs: {note}") for note in findings.notes)


def _sentence(findings: DecisionFindings) -> str:
    """Return the answer in one sentence, with whose loss it is where there are three sides; empty where one failed."""
    if findings.decision is None or findings.scores is None:
        return ""
    sentence = answer(findings.decision, findings.scores, findings.demand)
    return "; ".join([sentence, *map(loss, findings.parts)])


def _columns(findings: DecisionFindings) -> tuple[Column, ...]:
    between = [Column(findings.host.label)] if findings.host is not None else []
    return (Column("Right"), Column("Old"), *between, Column("New"), Column("Change"))


def _scores(findings: DecisionFindings) -> Facts:
    assert findings.scores is not None
    assert findings.decision is not None
    new, old = findings.scores.totals
    decision, measure = findings.decision, findings.task.measure
    host = [Fact(part.label, f"{measure} {points(part.scores.totals[0])} of 100") for part in findings.parts[:1]]
    items = (
        Fact(findings.old.label, f"{measure} {points(old)} of 100"),
        *host,
        Fact(findings.new.label, f"{measure} {points(new)} of 100"),
        Fact("drop", f"{points(decision.drop)} points, between {points(decision.low)} and {points(decision.high)}"),
        *(Fact(f"of the {part.name}", loss(part)) for part in findings.parts),
    )
    return Facts(f"{findings.scores.number:,} samples", items)


def _changed(findings: DecisionFindings) -> Iterator[Row]:
    """Yield the samples on which the sides differ in their score, the largest loss first."""
    scores, task = findings.scores, findings.task
    assert scores is not None
    for at in sorted(range(scores.number), key=lambda place: scores.new[place] - scores.old[place]):
        change = float(scores.new[at] - scores.old[at])
        if change:
            sides = reversed(findings.sides)
            cells = (findings.truths[at], *(side.predictions[at] for side in sides))
            change_text = ("lost" if change < 0 else "won") if scores.is_hit else points(change)
            yield Row(
                findings.samples.names[at], "info",
                (*(task.shown(cell) for cell in cells), Cell(change_text, change)),
            )  # fmt: skip


def _document(findings: DecisionFindings) -> dict[str, Any]:
    decision, scores, task = findings.decision, findings.scores, findings.task
    document: dict[str, Any] = {
        side: {"label": item.label, "version": item.version, "error": item.error or None}
        for side, item in _sides(findings)
    }
    if decision is None or scores is None:
        return document
    new, old = scores.totals
    document["new"]["score"], document["old"]["score"] = new, old
    if findings.shares is not None:
        document["whose_loss"] = {part.name: _part(part) for part in findings.parts}
        document["error_shares"] = findings.shares.document()
    return document | {
        "answer": decision.word, "measure": task.measure, "samples": scores.number, "lost": scores.lost,
        "won": scores.won, "p": decision.p,
        "drop": {"value": decision.drop, "low": decision.low, "high": decision.high},
        "max_drop": findings.demand.max_drop, "confidence": findings.demand.confidence,
        "visible_drop": decision.visible, "needed_samples": decision.needed or None,
        "changed": [
            {
                "sample": findings.samples.names[at], "right": task.shown(findings.truths[at]),
                "old": task.shown(findings.old.predictions[at]), "new": task.shown(findings.new.predictions[at]),
                "old_score": float(scores.old[at]), "new_score": float(scores.new[at]),
            }
            for at in range(scores.number)
            if scores.new[at] != scores.old[at]
        ],
    }  # fmt: skip


def _part(part: DropShare) -> dict[str, Any]:
    decision = part.decision
    return {
        "label": part.label, "drop": {"value": decision.drop, "low": decision.low, "high": decision.high},
        "p": decision.p, "lost": part.scores.lost, "won": part.scores.won,
    }  # fmt: skip


def _sides(findings: DecisionFindings) -> tuple[tuple[str, SidePredictions], ...]:
    host = (("host", findings.host),) if findings.host is not None else ()
    return (("new", findings.new), *host, ("old", findings.old))

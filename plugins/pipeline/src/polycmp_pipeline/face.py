"""Findings on a pipeline, in the form that reports render."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from polycmp.report import Block, Column, NextStep, Note, Point, Problem, Result, Row, Series, State, Table
from polycmp.sentences import MARKS, counted, heading_of
from polycmp_pipeline.findings import PipelineFindings, StageFinding
from polycmp_pipeline.sentences import blamed, inherited_from, sentence, verdict_of

_COLUMNS = (
    Column("Error of range", "number", digits=2),
    Column("End to end"),
    Column("What it is", wide=True),
)


def result_of(findings: PipelineFindings, path: str, command_line: str, steps: Sequence[NextStep] = ()) -> Result:
    """Build the result for reports.

    Args:
        findings: The findings.
        path: The pipeline file.
        command_line: The command line as typed.
        steps: Commands to type next.
    """
    verdict = verdict_of(findings)
    return Result(
        command="pipeline",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=sentence(findings),
        title=path,
        content=(*_blocks(findings), *steps),
        environment=findings.environment,
        command_line=command_line,
        document={
            "schema": 1, "verdict": verdict, "command": command_line, "pipeline": _document(findings),
        },
    )  # fmt: skip


def _blocks(findings: PipelineFindings) -> Iterator[Block]:
    chosen = blamed(findings)
    rows = tuple(_row(stage, findings, chosen is stage) for stage in findings.stages)
    not_reached = tuple(Row(name, "skipped", (None, "not reached", "")) for name in findings.not_reached)
    yield Table(
        "Stages on the reference's data", (*rows, *not_reached), _COLUMNS, name_title="Stage", reason_title="Why",
        summary=counted(findings.samples, "sample"),
    )  # fmt: skip
    for stage in findings.stages:
        if stage.verdict == "error":
            yield Problem(f"{stage.stage.name} failed", stage.reason, stage.hint, subject=stage.stage.name)
    yield _picture(findings)
    for stage in findings.stages:
        yield from (Note(note, stage.stage.name) for note in dict.fromkeys(stage.notes))


def _row(finding: StageFinding, findings: PipelineFindings, is_chosen: bool) -> Row:
    origin = inherited_from(finding, findings)
    apart = finding.end_to_end.text
    state: State = finding.verdict
    others = [value.reason for value in finding.values if value.reason not in {"", finding.reason}]
    same = ("the same on both sides",) if finding.stage.is_same else ()
    return Row(
        finding.stage.name,
        state,
        (
            finding.share if math.isfinite(finding.share) else None,
            f"inherits from {origin}" if origin else apart,
            finding.stage.subject,
        ),
        reason=finding.reason,
        mark=MARKS[state] if is_chosen else "",
        chosen=is_chosen,
        remarks=(f"end to end: {apart}", *same, *others),
    )


def _picture(findings: PipelineFindings) -> Series:
    points = tuple(
        Point(
            stage.stage.name,
            stage.end_to_end.share,
            "info" if stage.verdict == "skipped" else stage.verdict,
            f"{stage.stage.name}: {stage.end_to_end.text}",
            ring=stage.share if math.isfinite(stage.share) else None,
            mark="wrong on equal inputs" if stage is blamed(findings) else "",
        )
        for stage in findings.stages
    )
    return Series(
        "Error from stage to stage",
        points,
        remark="The largest error as a share of what the numbers span, end to end; decisions that differ are at the "
        "top. Rings: on the reference's data.",
        summary="; ".join(point.text for point in points),
        ends=("first stage", "last stage"),
        legend={"passed": "right on equal inputs", "failed": "wrong on equal inputs", "ring": "on equal inputs"},
    )


def _document(findings: PipelineFindings) -> dict[str, Any]:
    first = blamed(findings)
    return {
        "samples": findings.samples,
        "first_wrong": first.stage.name if first is not None and first.verdict in {"failed", "error"} else None,
        "not_reached": list(findings.not_reached),
        "stages": [
            {
                "name": stage.stage.name,
                "kind": "model" if stage.stage.functions is None else "function",
                "subject": stage.stage.subject,
                "verdict": stage.verdict,
                "reason": stage.reason or None,
                "end_to_end": {
                    "text": stage.end_to_end.text, "differs": stage.end_to_end.differs,
                    "error_of_range": _finite(stage.end_to_end.share), "decides": stage.end_to_end.decides,
                },
                "inherits_from": inherited_from(stage, findings) or None,
                "values": {
                    value.name: {
                        "verdict": value.verdict, "reason": value.reason or None, "items": value.items,
                        "differing": value.differing, "error_of_range": _finite(value.share),
                    }
                    for value in stage.values
                },
            }
            for stage in findings.stages
        ],
    }  # fmt: skip


def _finite(share: float | None) -> float | None:
    return share if share is not None and math.isfinite(share) else None

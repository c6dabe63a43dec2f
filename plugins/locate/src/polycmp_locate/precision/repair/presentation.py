"""A repair in the form that reports render, and as a JSON document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from polycmp.report import Block, Cell, Column, Fact, NextStep, Note, Result, Row, Table, Verdict
from polycmp.sentences import FAILED, FOUND, PASSED, counted
from polycmp_locate.precision.rank.result import MixedTrial
from polycmp_locate.precision.repair.result import Repair
from polycmp_locate.report_builder import build_result


def result_of(repair: Repair) -> Result:
    """Build the result of the repair for reports."""
    then = None
    if repair.changes and not repair.files:
        then = NextStep(f"{repair.command} --save-fixed fixed.onnx", "write the mended model")
    return build_result(
        "locate",
        _verdict(repair),
        PASSED if _is_equal(repair) else FOUND if repair.after is not None else FAILED,
        _sentence(repair),
        title=repair.candidate,
        typed=repair.command,
        seconds=repair.seconds,
        kind="repair",
        document=_document(repair),
        facts=(Fact("changes", str(len(repair.changes))), Fact("runs", str(repair.runs))),
        content=_content(repair),
        notes=repair.notes,
        files=repair.files,
        then=then,
    )


def _is_equal(repair: Repair) -> bool:
    return repair.before is not None and repair.before.passed


def _verdict(repair: Repair) -> Verdict:
    return "passed" if _is_equal(repair) else "failed"


def _sentence(repair: Repair) -> str:
    if _is_equal(repair):
        return f"{repair.candidate} meets the tolerance as it is"
    if repair.after is None:
        return f"no change was found that brings {repair.candidate} within tolerance; nothing was written"
    bring = f"{counted(len(repair.changes), 'change')} from the source bring{'s' if len(repair.changes) == 1 else ''}"
    return f"{bring} {repair.candidate} within tolerance: {_error(repair.before)} before, {_error(repair.after)} after"


def _error(trial: MixedTrial | None) -> str:
    if trial is None:
        return "unknown"
    if trial.error:
        return "it did not run"
    if math.isinf(trial.ratio):
        return "no error" if trial.ratio > 0 else "an error without bounds"
    return f"an error of {10 ** (-trial.ratio / 20):.2g}"


def _content(repair: Repair) -> Iterator[Block]:
    if repair.suspects:
        yield Table(
            "Layers that are wrong by themselves",
            tuple(
                Row(item.name, "failed", (Cell("broken") if item.ratio == float("-inf") else item.ratio,))
                for item in repair.suspects
            ),
            (Column("Own dB", "number"),),
            name_title="Layer",
            judged=False,
            failures_first=True,
        )
    yield from (Note(f"{item.where}: {item.text}", label=f"{item.kind} changed") for item in repair.changes)


def _document(repair: Repair) -> dict[str, Any]:
    """Return the fields of the document that only a repair has."""
    return {
        "candidate": repair.candidate,
        "reference": repair.reference,
        "suspects": [
            {"layer": item.name, "operators": list(item.operators), "own_snr_db": item.ratio}
            for item in repair.suspects
        ],
        "changes": [{"kind": item.kind, "where": item.where, "text": item.text} for item in repair.changes],
        "before": _trial(repair.before),
        "after": _trial(repair.after),
        "runs": repair.runs,
        "files": repair.files,
    }


def _trial(trial: MixedTrial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    return {
        "passed": trial.passed,
        "snr_db": None if trial.error else trial.ratio,
        "reason": trial.reason,
        "error": trial.error or None,
    }

"""A repair in the form that reports render, and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polycmp.report import Block, Cell, Column, Fact, NextStep, Note, Result, Row, Table, Verdict
from polycmp.sentences import FAILED, FOUND, PASSED, counted
from polycmp_locate.precision.rank.result import MixedTrial
from polycmp_locate.precision.repair.result import Repair
from polycmp_locate.report_builder import build_result, number


def result_of(found: Repair) -> Result:
    """Build the result of the repair for reports."""
    then = None
    if found.changes and not found.files:
        then = NextStep(f"{found.command} --save-fixed fixed.onnx", "write the mended model")
    return build_result(
        "locate",
        _verdict(found),
        PASSED if _is_equal(found) else FOUND if found.after is not None else FAILED,
        _sentence(found),
        title=found.candidate,
        typed=found.command,
        seconds=found.seconds,
        kind="repair",
        document=_document(found),
        facts=(Fact("changes", str(len(found.changes))), Fact("runs", str(found.runs))),
        content=_content(found),
        notes=found.notes,
        files=found.files,
        then=then,
    )


def _is_equal(found: Repair) -> bool:
    return found.before is not None and found.before.passed


def _verdict(found: Repair) -> Verdict:
    return "passed" if _is_equal(found) else "failed"


def _sentence(found: Repair) -> str:
    if _is_equal(found):
        return f"{found.candidate} meets the tolerance as it is"
    if found.after is None:
        return f"no change was found that brings {found.candidate} within tolerance; nothing was written"
    bring = f"{counted(len(found.changes), 'change')} from the source bring{'s' if len(found.changes) == 1 else ''}"
    return f"{bring} {found.candidate} within tolerance: {_error(found.before)} before, {_error(found.after)} after"


def _error(trial: MixedTrial | None) -> str:
    if trial is None:
        return "unknown"
    if trial.error:
        return "it did not run"
    ratio = number(trial.ratio)
    if isinstance(ratio, float):
        return f"an error of {10 ** (-ratio / 20):.2g}"
    return "no error" if ratio == "inf" else "an error without bounds"


def _content(found: Repair) -> Iterator[Block]:
    if found.suspects:
        yield Table(
            "Layers that are wrong by themselves",
            tuple(
                Row(item.name, "failed", (Cell("broken") if item.ratio == float("-inf") else item.ratio,))
                for item in found.suspects
            ),
            (Column("Own dB", "number"),),
            name_title="Layer",
            judged=False,
            failures_first=True,
        )
    yield from (Note(f"{item.where}: {item.text}", label=f"{item.kind} changed") for item in found.changes)


def _document(found: Repair) -> dict[str, Any]:
    """Return the fields of the document that only a repair has."""
    return {
        "candidate": found.candidate,
        "reference": found.reference,
        "suspects": [
            {"layer": item.name, "operators": list(item.operators), "own_snr_db": number(item.ratio)}
            for item in found.suspects
        ],
        "changes": [{"kind": item.kind, "where": item.where, "text": item.text} for item in found.changes],
        "before": _trial(found.before),
        "after": _trial(found.after),
        "runs": found.runs,
        "files": found.files,
    }


def _trial(trial: MixedTrial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    return {
        "passed": trial.passed,
        "snr_db": None if trial.error else number(trial.ratio),
        "reason": trial.reason,
        "error": trial.error or None,
    }

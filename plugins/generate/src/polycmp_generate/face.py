"""Findings on the texts, in the form that reports render."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from polycmp.report import (
    Block,
    Cell,
    Column,
    Fact,
    Facts,
    NextStep,
    Note,
    Point,
    Problem,
    Result,
    Row,
    Series,
    Table,
    Verdict,
)
from polycmp.sentences import backends_failed, cut, heading_of
from polycmp_generate.generation import GenerationFindings, SideRecord, Trace
from polycmp_generate.prompts import Wording
from polycmp_generate.sentences import answer

_VERDICTS: dict[str, Verdict] = {"worse": "failed", "not worse": "passed", "undecided": "undecided"}
#: Prompts that a terminal shows, and whose texts it shows.
_SHOWN_PROMPTS, _SHOWN_TEXTS = 10, 3
#: Characters of a text that a terminal shows before and behind the place where two part.
_LENGTH_BEFORE, _LENGTH_BEHIND = 30, 50
_COLUMNS = (
    Column("KL per token", "number", digits=2, wanted=2),
    Column("Same top token", wanted=1),
    Column("First other", wanted=1),
    Column("Margin", "number", digits=2),
    Column("Tie"),
)


def result_of(findings: GenerationFindings, text: Wording, command_line: str, steps: Sequence[NextStep] = ()) -> Result:
    """Build the result for reports.

    Args:
        findings: The findings.
        text: Converts tokens to text.
        command_line: The command line as typed.
        steps: Commands to type next.
    """
    decision = findings.decision
    verdict: Verdict = _VERDICTS[decision.word] if decision else "error"
    failed = [side.label for side in (findings.new, findings.old) if side.error]
    return Result(
        command="generate",
        verdict=verdict,
        heading=heading_of(verdict),
        sentence=answer(findings, decision) if decision else backends_failed(failed),
        title=f"{findings.new.label} · {findings.old.label}",
        content=(*_blocks(findings, text), *steps),
        command_line=command_line,
        document={
            "schema": 1, "verdict": verdict, "command": command_line, "generate": _document(findings, text),
        },
    )  # fmt: skip


def _blocks(findings: GenerationFindings, text: Wording) -> Iterator[Block]:
    sides = (findings.new, findings.old)
    for side in sides:
        if side.error:
            yield Problem(f"{side.label} failed", side.error, side.hint, subject=side.label)
    if findings.decision:
        ranked = sorted(findings.traces, key=lambda trace: trace.mean, reverse=True)
        yield _figures(findings)
        rows = tuple(_row(findings, trace, text) for trace in ranked)
        yield Table(
            "Prompts, the worst first", rows[:_SHOWN_PROMPTS], _COLUMNS, name_title="Prompt", judged=False,
            heading="Prompts, the worst first",
        )  # fmt: skip
        if len(rows) > _SHOWN_PROMPTS:
            yield Note(f"{len(rows) - _SHOWN_PROMPTS:,} more prompts; --report FILE names all", label="")
        yield from _texts([trace for trace in ranked if trace.parts], text)
        yield _picture(findings)
    yield from (Note(note, side.label) for side in sides for note in side.notes)
    yield from (Note(f"inputs: {note}") for note in findings.notes)


def _figures(findings: GenerationFindings) -> Facts:
    decision, tokens = findings.decision, findings.tokens
    assert decision is not None
    same = tokens - sum(len(trace.parts) for trace in findings.traces)
    ties = sum(findings.is_tie(trace, place) for trace in findings.traces for place in trace.parts)
    items = (
        Fact("KL per token", f"{decision.kl:.2g}, between {decision.low:.2g} and {decision.high:.2g}"),
        Fact("same top token", f"{100 * same / tokens:.4g} of 100; {tokens - same} differ, {ties} of them ties"),
        Fact("rounding", f"moves the gap between two logits of {findings.old.label} by up to {findings.rounding:.2g}"),
    )
    return Facts(f"{len(findings.traces):,} prompts, {tokens:,} tokens", items)


def _row(findings: GenerationFindings, trace: Trace, text: Wording) -> Row:
    first = trace.parts[0] if trace.parts else None
    cells = (
        trace.mean,
        Cell(f"{len(trace.old) - len(trace.parts)} of {len(trace.old)}", 1 - len(trace.parts) / len(trace.old)),
        Cell("none") if first is None else Cell(f"token {first + 1}", first),
        None if first is None else float(trace.margin[first]),
        "" if first is None else "tie" if findings.is_tie(trace, first) else "no",
    )
    return Row(_shortened(text.words(trace.prompt)), "info", cells)


def _texts(traces: Sequence[Trace], text: Wording) -> Iterator[Block]:
    """Yield what both sides write, side by side: on a terminal where they part, on a page whole."""
    lines = []
    for trace in traces[:_SHOWN_TEXTS]:
        shared = text.words(trace.old[: trace.parts[0]])
        one, two = (text.words(tokens)[len(shared) :] for tokens in (trace.old, trace.new))
        lines += [
            f"  {_shortened(text.words(trace.prompt))} … {_line(shared)[-_LENGTH_BEFORE:]}",
            f"    old: {_line(one)[:_LENGTH_BEHIND]}",
            f"    new: {_line(two)[:_LENGTH_BEHIND]}",
        ]
    items = tuple(
        Fact(text.words(trace.prompt), f"old: {text.words(trace.old)}", remarks=(f"new: {text.words(trace.new)}",))
        for trace in traces
    )
    if items:
        yield Facts("Texts that part", items, ("where the texts part:", *lines))


def _line(words: str) -> str:
    return words.replace("\n", "⏎")


def _shortened(words: str) -> str:
    return cut(_line(words), _LENGTH_BEFORE)


def _picture(findings: GenerationFindings) -> Series:
    """Draw the divergence along the text: a cache that goes wrong shows as a rise."""
    longest = max(len(trace.kl) for trace in findings.traces)
    points = []
    for place in range(longest):
        values = [trace.kl[place] for trace in findings.traces if place < len(trace.kl)]
        apart = sum(place in trace.parts for trace in findings.traces)
        mean = float(np.mean(values))
        state: Verdict = "failed" if mean > findings.demand.max_kl else "passed"
        text = f"token {place + 1}: KL {mean:.2g}, another top token in {apart} of {len(values)} texts"
        points.append(Point(f"token {place + 1}", mean, state, text))
    worst = max(points, key=lambda point: point.value)
    return Series(
        "Divergence along the text",
        tuple(points),
        remark="Mean over the prompts of the divergence at each place of the old side's text.",
        summary=f"the largest is that of {worst.name}, {worst.value:.2g}",
        ends=("token 1", f"token {longest}"),
        legend={"passed": f"at most {findings.demand.max_kl:g}", "failed": "above"},
    )


def _document(findings: GenerationFindings, text: Wording) -> dict[str, Any]:
    decision = findings.decision
    document: dict[str, Any] = {
        side: {"label": item.label, "version": item.version, "error": item.error or None}
        for side, item in _sides(findings)
    }
    if decision is None:
        return document
    return document | {
        "answer": decision.word, "prompts": len(findings.traces), "tokens": findings.tokens,
        "kl": {"value": _number(decision.kl), "low": _number(decision.low), "high": _number(decision.high)},
        "max_kl": findings.demand.max_kl, "confidence": findings.demand.confidence,
        "needed_prompts": decision.needed or None, "batch": findings.batch, "rounding": findings.rounding,
        "same_top": 1 - sum(len(trace.parts) for trace in findings.traces) / findings.tokens,
        "traces": [
            {
                "prompt": text.words(trace.prompt), "old": text.words(trace.old), "new": text.words(trace.new),
                "old_tokens": list(trace.old), "new_tokens": list(trace.new), "top_tokens": list(trace.top),
                "kl": [_number(value) for value in trace.kl],
                "parts": [
                    {"place": place, "margin": float(trace.margin[place]), "tie": findings.is_tie(trace, place)}
                    for place in trace.parts
                ],
            }
            for trace in findings.traces
        ],
    }  # fmt: skip


def _number(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(value)


def _sides(findings: GenerationFindings) -> tuple[tuple[str, SideRecord], tuple[str, SideRecord]]:
    return ("new", findings.new), ("old", findings.old)

"""The verdict on what was measured: whether looking changed the result, and then which operator is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp_locate.causes.case import Case, judged_by_rows
from polycmp_locate.causes.operator import Evidence, blame
from polycmp_locate.causes.rules import REASONS, SECOND_LOOKS, TOGETHER
from polycmp_locate.row_rules import needs_explaining
from polycmp_locate.trials.probe import moved_text
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import BENIGN, UNDECIDED, WITHIN_ROUNDING, Judged
from polycmp_locate.values.measured import Measured
from polycmp_locate.values.swept import SweptWindow


def judge(measured: Measured, whole: WholeModel, before: Judged | None = None) -> Judged:
    """Return the verdict on a model.

    Args:
        measured: Rows of the model's tensors, with the measured operators.
        whole: The whole model, and trials with it.
        before: The verdict that these tensors were measured again for; None for the first one.
    """
    if not measured.is_whole:
        judged = _judge_few(measured, whole)
    elif before is None:
        judged = _judge_first(Case(measured, whole))
    else:
        judged = _judge_operators(Case(measured, whole, before))
    return judged if judged.open_until is not None else _with_reasons(judged, whole)


def _with_reasons(judged: Judged, whole: WholeModel) -> Judged:
    """Return a verdict with why the accused operators are wrong."""
    reasons = (reason for rule in REASONS for reason in rule.ask(judged, whole.setting, whole.feed))
    return replace(judged, reasons=tuple(reasons))


def look_again(judged: Judged, whole: WholeModel, windows: Iterable[SweptWindow]) -> Judged:
    """Return a verdict that accuses no operator, or the one that a second look at the tensors leads to.

    Where that names nothing, an output that is undecided stays so, as `polycmp run` says of it.

    Args:
        judged: The verdict.
        whole: The whole model, and trials with it.
        windows: The tensors, once more; nothing runs before the first window is asked for.
    """
    before = judged
    for rule in SECOND_LOOKS:
        judged = rule.ask(judged, whole, windows)
    if judged.first_bad is not before.first_bad and judged.cause is None:
        return _with_reasons(judged, whole)
    is_open = any(item.inconclusive for item in judged.finals)
    names_nothing = judged.verdict == WITHIN_ROUNDING and judged.turning is None
    return replace(judged, verdict=UNDECIDED) if is_open and names_nothing else judged


def _judge_few(measured: Measured, whole: WholeModel) -> Judged:
    """Return the verdict on few tensors, of which nothing tells whether looking at them changed the result."""
    relative = {row.tensor: row.relative for row in measured.rows}
    failing = {item.output: relative.get(item.output, 0.0) for item in whole.finals if not item.passed}
    judgement = blame(Evidence(measured.rows, whole.flow, failing, whole.beyond.keys()))
    return judged_by_rows(judgement, measured, whole)


def _judge_first(case: Case) -> Judged:
    """Return the verdict: whether operators are wrong together, then which one is by itself."""
    for rule in TOGETHER:
        judged = rule.ask(case)
        if judged is not None:
            return judged
    alone = case.of_operators
    if alone.verdict == UNDECIDED or (alone.first_bad is None and _is_unexplained(case)):
        postponed = alone.turning is not None and alone.turning.was_postponed
        return case.judged(alone, open_until="all, any number" if postponed else "all")
    return _judge_operators(case)


def _is_unexplained(case: Case) -> bool:
    """Return whether the outputs are further off than rounding is told by, and operators not looked at closely."""
    if case.probe.plain_passed:
        return False
    return bool(case.whole.beyond) and any(row.standalone is None and needs_explaining(row) for row in case.rows)


def _judge_operators(case: Case) -> Judged:
    """Return the verdict on single operators, as far as what was seen of them is evidence."""
    judged, probe = case.of_operators, case.probe
    if judged.verdict not in BENIGN or probe.plain_passed:
        return case.judged(judged)
    if case.whole.beyond:
        # The tensors of another computation explain nothing here.
        return case.judged(judged) if probe.trusted else case.judged(judged, verdict=UNDECIDED, turning=None)
    if probe.relative and not probe.trusted:
        case.probe = replace(probe, sentence=f"{moved_text(probe)}, no more than rounding explains")
    return case.judged(judged, verdict=WITHIN_ROUNDING if judged.turning is None else judged.verdict)

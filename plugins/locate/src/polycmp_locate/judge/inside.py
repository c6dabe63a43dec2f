"""The verdict where no operator is wrong: what `run` says of the outputs, and `--mark-all` of tensors inside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp.compare import SimpleOptions
from polycmp.tensors import Feed, to_numpy
from polycmp_locate.decisions import is_right_alone, needs_explaining
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import BEYOND, EQUAL, UNDECIDED, WITHIN_ROUNDING, Beyond, Judged
from polycmp_locate.values.swept import SweptWindow


def judge_inside(judged: Judged, setting: Setting, feed: Feed, windows: Iterable[SweptWindow]) -> Judged:
    """Return a verdict that accuses no operator, or the first tensor that is off by more than rounding explains.

    Args:
        judged: The verdict.
        setting: The backends.
        feed: The inputs.
        windows: The tensors, once more; nothing runs before the first window is asked for.
    """
    if not setting.is_measured or not judged.is_whole or judged.turning is not None or judged.cause is not None:
        return judged
    if judged.verdict in {EQUAL, WITHIN_ROUNDING}:
        beyond = _first_beyond(judged, setting, feed, windows)
        if beyond is not None:
            return replace(judged, verdict=BEYOND, cause=beyond)
    trusted = judged.probe is None or judged.probe.trusted
    if judged.verdict in {EQUAL, WITHIN_ROUNDING} or (judged.verdict == UNDECIDED and trusted):
        rows = {row.tensor: row for row in judged.rows if not row.is_matched}
        off = next((item for item in judged.finals if item.verdict == "failed" and item.output in rows), None)
        if off is not None:
            return replace(judged, verdict=BEYOND, cause=Beyond(rows[off.output], off.reason, is_output=True))
    return judged


def _first_beyond(judged: Judged, setting: Setting, feed: Feed, windows: Iterable[SweptWindow]) -> Beyond | None:
    """Return the first tensor inside the model that is off by more than rounding explains."""
    rounding, outputs = setting.inner_rounding, {item.output for item in judged.finals}  # those are judged already
    rows = {
        row.tensor: row
        for row in judged.rows
        if row.unit and needs_explaining(row) and row.tensor not in outputs and not is_right_alone(row)
    }
    for window in windows if rows and rounding is not None else ():
        names = [name for name in window.rows if name in rows]
        if not names or rounding is None:
            continue
        rounding.begin(feed, names)
        compare = rounding.judge(SimpleOptions(), setting.candidate.label, setting.reference.label, detail=False)
        for name in names:
            verdict = compare(to_numpy(window.own[name]), to_numpy(window.held[name]), output=name)
            if not verdict.passed and not verdict.inconclusive:
                return Beyond(rows[name], verdict.reason)
    return None

"""The verdict on tensors inside a model where no operator is wrong by itself: what `run --mark-all` says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp.compare import SimpleOptions
from polycmp.tensors import Feed, to_numpy
from polycmp_locate.decisions import needs_explaining
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import EQUAL, UNDECIDED, WITHIN_ROUNDING, WORSE, Beyond, Judged
from polycmp_locate.values.swept import SweptWindow


def judge_inside(judged: Judged, setting: Setting, feed: Feed, windows: Iterable[SweptWindow]) -> Judged:
    """Return a verdict that accuses nobody, or the first tensor that is off by more than rounding explains.

    Args:
        judged: The verdict.
        setting: The backends.
        feed: The inputs.
        windows: The tensors, once more; nothing runs before the first window is asked for.
    """
    rounding = setting.rounding
    is_settled = judged.verdict in {EQUAL, WITHIN_ROUNDING} and judged.turning is None and judged.cause is None
    rows = {row.tensor: row for row in judged.rows if row.unit and needs_explaining(row)}
    if rounding is None or not is_settled or not judged.is_whole:
        return judged
    accepted = {item.output for item in judged.finals}  # judged already
    for window in windows if rows.keys() - accepted else ():
        names = [name for name in window.rows if name in rows and name not in accepted]
        if not names:
            continue
        rounding.begin(feed, names)
        compare = rounding.judge(SimpleOptions(), setting.candidate.label, setting.reference.label, detail=False)
        for name in names:
            verdict = compare(to_numpy(window.own[name]), to_numpy(window.held[name]), output=name)
            if not verdict.passed and not verdict.inconclusive:
                return replace(
                    judged,
                    verdict=WORSE,
                    first_bad=rows[name],
                    origin=rows[name],
                    cause=Beyond(rows[name], verdict.reason),
                )
    return _by_outputs(judged)


def _by_outputs(judged: Judged) -> Judged:
    """Return the verdict of the outputs where nothing inside is to blame."""
    words = {item.verdict for item in judged.finals}
    if "failed" in words or "undecided" in words:
        worst = next(item for item in judged.finals if item.verdict in {"failed", "undecided"})
        row = next((row for row in judged.rows if row.tensor == worst.output), None)
        if row is not None and worst.verdict == "failed":
            return replace(judged, verdict=WORSE, first_bad=row, cause=Beyond(row, worst.reason))
        return replace(judged, verdict=UNDECIDED, cause=Beyond(row, worst.reason) if row is not None else None)
    return judged

"""A few operators that calculate in a coarser type than the rest of the model, by which outputs are off.

Asked where rounding explains the outputs. It takes no run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.rounding.thresholds import worth_running
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import NARROWED, WITHIN_ROUNDING, Judged
from polycmp_locate.values.measured import Row
from polycmp_locate.values.swept import SweptWindow

#: A type is an exception where it occurs in so small a share of a model's parts, or once (choice).
_EXCEPTION = 0.1
#: It is coarser than the rest where it rounds by so many times as much: two bits (choice).
_COARSER = 4.0


@dataclass(frozen=True)
class Narrowed:
    """Operators that calculate in a coarser type than the rest of the model.

    Attributes:
        row: The first tensor that one of them makes.
        kind: Their type.
        usual_kind: The type of the rest.
    """

    row: Row
    kind: str
    usual_kind: str

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        del judged, candidate, reference
        row = self.row
        error = f", with a relative error of {row.relative:.2g}" if math.isfinite(row.relative) else ""
        what = f"{row.node.label} computes {row.tensor!r} through {self.kind}"
        return f"{NARROWED}: {what}, while the rest of the model uses {self.usual_kind}{error}"


def ask(judged: Judged, whole: WholeModel, windows: Iterable[SweptWindow]) -> Judged:
    """Return the verdict on operators that calculate in a coarser type than the rest; the given one if none do."""
    del whole, windows
    if judged.verdict != WITHIN_ROUNDING or judged.probe is None or judged.probe.plain_passed:
        return judged
    narrowed = lone_narrowing(judged.rows)
    if narrowed is None:
        return judged
    return replace(judged, verdict=NARROWED, turning=None, first_bad=narrowed.row, cause=narrowed)


def lone_narrowing(rows: Sequence[Row]) -> Narrowed | None:
    """Return the first of a few operators that calculate in a coarser type than all others.

    Steps of a scale count as no type here: few layers are quantised on purpose. None where no part has a coarser type
    than the rest, or many have, or the tensor does not show it.

    Args:
        rows: The tensors in the order of the graph.
    """
    parts = [(row, row.node) for row in rows if isinstance(row.node, PartNode) and row.node.unit]
    coarsest = max((node.unit for _, node in parts if not node.quantised), default=0.0)
    rest = [node for _, node in parts if node.unit < coarsest and not node.quantised]
    usual = max(rest, key=lambda node: node.unit, default=None)
    few = [(row, node.coarsest) for row, node in parts if node.unit == coarsest and not node.quantised]
    if usual is None or len(few) > max(1.0, _EXCEPTION * len(parts)) or coarsest < _COARSER * usual.unit:
        return None
    row, kind = few[0]
    return Narrowed(row, kind, usual.coarsest) if row.relative > worth_running(usual.unit) else None

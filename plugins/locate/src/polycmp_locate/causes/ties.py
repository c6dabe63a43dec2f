"""Operators between quantised tensors that round ties otherwise where a backend fuses them: no fault.

Asked where looking inside takes the outputs' error away. It takes one run of the fusing side, and two of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polycmp.sentences import counted
from polycmp_locate.causes.case import Case
from polycmp_locate.trials.between_steps import ties_that_grow
from polycmp_locate.values.judged import WITHIN_ROUNDING, Judged
from polycmp_locate.values.measured import Row

if TYPE_CHECKING:
    from polycmp_locate.values.located import Located


@dataclass(frozen=True)
class Ties:
    """A tensor from which a fused kernel rounds ties otherwise, which is the only difference.

    Attributes:
        row: The first tensor with such ties.
        count: Number of its elements that are a step off.
        elements: Number of its elements.
        label: The backend that fuses.
    """

    row: Row
    count: int
    elements: int
    label: str

    def sentence(self, found: Located) -> str:
        """Return the verdict as a sentence."""
        del found
        return (
            f"{WITHIN_ROUNDING}: no operator is wrong; where {self.label} fuses operators, {self.count} of "
            f"{counted(self.elements, 'element')} of {self.row.tensor!r}, the output of {self.row.node.label}, are one "
            "step off, each at a tie of rounding, and the outputs differ from there on"
        )


def ask(case: Case) -> Judged | None:
    """Return the verdict on ties that a fused kernel rounds otherwise; None if they are not all that differs."""
    if case.fusing_side is None and not case.is_gone:
        return None
    whole, side = case.whole, case.fusing_side or case.moved_side
    outputs = case.beyond if case.fusing_side is not None else whole.failing
    removes = whole.removes(side, outputs, case.probe.error)
    ties = ties_that_grow(whole.sides(side), whole.feed, case.rows, outputs.keys(), lambda made: not removes(made))
    if ties is None:
        return None
    return case.nobody(verdict=WITHIN_ROUNDING, cause=Ties(*ties, side.label))

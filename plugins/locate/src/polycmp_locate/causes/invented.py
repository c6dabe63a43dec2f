"""Single numbers that were made up, of which the reference makes no numbers, either: they prove nothing.

Asked where NaN or infinity is all that an operator is accused of. It takes no run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from polycmp.sentences import made_up
from polycmp.tensors import is_floating, to_numpy
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import NOT_FINITE, UNDECIDED, Judged
from polycmp_locate.values.swept import SweptWindow


@dataclass(frozen=True)
class Invented:
    """Numbers that were made up for a model.

    Attributes:
        numbers: The numbers, by input.
    """

    numbers: Mapping[str, float]

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        del judged, candidate, reference
        return f"{UNDECIDED}: {made_up(self.numbers)}"


def ask(judged: Judged, whole: WholeModel, windows: Iterable[SweptWindow]) -> Judged:
    """Return an open verdict where the reference's outputs hold NaN for made-up numbers; else the given one."""
    del windows
    numbers = whole.setting.invented
    if judged.verdict != NOT_FINITE or not numbers:
        return judged
    outputs = [to_numpy(array) for array in whole.expected.values()]
    if not any(is_floating(array.dtype) and np.isnan(array).any() for array in outputs):
        return judged
    return replace(judged, verdict=UNDECIDED, first_bad=None, origin=None, reasons=(), cause=Invented(numbers))

"""Numbers that the reference has and that the type in which the candidate calculates cannot hold.

Asked of an operator that is accused. It takes no run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from polycmp.precision import UNITS
from polycmp.tensors import Feed
from polycmp_locate.rounding.figures import largest_of
from polycmp_locate.setting import Setting, allowed_type
from polycmp_locate.values.judged import Judged, Reason
from polycmp_locate.values.measured import Row


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield the first tensor, among those that the blamed operator reads and makes, that is beyond the type's range."""
    del feed
    row = judged.accused
    if row is None or not _is_overflown(row):
        return
    allowed = allowed_type(setting.candidate)
    kind = allowed or row.type.partition("[")[0]
    if kind not in UNITS:
        return
    tensors = {**row.inputs, **({} if row.reference is None else {row.tensor: row.reference})}
    largest = largest_of(kind)
    for name, figures in tensors.items():
        if figures.scale > largest:
            where = f"{setting.candidate.label} {'may calculate in' if allowed else 'has'} {kind}"
            yield Reason(
                f"{name!r} reaches {figures.scale:.3g} in the reference; {where}, whose largest number is "
                f"{largest:.5g}, so that it is infinite there: keep what makes and reads it in float32, or scale it"
            )
            return


def _is_overflown(row: Row) -> bool:
    """Return whether the candidate's tensor is not finite, in the model or where its operator ran alone."""
    in_model = row.candidate is not None and not row.candidate.is_finite
    return in_model or (row.standalone is not None and not math.isfinite(row.standalone.relative))

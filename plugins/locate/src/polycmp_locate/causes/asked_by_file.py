"""A file that asks for something else than the model beside it does, so that its runtime is not to blame.

Asked of an operator that is accused, where both sides run models of their own. It takes a run of the reference up to
there, and two of the operator: on the candidate, and as the format defines it in float64.
"""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.tensors import Feed
from polycmp_locate.rounding.difference import distance
from polycmp_locate.row_rules import standalone_limit
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import WORSE, WRONG, Judged, Reason


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield so where the candidate computes what its file says, and the reference something else."""
    row, defined = judged.accused, setting.defined
    if row is None or defined is None or judged.verdict not in {WRONG, WORSE}:
        return
    inner = [name for name in row.node.inputs if name not in feed]
    shown = (setting.reference.run_part(feed, inner) if inner else {}) or {}
    inputs = {name: array for name, array in {**feed, **shown}.items() if name in row.node.inputs}
    if len(inputs) < len({*row.node.inputs}):
        return
    made, truth = (side.run_part(inputs, [row.tensor]) for side in (setting.candidate, defined))
    if made is None or truth is None or distance(made[row.tensor], truth[row.tensor]) > standalone_limit(row):
        return
    yield Reason(
        f"{setting.candidate.label} computes what its file says ({defined.label} computes the same): the file asks for "
        f"something else than {setting.reference.label}",
        is_as_defined=True,
    )

"""Whether the file or its runtime is to blame, where the model beside it is another file.

Asked of an operator that is accused, where both sides run models of their own. It takes a run of the reference up to
there, and two of the operator: on the candidate, and as the format defines it in float64; where these differ, one on
the reference.
"""

from __future__ import annotations

from collections.abc import Iterator

from polycmp.tensors import Feed
from polycmp_locate.causes.saturation import IF_IT_SATURATES
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.rounding.difference import distance
from polycmp_locate.rounding.kinds import INTEGER_PRODUCTS
from polycmp_locate.row_rules import standalone_limit
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import WORSE, WRONG, Judged, Reason


def ask(judged: Judged, setting: Setting, feed: Feed) -> Iterator[Reason]:
    """Yield that the candidate computes what its file says, or that it alone does not."""
    row, defined = judged.accused, setting.defined
    if row is None or defined is None or judged.verdict not in {WRONG, WORSE}:
        return
    inner = [name for name in row.node.inputs if name not in feed]
    shown = (setting.reference.run_part(feed, inner) if inner else {}) or {}
    inputs = {name: array for name, array in {**feed, **shown}.items() if name in row.node.inputs}
    if len(inputs) < len({*row.node.inputs}):
        return
    limit = standalone_limit(row)
    candidate, truth = (side.run_part(inputs, [row.tensor]) for side in (setting.candidate, defined))
    if candidate is None or truth is None:
        return
    if distance(candidate[row.tensor], truth[row.tensor]) <= limit:
        yield Reason(
            f"{setting.candidate.label} computes what its file says ({defined.label} computes the same): the file asks "
            f"for something else than {setting.reference.label}",
            is_as_defined=True,
        )
        return
    reference = setting.reference.run_part(inputs, [row.tensor])
    if reference is not None and distance(truth[row.tensor], reference[row.tensor]) <= limit:
        yield Reason(
            f"{setting.candidate.label} does not compute what its file says: {defined.label} makes of it what "
            f"{setting.reference.label} computes"
        )
        if isinstance(row.node, PartNode) and not INTEGER_PRODUCTS.isdisjoint(row.node.candidate_ops):
            yield Reason(f"{row.node.label} multiplies codes: {IF_IT_SATURATES}", is_cause=False)

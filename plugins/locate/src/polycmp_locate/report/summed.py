"""Sum of the errors of many parts that each round correctly to steps of a scale, and the part that adds most."""

from __future__ import annotations

from polycmp.sentences import counted
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.row_rules import is_clipped, rounds_on_the_way
from polycmp_locate.values.judged import UNDECIDED
from polycmp_locate.values.located import Located

#: Outputs that are off by less are not worth a word on which part brings most (choice).
_MIN_ERROR = 2.0**-6


def worst_steps(located: Located) -> str:
    """Describe the sum of the errors of rounding to steps in the outputs; empty where nothing is rounded so.

    Args:
        located: The search.
    """
    judged = located.judged
    rows = [row for row in judged.rows if rounds_on_the_way(row)]
    if not rows or judged.seen_probe is None or judged.seen_probe.error <= _MIN_ERROR:
        return ""
    kind = max((row.node for row in rows if isinstance(row.node, PartNode)), key=lambda node: node.unit).coarsest
    cut_off = sum(map(is_clipped, judged.harmless))
    but = f", but for {cut_off} whose ranges leave out numbers of these inputs (calibrate with such)" if cut_off else ""
    text = (
        f"none of {counted(len(judged.rows), 'tensor')} is off by more than rounding to {kind} explains{but}; "
        f"{counted(len(rows), 'part')} of the model round to it, which together puts the outputs off by "
        f"{judged.seen_probe.error:.2g} relative"
    )
    if judged.verdict == UNDECIDED:
        text += ", too much to tell rounding from a fault with these inputs"
    measured = [row for row in rows if row.standalone is not None]
    worst = max(measured, key=lambda row: row.standalone.relative if row.standalone else 0.0, default=None)
    if worst is not None and worst.standalone is not None and worst.standalone.relative:
        text += f", most of all {worst.node.label} with {worst.standalone.relative:.2g} in {worst.tensor!r}"
    return f"{text}; to see which of them to keep in float: --rank"

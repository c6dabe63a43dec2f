"""The verdict on two files that hold different networks, where no operator is wrong by what was measured."""

from __future__ import annotations

from dataclasses import replace

from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import BENIGN, BEYOND, OTHER_NETWORK, UNDECIDED, Judged, OtherNetwork


def judge_network(judged: Judged, setting: Setting) -> Judged:
    """Return a verdict that accuses nobody, but FOUND where the files alone show that they hold different networks.

    Args:
        judged: The verdict on what was measured.
        setting: The backends, and what their files differ by.
    """
    found = setting.network.accusing if setting.network is not None else ()
    if not found or judged.first_bad is not None or judged.verdict not in BENIGN | {BEYOND, UNDECIDED}:
        return judged
    rows = {row.tensor: row for row in judged.rows}
    row = next((rows[item.tensor] for item in found if item.tensor in rows), None)
    return replace(judged, verdict=OTHER_NETWORK, first_bad=row, turning=None, cause=OtherNetwork(found))

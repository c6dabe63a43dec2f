"""Two files that hold different networks, as their constants and settings show, whatever the outputs do.

Asked last, where no operator is wrong by what was measured. It takes no run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from polycmp_locate.network.comparison import Finding
from polycmp_locate.network.words import first_difference
from polycmp_locate.trials.whole import WholeModel
from polycmp_locate.values.judged import BENIGN, BEYOND, OTHER_NETWORK, UNDECIDED, Judged
from polycmp_locate.values.swept import SweptWindow


@dataclass(frozen=True)
class OtherNetwork:
    """Two files that hold different networks.

    Attributes:
        findings: The differences that no tool makes on purpose.
    """

    findings: tuple[Finding, ...]

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        differences = first_difference([finding.words for finding in self.findings])
        return f"{OTHER_NETWORK}: {differences}{judged.even_so}"


def ask(judged: Judged, whole: WholeModel, windows: Iterable[SweptWindow]) -> Judged:
    """Return the verdict on files that hold different networks; the given one if they do not, or it accuses already."""
    del windows
    network = whole.setting.network
    differences = network.accusing if network is not None else ()
    if not differences or judged.first_bad is not None or judged.verdict not in BENIGN | {BEYOND, UNDECIDED}:
        return judged
    rows = {row.tensor: row for row in judged.rows}
    row = next((rows[item.tensor] for item in differences if item.tensor in rows), None)
    return replace(judged, verdict=OTHER_NETWORK, first_bad=row, turning=None, cause=OtherNetwork(differences))

"""What the measured noise of the tensors inside two paired models says where no operator is wrong by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp_locate.pairing.pair_noise import PairNoise, held_alike, rounded_to
from polycmp_locate.pairing.view import SharedGraph
from polycmp_locate.setting import Setting
from polycmp_locate.values.judged import EQUAL, UNDECIDED, WITHIN_ROUNDING, Beyond, Judged
from polycmp_locate.values.swept import SweptWindow


def judge_by_noise(judged: Judged, setting: Setting, windows: Iterable[SweptWindow]) -> Judged:
    """Return a verdict that accuses nobody, but undecided where a tensor is beyond its noise: `--mark-all` fails it.

    Args:
        judged: The verdict.
        setting: The backends.
        windows: The tensors, once more; nothing runs before the first window is asked for.
    """
    noise = _noise(setting)
    decided = judged.verdict in {EQUAL, WITHIN_ROUNDING} and judged.turning is None and judged.cause is None
    if noise is None or not decided or not judged.is_whole or all(row.passed for row in judged.rows):
        return judged
    rows = {row.tensor: row for row in judged.rows}
    accepted = {item.output for item in judged.finals if item.passed}  # by a metric of the task, which decides them
    for window in windows:
        names = [
            name
            for name, row in window.rows.items()
            if not row.passed and not row.is_matched and row.unit and name in rows and name not in accepted
        ]
        pairs = {name: held_alike(window.own[name], window.held[name]) for name in names}
        said = noise.explain(
            {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}
        )
        for name in names:
            found = said.get(name)
            if found is not None and not found.passed:
                cause = Beyond(rows[name], found.reason, is_open=bool(found.inconclusive))
                return replace(judged, verdict=UNDECIDED, cause=cause)
    return judged


def _noise(setting: Setting) -> PairNoise | None:
    """Return the noise of the tensors of two paired models; None where nothing can measure it."""
    perturbed, graph, candidate = setting.perturbed, setting.reference.graph, setting.candidate.graph
    if perturbed is None or perturbed.graph is None:
        return None
    if not (isinstance(graph, SharedGraph) and isinstance(candidate, SharedGraph)):
        return None
    if graph.side.graph is not perturbed.graph:
        return None
    kinds = rounded_to(graph, candidate.side.graph, perturbed.graph)
    return PairNoise(graph, setting.reference, perturbed, kinds)

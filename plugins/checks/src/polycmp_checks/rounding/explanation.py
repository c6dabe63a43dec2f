"""A note on whether rounding may explain outputs that differ: the observer `rounding`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.compare import PairComparison
from polycmp.results import Outcome
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.runs import Resolved, RunStep
    from polycmp.tensors import Feed


def explain(resolved: Resolved) -> RoundingExplanation | None:
    """Make the observer that explains differences by rounding; None where tolerances do so, or nothing is run."""
    return RoundingExplanation(resolved) if resolved.backends and not resolved.plan.compare.tolerance else None


class RoundingExplanation(RunObserver):
    """Adds a note on whether rounding may explain the outputs that differ, by estimate.

    Args:
        resolved: The run.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved
        self._feed: Feed | None = None

    def on_step(self, step: RunStep) -> None:
        """Keep the inputs on which something differs: types and shapes inside the model follow from theirs."""
        if any(item.verdict == "failed" for found in step.compared.values() for item in found):
            self._feed = step.feed

    def finish(self, outcome: Outcome) -> None:
        """Add the note, once for all pairs of which it is true."""
        if self._feed is None:
            return
        from polycmp_checks.rounding.floors import NoiseFloors  # few runs come to that

        floors = NoiseFloors(self._resolved, outcome.reference)
        floors.begin(self._feed)
        for pair in outcome.comparisons:
            shares = _shares(pair)
            note = floors.explanation(pair.candidate, pair.reference, shares) if shares else ""
            if note and note not in outcome.notes:
                outcome.notes.append(note)


def _shares(pair: PairComparison) -> dict[str, float]:
    """Return the errors of outputs that differ by some share of their largest magnitude."""
    known = {name: item.stats for name, item in pair.outputs.items() if item.verdict == "failed"}
    return {
        name: float(stats.share)
        for name, stats in known.items()
        if stats is not None and stats.share and not stats.whole and not stats.nan_failed
    }

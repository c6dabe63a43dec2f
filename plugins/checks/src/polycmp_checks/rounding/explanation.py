"""Notes on whether rounding may explain outputs that differ: the observer `rounding`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from polycmp.compare import PairComparison
from polycmp.results import Outcome
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.runs import Resolved, RunStep
    from polycmp.tensors import Feed

Explain = Callable[[str, str, float], str]


def explain(resolved: Resolved) -> RoundingExplanation | None:
    """Make the observer that explains differences by rounding; None where tolerances do so, or nothing is run."""
    return RoundingExplanation(resolved) if resolved.backends and not resolved.plan.compare.tolerance else None


class RoundingExplanation(RunObserver):
    """Adds to the reason of each output that differs whether rounding may explain it, by estimate.

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
        """Add to the reasons."""
        if self._feed is None:
            return
        from polycmp_checks.rounding.floors import NoiseFloors  # few runs come to that

        floors = NoiseFloors(self._resolved, outcome.reference)
        floors.begin(self._feed)
        outcome.comparisons = [
            _explained(pair, floors.explanation) if pair.verdict == "failed" else pair for pair in outcome.comparisons
        ]


def _explained(pair: PairComparison, explain: Explain) -> PairComparison:
    outputs = dict(pair.outputs)
    for name, item in pair.outputs.items():
        stats = item.stats
        failed = item.verdict == "failed"
        if failed and stats is not None and stats.share and not stats.whole and not stats.nan_failed:
            why = explain(pair.candidate, pair.reference, stats.share)
            outputs[name] = replace(item, reason=f"{item.reason}; {why}")
    return replace(pair, outputs=outputs)

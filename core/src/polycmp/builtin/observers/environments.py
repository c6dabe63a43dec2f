"""What outputs that differ were made with, where a side of the pair was saved: another processor, other versions."""

from __future__ import annotations

from polycmp.results import Outcome
from polycmp.runs import Resolved, backend_environments, environment_differences
from polycmp.spec import RunObserver


class SavedEnvironments(RunObserver):
    """Notes how the environments of two sides differ whose outputs do.

    Args:
        resolved: The run.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved

    def finish(self, outcome: Outcome) -> None:
        """Note it for each pair of which a side was saved; live sides are asked only where that decides anything."""
        known = {item.label: item.environment for item in outcome.backends if item.backend == "saved"}
        pairs = [
            pair
            for pair in outcome.comparisons
            if not pair.passed and (known.get(pair.candidate) or known.get(pair.reference))
        ]
        if any({pair.candidate, pair.reference} - known.keys() for pair in pairs):
            known.update(backend_environments(self._resolved.plan.backends, self._resolved.registry))
        for pair in pairs:
            names = (pair.candidate, pair.reference)
            differences = environment_differences(known.get(names[0], {}), known.get(names[1], {}), names)
            outcome.notes += [f"made {words}" for words in differences]

"""A vote among the backends of a run: which of them is alone, the reference included."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from polycmp.errors import UsageError
from polycmp.runs import Comparer, comparer_maker, odd_one_out, open_tolerances
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, RunStep, Tolerances
    from polycmp_checks.plugin import VoteOptions

#: With fewer there is no majority.
_FEWEST = 3


def make_vote(resolved: Resolved, options: VoteOptions) -> Vote:
    """Create the observer that counts votes."""
    del options
    return Vote(resolved)


class Vote(RunObserver):
    """Compares candidates with each other as the run compares them with the reference.

    Args:
        resolved: The run.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved
        self._comparers: dict[tuple[str, str], Comparer] = {}
        self._tolerances: Tolerances | None = None

    def start(self, outcome: Outcome, /) -> None:
        """Open the tolerances of the run.

        Raises:
            UsageError: There are fewer than three runs.
        """
        labels = [backend.label for backend in outcome.backends]
        if len(labels) < _FEWEST:
            raise UsageError(
                f"--vote needs {_FEWEST} runs, and there are {len(labels)}",
                hint="polycmp run MODEL -b A -b B -b C --vote",
            )
        plan, registry = replace(self._resolved.plan.compare, map_output={}), self._resolved.registry
        self._tolerances = open_tolerances(self._resolved, outcome.reference)
        make = comparer_maker(plan, registry, self._resolved.functions, self._tolerances)
        candidates = [label for label in labels if label != outcome.reference]
        self._comparers = {pair: make(*pair) for pair in combinations(candidates, 2)}

    def on_step(self, step: RunStep, /) -> None:
        """Compare each two candidates."""
        if self._tolerances is not None:
            self._tolerances.begin(step.feed)
        named = {
            label: {step.output_names.get(name, name): array for name, array in outputs.items()}
            for label, outputs in step.outputs.items()
        }
        for (one, two), comparer in self._comparers.items():
            if one in named and two in named:
                comparer.add(named[one], named[two])

    def finish(self, outcome: Outcome, /) -> None:
        """Say which run is alone."""
        passed = {frozenset((pair.candidate, pair.reference)): pair.passed for pair in outcome.comparisons}
        passed |= {frozenset(pair): comparer.result().passed for pair, comparer in self._comparers.items()}
        labels = [backend.label for backend in outcome.backends if not backend.error]
        alone, remark = odd_one_out(labels, lambda one, two: passed.get(frozenset((one, two)), False))
        outcome.extra["vote"] = {"odd_one_out": alone, "runs": labels}
        outcome.notes.append(f"vote: {remark or f'all {len(labels)} agree'}")
        if alone == outcome.reference:
            outcome.notes[-1] += ", and it is the reference: --reference names another"

    def close(self) -> None:
        """Deactivate what the tolerances ran."""
        if self._tolerances is not None:
            self._tolerances.close()

"""A note on two files that hold different networks: the observer `same network`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.errors import ModelError
from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import Resolved


def watch(resolved: Resolved) -> SameNetwork | None:
    """Make the observer that compares the files of a run's models; None where there is one file."""
    return SameNetwork(resolved) if len(resolved.models) > 1 else None


class SameNetwork(RunObserver):
    """Adds a note on what the files of candidate and reference differ by, which is told without a run.

    Args:
        resolved: The run.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._resolved = resolved

    def finish(self, outcome: Outcome) -> None:
        """Add the notes before all others, those on two files once."""
        from polycmp_locate.network.words import network_notes  # a run of one file needs none of this

        compare = self._resolved.compare_networks
        models = {backend.label: backend.model for backend in self._resolved.backends}
        notes: dict[str, None] = {}
        for pair in outcome.comparisons:
            one, two = models.get(pair.candidate), models.get(pair.reference)
            if one is None or two is None or one.path == two.path:
                continue
            try:
                candidate, reference = one.graph(), two.graph()
                differences = (
                    compare(candidate, reference)
                    if compare is not None and candidate is not None and reference is not None
                    else None
                )
            except ModelError:
                continue  # the run itself says what is wrong with a file
            if differences is not None:
                notes.update(dict.fromkeys(network_notes(differences.faults, differences.notes)))
        outcome.notes[:0] = notes

"""Observer of a decoder's tensors dumped round by round: the first round and layer in which two dumps differ."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polycmp.spec import RunObserver

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import Resolved, RunStep

#: What programs call the rounds and the layers in the names of tensors, each followed by its number.
_ROUND = re.compile(r"(?:^|[^a-z])(?:round|step|token|iter|iteration)s?[._/:-]?(\d+)", re.IGNORECASE)
_LAYER = re.compile(r"(?:^|[^a-z])(?:layer|block|h)s?[._/:-]?(\d+)", re.IGNORECASE)


def watch_rounds(resolved: Resolved) -> FirstRound:
    """Create the observer, which is silent if names hold no rounds and layers."""
    del resolved
    return FirstRound()


def place_of(name: str) -> tuple[int, int] | None:
    """Parse the round and the layer from a tensor's name; None if it lacks one of them."""
    matches = [pattern.search(name) for pattern in (_ROUND, _LAYER)]
    numbers = [int(match[1]) for match in matches if match is not None]
    return (numbers[0], numbers[1]) if len(numbers) == len(matches) else None


class FirstRound(RunObserver):
    """Notes the first round and layer with a tensor that fails, for each candidate."""

    def __init__(self) -> None:
        self._failed: dict[tuple[str, str], dict[tuple[int, int], str]] = {}
        self._places: set[tuple[int, int]] = set()

    def on_step(self, step: RunStep, /) -> None:
        """Record the failed places."""
        for candidate, comparisons in step.compared.items():
            failed = self._failed.setdefault((candidate, step.reference), {})
            for comparison in comparisons:
                place = place_of(comparison.reference_output or comparison.output)
                if place is None:
                    continue
                self._places.add(place)
                if comparison.verdict == "failed":
                    failed.setdefault(place, comparison.output)

    def finish(self, outcome: Outcome, /) -> None:
        """Add a note on the first place that differs."""
        for (candidate, reference), failed in self._failed.items():
            if not failed:
                continue
            first = min(failed)
            before = sum(place < first for place in self._places)
            outcome.notes.append(
                f"{candidate} leaves {reference} first in round {first[0]}, layer {first[1]}: {failed[first]!r}, "
                f"behind {before} places that agree; {len(failed)} of {len(self._places)} differ"
            )

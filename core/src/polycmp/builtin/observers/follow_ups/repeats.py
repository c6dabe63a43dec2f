"""Commands that repeat a failure alone, where the data loader labels its feeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polycmp.compare import OutputComparison
from polycmp.report import Repeat
from polycmp.results import BackendResult, Invalid
from polycmp.sentences import listed
from polycmp.tensors import Feed, LabelledFeed

#: Outputs named in one line.
SHOWN = 4


class Repeats:
    """Collects the feeds on which something failed.

    A `LabelledFeed` takes part: it says what it is, and which options make it alone.

    Args:
        command: Returns the command line that runs on one feed alone.
    """

    def __init__(self, command: Callable[[LabelledFeed], str]) -> None:
        self._command = command
        self._feeds: dict[int, tuple[str, str]] = {}
        self._failed: dict[int, list[str]] = {}
        self._options: dict[int, Mapping[str, Any]] = {}
        self._broken: set[str] = set()

    def take(
        self,
        iteration: int,
        feed: Feed,
        backends: Iterable[BackendResult],
        invalid: Iterable[Invalid],
        compared: Mapping[str, Sequence[OutputComparison]],
    ) -> None:
        """Note what failed in an iteration: backends, and outputs that are not finite or differ."""
        failed = [
            *self._new_errors(backends),
            *(f"{item.label}: output {item.output!r} is not finite" for item in invalid),
            *_different(compared),
        ]
        if failed and isinstance(feed, LabelledFeed) and feed.label:
            self._feeds[iteration] = feed.label, self._command(feed)
            self._options.setdefault(iteration, feed.repeat)
            self._failed.setdefault(iteration, []).extend(failed)

    def found(self) -> list[Repeat]:
        """Return the failures, in the order of the iterations."""
        return [
            Repeat(iteration, label, command, "; ".join(self._failed[iteration]))
            for iteration, (label, command) in self._feeds.items()
        ]

    def first_options(self) -> Mapping[str, Any]:
        """Return the options that make the first feed on which something failed alone; empty if none are known."""
        return next(iter(self._options.values()), {})

    def _new_errors(self, backends: Iterable[BackendResult]) -> Iterator[str]:
        for item in backends:
            if item.error and item.label not in self._broken:
                self._broken.add(item.label)
                yield f"{item.label} could not run it"


def _different(compared: Mapping[str, Sequence[OutputComparison]]) -> Iterator[str]:
    for candidate, outputs in compared.items():
        names = [item.output for item in outputs if not item.passed]
        if names:
            noun = "output" if len(names) == 1 else "outputs"
            yield f"{candidate}: {noun} {listed(names, SHOWN)}"

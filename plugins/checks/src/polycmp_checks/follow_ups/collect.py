"""The service `follow_ups`: told what fails in a run, it names at the end the commands to type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from polycmp.compare.verdicts import OutputComparison
from polycmp.plan import Plan
from polycmp.results.outcome import BackendResult, Invalid, Outcome
from polycmp.runs.resolve import Resolved
from polycmp.tensors import Feed
from polycmp_checks.follow_ups.commands import Commands
from polycmp_checks.follow_ups.next_steps import differ_inside
from polycmp_checks.follow_ups.repeats import Repeats


class FollowUps:
    """Collects what fails.

    Args:
        plan: The plan of the run, which the commands write down.
        resolved: What it names.
    """

    def __init__(self, plan: Plan, resolved: Resolved) -> None:
        self._commands = Commands(plan, resolved.registry)
        self._repeats = Repeats(self._commands.with_feed)
        self._backends = resolved.backends

    def take(
        self,
        iteration: int,
        feed: Feed,
        backends: Iterable[BackendResult],
        invalid: Iterable[Invalid],
        compared: Mapping[str, Sequence[OutputComparison]],
    ) -> None:
        """Note what failed in an iteration."""
        self._repeats.add(iteration, feed, backends, invalid, compared)

    def finish(self, outcome: Outcome) -> None:
        """Put the commands into the outcome."""
        outcome.repeats = self._repeats.found()
        if differ_inside(self._backends, outcome):
            outcome.next_steps = list(self._commands.looking_further(self._repeats.first_options()))

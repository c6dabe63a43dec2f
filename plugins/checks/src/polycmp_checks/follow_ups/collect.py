"""The service `follow_ups`: told what fails in a run, it names at the end the commands to type."""

from __future__ import annotations

from polycmp.errors import EXIT_DIFFERENT
from polycmp.plan import Plan
from polycmp.results.outcome import Outcome
from polycmp.runs.resolve import Resolved
from polycmp_checks.follow_ups.commands import Commands
from polycmp_checks.follow_ups.repeats import Repeats


class FollowUps(Repeats):
    """Collects what fails, and names the commands that repeat it and that look further into it.

    Args:
        plan: The plan of the run, which the commands write down.
        resolved: What it names.
    """

    def __init__(self, plan: Plan, resolved: Resolved) -> None:
        self._commands = Commands(plan, resolved.registry)
        self._backends = resolved.backends
        super().__init__(self._commands.with_feed)

    def finish(self, outcome: Outcome) -> None:
        """Put the commands into the outcome."""
        outcome.repeats = self.found()
        names = {own: name for mapping in outcome.output_names.values() for own, name in mapping.items()}
        outcome.next_steps = list(self._commands.with_output_names(names))
        if outcome.exit_code != EXIT_DIFFERENT:
            return
        from polycmp_checks.follow_ups.next_steps import differ_inside  # looks at the models' graphs

        if differ_inside(self._backends, outcome):
            outcome.next_steps += list(self._commands.looking_further(self.first_options()))

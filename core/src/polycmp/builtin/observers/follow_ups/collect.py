"""The observer `follow_ups`: shown what fails in a run, it names at the end the commands to type."""

from __future__ import annotations

from collections.abc import Sequence

from polycmp.builtin.observers.follow_ups.commands import Commands
from polycmp.builtin.observers.follow_ups.repeats import Repeats
from polycmp.errors import EXIT_DIFFERENT
from polycmp.results import BackendResult, Outcome
from polycmp.runs import Resolved, RunStep
from polycmp.spec import RunObserver


class FollowUps(RunObserver):
    """Collects what fails, and names the commands that repeat it and that look further into it.

    Args:
        resolved: The run; the commands write its plan down.
    """

    def __init__(self, resolved: Resolved) -> None:
        self._commands = Commands(resolved.plan, resolved.registry)
        self._backends = resolved.backends
        self._repeats = Repeats(self._commands.with_feed)
        self._results: Sequence[BackendResult] = ()

    def start(self, outcome: Outcome) -> None:
        """Keep the records of the runs, which will say which of them failed."""
        self._results = outcome.backends

    def on_step(self, step: RunStep) -> None:
        """Note what failed in an iteration."""
        self._repeats.take(step.index, step.feed, self._results, step.invalid, step.compared)

    def finish(self, outcome: Outcome) -> None:
        """Put the commands into the outcome."""
        outcome.repeats = self._repeats.found()
        names = {
            candidate_name: name
            for mapping in outcome.output_names.values()
            for candidate_name, name in mapping.items()
        }
        outcome.next_steps = list(self._commands.with_output_names(names))
        told = outcome.failed_backends or outcome.verdict == "undecided"  # inside, more can be told of these, too
        if outcome.exit_code != EXIT_DIFFERENT and not told:
            return
        from polycmp.builtin.observers.follow_ups.next_steps import may_tell_more  # looks at the models' graphs

        if may_tell_more(self._backends, outcome):
            outcome.next_steps += list(self._commands.looking_further(self._repeats.first_options()))

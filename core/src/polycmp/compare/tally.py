"""Verdicts on outputs over many iterations, in constant memory: the worst one, and how often it failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polycmp.compare.verdicts import OutputComparison


class Tally:
    """Keeps, for each output, the verdict of its worst iteration.

    Attributes:
        outputs: Verdicts by output name, in the order in which outputs appeared.
    """

    def __init__(self) -> None:
        self.outputs: dict[str, OutputComparison] = {}

    def add(self, items: Iterable[OutputComparison]) -> None:
        """Take in the verdicts of one iteration."""
        for item in items:
            self._keep(item)

    @property
    def passed(self) -> bool:
        """Whether every output passed in every iteration."""
        return all(item.passed for item in self.outputs.values())

    def _keep(self, item: OutputComparison) -> None:
        known = self.outputs.get(item.output)
        if known is None:
            self.outputs[item.output] = replace(item, failed_iterations=int(not item.passed))
            return
        kept = item if _badness(item) > _badness(known) else known
        self.outputs[item.output] = replace(
            kept,
            iterations=known.iterations + 1,
            failed_iterations=known.failed_iterations + int(not item.passed),
        )


def named_reason(name: str, reason: str, functions: int) -> str:
    """Return a compare function's reason, with its name in front where several judge the same output."""
    text = reason or "differs"
    return f"{name}: {text}" if functions > 1 else text


def _badness(item: OutputComparison) -> tuple[bool, bool, int, float]:
    """Return what orders the iterations of one output: failures first, among them those without figures."""
    stats = item.stats
    if stats is None:
        return not item.passed, not item.passed, 0, 0.0
    return not item.passed, False, stats.failed, stats.max_abs

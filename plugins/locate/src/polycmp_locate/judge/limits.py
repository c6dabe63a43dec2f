"""Limits of an output's error that rounding explains."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from polycmp_locate.rounding.thresholds import accumulated_limit, quantisation_limit
from polycmp_locate.trials.flow import Flow
from polycmp_locate.values.measured import Row


class OutputLimits:
    """Limits of the relative errors of a model's outputs that rounding explains: the one definition of them.

    Args:
        rows: The tensors that were looked at, in the order of the graph.
        flow: Data flow of the graph.
        count: Number of operators of the model.
        noise: Gives what rounding explains of a tensor, of its position in the graph, a unit roundoff and the error in
            question; exact only where the error is beyond it. By default what adding up roundings explains.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        flow: Flow,
        count: int,
        noise: Callable[[int, float, float], float] = lambda position, unit, error: accumulated_limit(position, unit),
    ) -> None:
        self._rows, self._flow, self._count, self._noise = rows, flow, count, noise
        self._known: dict[str, tuple[float, float]] = {}

    def of(self, name: str, error: float = math.inf) -> float:
        """Return the relative error of an output that rounding explains; exact only where the error is beyond it.

        Args:
            name: The output.
            error: The error in question: what the model amplifies is measured for those that nothing else explains.
        """
        unit, steps = self._on_the_way(name)
        return max(self._noise(self._count, unit, error), steps)

    def least(self, name: str) -> float:
        """Return the relative error of an output that rounding explains, however the model amplifies it."""
        unit, steps = self._on_the_way(name)
        return max(accumulated_limit(self._count, unit), steps)

    def _on_the_way(self, name: str) -> tuple[float, float]:
        """Return the coarsest unit roundoff on the way to an output, and what quantised tensors on it explain."""
        if name not in self._known:
            before = self._flow.before(name)
            rows = [row for row in self._rows if row.tensor in before]
            unit = max((row.unit for row in rows), default=0.0)
            self._known[name] = unit, quantisation_limit(sum(row.in_steps for row in rows))
        return self._known[name]

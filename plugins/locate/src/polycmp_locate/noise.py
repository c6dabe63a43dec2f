"""How far rounding alone may take the tensors of a model from those of another backend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from polycmp.layerwise.partitioned_run import Lane
from polycmp.precision import granted
from polycmp.tensors import Feed
from polycmp_locate.measure import distance, nudged
from polycmp_locate.result import Row
from polycmp_locate.search import JUMP
from polycmp_locate.words import MARGIN

#: Roundings of a coarse type that add up to more than this would leave nothing of the tensor.
_MOST = 0.5


class Noise:
    """The noise floor of a whole model.

    Args:
        reference: The backend to believe.
        feed: The inputs.
        outputs: Its final outputs for them.
    """

    def __init__(self, reference: Lane, feed: Feed, outputs: Mapping[str, Any]) -> None:
        self._reference = reference
        self._feed = feed
        self._outputs = outputs

    @cached_property
    def moved(self) -> float:
        """How far the final outputs move, relative, if the inputs move by one unit in the last place."""
        made = self._reference.run_whole(nudged(self._feed), list(self._outputs)) or {}
        gaps = [distance(made[name], array) for name, array in self._outputs.items() if name in made]
        return max((gap for gap in gaps if math.isfinite(gap)), default=0.0)

    def limit(self, position: int, unit: float) -> float:
        """Return which relative error is still rounding.

        Roundings of independent sign add up like a random walk, with the square root of their number.

        Args:
            position: How many operators came before.
            unit: Unit roundoff that the tensor is judged by.
        """
        return max(MARGIN * self.moved, min(_MOST, MARGIN * granted(unit) * math.sqrt(position + 1)))

    def explains(self, row: Row, position: int, rounded: set[str]) -> bool:
        """Return whether a tensor's error is that of its inputs and of rounding, added up.

        Args:
            row: The tensor.
            position: Its place in the graph.
            rounded: The tensors before it whose error is outside the tolerance, and yet rounding.
        """
        if not math.isfinite(row.relative) or row.stats is None or row.relative > self.limit(position, row.unit):
            return False
        if row.own is not None:
            return row.own.relative <= MARGIN * max(row.own.floor or 0.0, granted(row.unit))
        return row.jump <= JUMP or any(name in rounded for name in row.node.inputs)

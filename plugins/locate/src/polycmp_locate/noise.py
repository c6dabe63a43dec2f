"""The noise floor of a whole model: how far rounding alone may take its tensors from those of another backend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from polycmp.tensors import Feed, dtype_of, is_floating
from polycmp_layerwise.partitioned_run import PartitionedRun
from polycmp_locate.decisions import accumulated_limit
from polycmp_locate.measure import distance
from polycmp_locate.perturbing import nudged


class Noise:
    """The noise floor of a whole model.

    Args:
        reference: The backend to believe.
        feed: The inputs.
        outputs: Its final outputs for them.
    """

    def __init__(self, reference: PartitionedRun, feed: Feed, outputs: Mapping[str, Any]) -> None:
        self._reference = reference
        self._feed = feed
        self._outputs = outputs

    @cached_property
    def moved(self) -> float:
        """How far the final outputs move, relative, if the inputs move by one unit in the last place.

        Whole numbers have no such unit: where the inputs hold nothing else, nothing is run.
        """
        if not any(is_floating(dtype_of(array)) for array in self._feed.values()):
            return 0.0
        made = self._reference.run_whole(nudged(self._feed), list(self._outputs)) or {}
        gaps = [distance(made[name], array) for name, array in self._outputs.items() if name in made]
        return max((gap for gap in gaps if math.isfinite(gap)), default=0.0)

    def limit(self, position: int, unit: float, error: float = math.inf) -> float:
        """Return which relative error is still rounding.

        What the inputs' last place moves takes a run of the whole model, and only ever raises the limit: it is not
        measured for an error that is within the limit without it.

        Args:
            position: How many operators came before.
            unit: Unit roundoff that the tensor is judged by.
            error: The relative error that is to be judged.
        """
        least = accumulated_limit(position, unit, 0.0)
        return least if error <= least else accumulated_limit(position, unit, self.moved)

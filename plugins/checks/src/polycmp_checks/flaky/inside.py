"""The first tensor in model order that differs from run to run, found by hashes, window by window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun, Windows
from polycmp.tensors import Feed, to_numpy
from polycmp_checks.flaky.findings import FirstDiffering, Repeated
from polycmp_checks.flaky.tally import digest, largest_difference


def find_first(
    run: PartitionedRun, feed: Feed, runs: int, max_memory: int, on_stage: Callable[[str], None], *, restart: bool
) -> FirstDiffering | None:
    """Run a model again and again with the tensors inside it shown; None where all of them have the same bits.

    Args:
        run: The backend.
        feed: The inputs.
        runs: Number of runs.
        max_memory: Bytes for the tensors of a window, 0 for a share of what is free.
        on_stage: Told in words what happens next.
        restart: Whether each run is one of sessions of its own.
    """
    search = _Search(run.graph)
    windows = Windows([run], search.tensors, max_memory)
    try:
        for number in range(runs + 1):
            if number == runs and not search.lacks_difference:
                break
            on_stage(f"{run.label}, inside: run {number + 1} of {runs}")
            for window, results in windows.windows(feed, keep=not restart):
                search.take(results.get(run.label, {}), counts=number < runs)
                if window.last and run.is_well:
                    run.finish()
            if not run.is_well:
                return None
    finally:
        windows.close()
    return search.result()


class _Search:
    """Hashes of all tensors, and the values of the first one that differs.

    The difference of that one is measured from its values in the run in which it was first seen to differ: to keep
    those of the first run, all tensors would have to be kept.

    Args:
        graph: The model.
    """

    def __init__(self, graph: ModelGraph) -> None:
        makers = {
            name: node for node in graph.nodes for name in node.outputs if name not in graph.opaque
        }  # in model order
        self.tensors = list(makers)
        self._makers: Mapping[str, GraphNode] = makers
        self._place = {name: index for index, name in enumerate(makers)}
        self._seen: dict[str, Counter[bytes]] = {name: Counter() for name in makers}
        self._first = ""
        self._first_array: Any = None
        self._largest: float | None = None

    @property
    def lacks_difference(self) -> bool:
        """Whether a tensor differs in the last run only, so that a further run has to measure by how much."""
        return bool(self._first) and self._largest is None

    def take(self, tensors: Mapping[str, Any], *, counts: bool) -> None:
        """Count the tensors of a window.

        Args:
            tensors: The tensors by name.
            counts: Whether the run is one of those that are counted.
        """
        for name in sorted(tensors, key=self._place.__getitem__):
            array, seen = tensors[name], self._seen[name]
            bits = digest(array)
            if counts:
                seen[bits] += 1
            if name == self._first:
                gap = largest_difference(array, self._first_array)
                if gap is not None and digest(self._first_array) != bits:
                    self._largest = max(self._largest or 0.0, gap)
            elif len(seen) > 1 and (not self._first or self._place[name] < self._place[self._first]):
                self._first, self._first_array, self._largest = name, np.array(to_numpy(array)), None

    def result(self) -> FirstDiffering | None:
        """Return the first tensor that differs; None if none does."""
        if not self._first:
            return None
        node, seen = self._makers[self._first], self._seen[self._first]
        tensor = Repeated(self._first, len(seen), max(seen.values()), self._largest)
        return FirstDiffering(node.op_type, node.name, tensor)

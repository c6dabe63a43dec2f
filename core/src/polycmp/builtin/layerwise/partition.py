"""Cutting a graph into consecutive segments, each small enough for the memory there is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from polycmp.builtin.judging.structure import makers, static_tensors
from polycmp.graph import GraphNode, ModelGraph
from polycmp.process import resident_memory
from polycmp.tensors import TensorEntry

__all__ = ["MOST_WEIGHTS", "GraphCuts", "Segment", "crossing", "memory_budget", "plan_segments"]

#: Windows beyond this gain nothing more: measured on ResNet-50, 160 and 256 MiB take the same time within 1 %, and 30
#: and 200 MB more memory at their peak; 80 MiB take 2 to 7 % more time.
_MOST_BY_DEFAULT = 128 << 20
_FREE_SHARE = 0.25
#: Weights of one window, per run: sessions copy theirs more than once. Measured on ResNet-50: a tenth less memory than
#: without, in the same time.
MOST_WEIGHTS = 16 << 20
#: What backends need beside their results, such as buffers in another layout, comes out of the same memory. Measured on
#: the chain of convolutions of benchmarks/bench_locate.py with 300 MB allowed: 0.6 peaks at 320 MB, this at 280 to 291.
_HEADROOM = 0.45


@dataclass(frozen=True)
class Segment:
    """Consecutive operators that run as a model of their own.

    Attributes:
        start: Position of the first operator.
        stop: Position after the last one.
        inputs: Tensors from outside that it reads, weights not included.
        outputs: Tensors it makes that are wanted, or that later operators read.
        wanted: Those to be compared.
        last_use: Tensors, from wherever, that no later segment reads.
    """

    start: int
    stop: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    wanted: tuple[str, ...]
    last_use: tuple[str, ...] = ()


class GraphCuts:
    """Possible cuts of a graph, and their cost.

    Args:
        graph: The graph.
        wanted: The tensors to be compared.
        types: Types and shapes as far as known.
        again: Tensors that each segment computes for itself, with the model's inputs that this takes.
    """

    def __init__(
        self,
        graph: ModelGraph,
        wanted: Iterable[str],
        types: Mapping[str, TensorEntry],
        again: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        self.graph = graph
        self.wanted: frozenset[str] = frozenset(wanted)
        self.again: Mapping[str, Iterable[str]] = again or {}
        self.static: set[str] = static_tensors(graph) | set(self.again)
        self.maker: dict[str, int] = makers(graph.nodes)
        self.sizes: dict[str, int] = tensor_sizes(graph, types)
        self.last_reader: dict[str, int] = {}
        for index, node in enumerate(graph.nodes):
            for name in node.inputs:
                self.last_reader[name] = index

    def bytes_made(self, index: int) -> int:
        """Return the size of the outputs, in bytes, that the operator at a position adds to a segment."""
        return sum(self.sizes.get(name, 0) for name in self.graph.nodes[index].outputs if self._kept(name, index + 1))

    def weights_read(self, index: int) -> int:
        """Return the size of the weights, in bytes, that the operator at a position reads."""
        return sum(self.graph.weights.get(name, 0) for name in self.graph.nodes[index].inputs)

    def can_cut(self, position: int) -> bool:
        """Return whether everything alive before the operator at a position is a tensor."""
        return not any(
            self.maker.get(name, position) < position <= self.last_reader.get(name, -1) for name in self.graph.opaque
        )

    def segment(self, start: int, stop: int) -> Segment:
        """Return the segment between two positions."""
        nodes = self.graph.nodes[start:stop]
        computed = [name for node in nodes for name in node.outputs]
        computed_names = set(computed)
        read = dict.fromkeys(name for node in nodes if self._matters(node) for name in node.inputs)
        needed = [name for name in read if name not in computed_names and name not in self.static]
        needed += [name for known in read for name in sorted(self.again.get(known, ()))]
        inputs = tuple(dict.fromkeys(needed))
        outputs = tuple(name for name in computed if self._kept(name, stop))
        alive = [*inputs, *outputs]
        return Segment(
            start,
            stop,
            inputs,
            outputs,
            tuple(name for name in computed if name in self.wanted),
            tuple(name for name in alive if self.last_reader.get(name, -1) < stop),
        )

    def _matters(self, node: GraphNode) -> bool:
        return any(name not in self.again or name in self.wanted for name in node.outputs)

    def _kept(self, name: str, stop: int) -> bool:
        """Return whether a segment that ends at a position has to give out a tensor that it makes."""
        if name in self.wanted:
            return True
        return name not in self.static and self.last_reader.get(name, -1) >= stop


def plan_segments(layout: GraphCuts, budget: int, runs: int, most_weights: int | None = None) -> list[Segment]:
    """Return the segments of a graph.

    Args:
        layout: The graph and the sizes of its tensors.
        budget: Bytes that the tensors of all runs may take at once.
        runs: Number of backends, each of which holds a copy of each tensor.
        most_weights: Bytes of weights that a segment of several operators may have; None if any number.
    """
    segments: list[Segment] = []
    start = 0
    held, weights = runs * _alive(layout, 0), 0
    count = len(layout.graph.nodes)
    for index in range(count):
        written, read = layout.bytes_made(index) * runs, layout.weights_read(index)
        full = held + written > budget or (most_weights is not None and weights + read > most_weights)
        if index > start and full and layout.can_cut(index):
            segments.append(layout.segment(start, index))
            start = index
            held, weights = runs * _alive(layout, index), 0
        held += written
        weights += read
    if count:
        segments.append(layout.segment(start, count))
    return segments


def _alive(layout: GraphCuts, position: int) -> int:
    return sum(layout.sizes.get(name, 0) for name in crossing(layout, position))


def crossing(layout: GraphCuts, position: int) -> Iterable[str]:
    """Yield the tensors made before a position that are read at or after it."""
    for name, last in layout.last_reader.items():
        if name not in layout.static and last >= position and layout.maker.get(name, -1) < position:
            yield name


def tensor_sizes(graph: ModelGraph, types: Mapping[str, TensorEntry]) -> dict[str, int]:
    """Return the bytes of each tensor; one of unknown shape counts like the largest that its operator reads."""
    sizes: dict[str, int] = {}
    for name, entry in graph.inputs.items():
        sizes[name] = _bytes(types.get(name, entry)) or 0
    for node in graph.nodes:
        largest = max((sizes.get(name, 0) for name in node.inputs), default=0)
        for name in node.outputs:
            known = _bytes(types.get(name))
            sizes[name] = largest if known is None else known
    return sizes


def _bytes(entry: TensorEntry | None) -> int | None:
    if entry is None or entry.is_dynamic() or entry.shape is None:
        return None
    count = 1
    for dim in entry.shape:
        count *= int(dim)
    return count * (entry.dtype.itemsize if entry.dtype is not None else 4)


def memory_budget(asked: int, weights: int = 0, *, few: bool = False) -> int:
    """Return the size limit of a window's tensors in bytes.

    What was asked for is meant for the whole process but the models' weights, so what it takes already counts.

    Args:
        asked: Bytes that the user set; 0 for a share of the free memory.
        weights: Bytes of the weights that the process holds.
        few: Whether windows are expensive, so that as few as memory permits are wanted.
    """
    if not asked:
        free = _free_memory()
        if free is None:
            return _MOST_BY_DEFAULT
        share = int(free * _FREE_SHARE)
        return max(16 << 20, share if few else min(_MOST_BY_DEFAULT, share))
    taken = max(0, resident_memory() - weights)
    return max(asked // 8, int((asked - taken) * _HEADROOM))


def _free_memory() -> int | None:
    """Return the bytes that can be taken without swapping, None where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None

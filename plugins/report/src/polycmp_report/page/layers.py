"""Layout of the boxes of a small graph in layers, from those that read nothing down to those that are not read.

The layers are by longest path. Crossings are reduced by sorting each layer by the mean place of its neighbours, as in
Sugiyama, Tagawa and Toda, Methods for Visual Understanding of Hierarchical System Structures, 1981. Edges over several
layers get a place in each of them, so that they go around boxes.

dagre needs a script that runs: this page is read where none does, as a CI system shows it or as it comes by mail, and
would grow by 50 kB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

#: Number of times that the layers are sorted, downwards and upwards in turn.
_SWEEPS = 8
#: The width that an edge takes in a layer, as a share of a box's.
_NARROW = 0.22

#: A box by its number; or, of an edge over several layers, its place in one: reader, box that is read, layer.
Item = int | tuple[int, int, int]


@dataclass(frozen=True)
class Layers:
    """Positions of boxes and edges.

    Attributes:
        boxes: For each box its place from the left, in widths of a box, and its layer.
        bends: For each edge, from the box that is read to the reader, the places between in the same units.
        width: The widest layer.
        height: Number of layers.
    """

    boxes: tuple[tuple[float, int], ...]
    bends: Mapping[tuple[int, int], tuple[tuple[float, int], ...]]
    width: float
    height: int


def layers_of(reads: Sequence[Sequence[int]]) -> Layers:
    """Lay out boxes in layers.

    Args:
        reads: For each box the boxes that it reads, all of them before it.
    """
    depth: list[int] = []
    for sources in reads:
        depth.append(1 + max((depth[index] for index in sources), default=-1))
    for index in reversed(range(len(reads))):  # what reads nothing goes where it is needed
        readers = [depth[other] for other, sources in enumerate(reads) if index in sources]
        if not reads[index] and readers:
            depth[index] = min(readers) - 1
    rows: list[list[Item]] = [[] for _ in range(max(depth, default=-1) + 1)]
    up: dict[Item, list[Item]] = {}
    for index, sources in enumerate(reads):
        rows[depth[index]].append(index)
        for other in sources:
            last: Item = other
            for layer in range(depth[other] + 1, depth[index]):
                bend = (index, other, layer)
                rows[layer].append(bend)
                up.setdefault(bend, []).append(last)
                last = bend
            up.setdefault(index, []).append(last)
    return _placed(reads, depth, _sorted(rows, up))


def _sorted(rows: list[list[Item]], up: Mapping[Item, Sequence[Item]]) -> list[list[Item]]:
    """Return the layers in an order with few crossings."""
    down: dict[Item, list[Item]] = {}
    for item, above in up.items():
        for other in above:
            down.setdefault(other, []).append(item)
    for sweep in range(_SWEEPS):
        neighbours = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            places = {item: place for other in rows for item, place in _spread(other).items()}
            positions = _spread(row)
            row.sort(key=lambda item: _mean([places[other] for other in neighbours.get(item, ())], positions[item]))
    return rows


def _mean(places: Sequence[float], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise


def _spread(row: Sequence[Item]) -> dict[Item, float]:
    """Return the places of a layer's items around its middle."""
    widths = [1.0 if isinstance(item, int) else _NARROW for item in row]
    places, at = {}, -sum(widths) / 2
    for item, width in zip(row, widths, strict=True):
        places[item] = at + width / 2
        at += width
    return places


def _placed(reads: Sequence[Sequence[int]], depth: Sequence[int], rows: Sequence[Sequence[Item]]) -> Layers:
    width = max((sum(1.0 if isinstance(item, int) else _NARROW for item in row) for row in rows), default=0.0)
    places = {item: place + width / 2 for row in rows for item, place in _spread(row).items()}
    bends = {
        (other, index): tuple((places[index, other, layer], layer) for layer in range(depth[other] + 1, depth[index]))
        for index, sources in enumerate(reads)
        for other in sources
    }
    return Layers(tuple((places[index], depth[index]) for index in range(len(reads))), bends, width, len(rows))

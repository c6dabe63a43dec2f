"""Operators that read the inputs of a model, to tell inputs of two models apart that look alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polycmp.data.input_pairs import WHOLE, Alike
from polycmp.graph import ModelGraph

#: Operators that only pass an input on, so that converted models have them, or do not.
_PASSING = frozenset({"Cast", "Identity", "QuantizeLinear", "DequantizeLinear", "Dropout"})
_COMMUTATIVE = frozenset({"Add", "Mul", "And", "Or", "Max", "Min", "Sum", "Equal", "Xor", "Mean"})


def compare_readers(one: ModelGraph, two: ModelGraph) -> Alike:
    """Make the comparison of how two models read their inputs, by the types of the operators downstream."""
    sides = _Readers(one), _Readers(two)
    return lambda name, other, depth: sides[0].behind(name, depth) == sides[1].behind(other, depth)


class _Readers:
    """Operators that read each input of one graph."""

    def __init__(self, graph: ModelGraph) -> None:
        self._readers: dict[str, list[tuple[str, int, tuple[str, ...]]]] = {}
        for node in graph.nodes:
            for place, name in enumerate(node.inputs):
                at = 0 if node.op_type in _COMMUTATIVE else place
                self._readers.setdefault(name, []).append((node.op_type, at, node.outputs))
        self._whole = _whole_ways(graph)

    def behind(self, name: str, depth: int) -> object:
        """Return the operators that read a tensor, and those that read these, as a value that can be compared."""
        if depth >= WHOLE:
            return self._whole(name)
        return tuple(sorted(self._behind(name, depth), key=repr)) if depth else ()

    def _behind(self, name: str, depth: int) -> Iterator[object]:
        for op_type, place, outputs in self._readers.get(name, ()):
            if op_type in _PASSING:
                yield from self._behind(outputs[0], depth) if place == 0 else ()
            else:
                yield op_type, place, tuple(self.behind(output, depth - 1) for output in outputs)


def _whole_ways(graph: ModelGraph) -> Callable[[str], object]:
    """Return the function that hashes everything computed from a tensor, down to the model's outputs."""
    hashes: dict[str, list[int]] = {name: [hash(("output", place))] for place, name in enumerate(graph.outputs)}

    def way(name: str) -> int:
        return hash(tuple(sorted(hashes.get(name, ()))))

    for node in reversed(graph.nodes):
        if node.op_type in _PASSING:
            hashes.setdefault(node.inputs[0], []).extend(hashes.get(node.outputs[0], ()))
            continue
        output_hashes = tuple(map(way, node.outputs))
        for place, name in enumerate(node.inputs):
            at = 0 if node.op_type in _COMMUTATIVE else place
            hashes.setdefault(name, []).append(hash((node.op_type, at, output_hashes)))
    return way

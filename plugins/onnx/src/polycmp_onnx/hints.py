"""Constraints of an ONNX model's operators on dimensions that its inputs leave open.

Each open dimension is followed forward through the graph as a function of its size. An operator that would be left
without elements gives a smallest size, one that fits a weight or a constant shape gives sizes to try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polycmp.spec import SizeHint
from polycmp.tensors import TensorMetadata, is_size
from polycmp_onnx.graph import STANDARD, reads, subgraphs
from polycmp_onnx.load import structure_from_path
from polycmp_onnx.size_rules import RULES, Constants, Need, Size, Sizes

#: Sizes beyond this are no use to try.
LARGEST = 1 << 16
#: Strides that multiply up to more than this say nothing of what sizes are usual.
COARSEST = 256


def open_hints(source: Any, _options: Any = None) -> GraphHints:
    """Open the constraints that a model's graph puts on input sizes; weights are not read.

    Args:
        source: Path of the model, or a loader that gives one.

    Raises:
        ModelError: The file is no ONNX model.
    """
    return GraphHints(structure_from_path(source) if isinstance(source, (str, Path)) else source())


@dataclass
class _SizeConstraints:
    """Constraints found on one dimension."""

    least: int = 1
    stride: int = 1
    likely: list[int] = field(default_factory=list)
    why: list[str] = field(default_factory=list)

    def hint(self) -> SizeHint | None:
        """Return it as a hint; None if nothing is asked."""
        if self.least == 1 and self.stride == 1 and not self.likely:
            return None
        stride = self.stride if self.stride <= COARSEST else 1
        why = " and ".join(dict.fromkeys(self.why[-1:])) or "a multiple of the strides"
        return SizeHint(
            self.least, stride, tuple(size for size in dict.fromkeys(self.likely) if size >= self.least), why
        )


class GraphHints:
    """The hints of a model; see `polycmp.spec.InputHints`.

    Args:
        model: An `onnx.ModelProto`; the content of large weights is not needed.
    """

    def __init__(self, model: Any) -> None:
        self._model = model

    def sizes(self, inputs: TensorMetadata, /) -> Mapping[tuple[str, int], SizeHint]:
        """Return hints by input and axis."""
        constraints: dict[tuple[str, int], _SizeConstraints] = {}
        known: dict[str, Sizes] = {}
        for name, entry in inputs.items():
            if entry.shape is not None:
                known[name] = [dim if is_size(dim) else Size((name, axis)) for axis, dim in enumerate(entry.shape)]
        for need in _needs(self._model.graph, known, Constants()):
            _take(constraints.setdefault(need.size.origin, _SizeConstraints()), need)
        hints = {place: asked.hint() for place, asked in constraints.items()}
        return {place: hint for place, hint in hints.items() if hint is not None}


def _needs(graph: Any, known: dict[str, Sizes], constants: Constants) -> Iterator[Need]:
    """Yield the needs of a graph's operators, and of its sub-graphs', and note the sizes of their outputs."""
    constants = constants.inside(graph)
    for node in graph.node:
        constants.add(node)
        for inner in subgraphs(node):
            yield from _needs(inner, {name: known[name] for name in reads(node) if name in known}, constants)
        rule = RULES.get(node.op_type)
        tracked = any(isinstance(dim, Size) for name in node.input for dim in known.get(name, ()))
        if rule is None or node.domain not in STANDARD or not tracked:
            continue
        needs: list[Need] = []
        outputs = _apply(rule, node, known, constants, needs)
        yield from needs
        for name, sizes in zip(node.output, outputs, strict=False):
            if name and sizes is not None:
                known[name] = sizes
                yield from (Need(dim, node) for dim in sizes if isinstance(dim, Size))


def _apply(
    rule: Callable[..., list[Sizes | None]],
    node: Any,
    known: Mapping[str, Sizes],
    constants: Constants,
    needs: list[Need],
) -> list[Sizes | None]:
    shapes = [known.get(name) or constants.shape(name) for name in node.input]
    try:
        return rule(node, shapes, constants, needs)
    except (IndexError, TypeError, ValueError, KeyError, ZeroDivisionError):
        return []  # a graph that contradicts its own operators is for backends to refuse


def _take(asked: _SizeConstraints, need: Need) -> None:
    """Take in that a size derived from a dimension has to be something."""
    label = f"{need.node.op_type} {need.node.name or need.node.output[0]!r}"
    least = _first(lambda size: need.size.of(size) >= max(need.least, 1))
    if least > asked.least:
        asked.least = least
        asked.why.append(f"{label} needs at least {least}")
    asked.stride = max(asked.stride, need.size.stride)
    if need.equal is None:
        return
    equal = need.equal
    low = _first(lambda size: need.size.of(size) >= equal)
    high = _first(lambda size: need.size.of(size) > equal) - 1
    if need.size.of(low) == equal:
        stride = need.size.stride
        even = high // stride * stride
        asked.likely.append(even if low <= even <= min(high, LARGEST) else low)
        asked.why.append(f"{label} takes {need.equal} there")


def _first(holds: Callable[[int], bool]) -> int:
    """Return the smallest size from which on a condition holds, by halving; the largest if it never does."""
    low, high = 1, LARGEST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low

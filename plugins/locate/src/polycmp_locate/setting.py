"""Who is searched, with what, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polycmp.compare import PairComparer
from polycmp.graph import ModelGraph
from polycmp.layerwise import MovedRuns, PartitionedRun
from polycmp.spec import Compared
from polycmp_locate.pairing.result import Pairing

Tensors = Mapping[str, Any]
Stage = Callable[[str], None]
Look = Callable[[Compared], None]


@dataclass(frozen=True)
class LocateOptions:
    """How to search.

    Attributes:
        bisect: Whether to look at few tensors instead of all.
        float64: Whether to use a backend that calculates in float64, where that is affordable.
        look: Called with both sides of the first tensors that differ, for reports that show them; None for nobody.
    """

    bisect: bool = False
    float64: bool = True
    look: Look | None = None


@dataclass
class Setting:
    """Who is searched, and with what.

    Attributes:
        candidate: The backend to judge.
        reference: The backend to believe.
        precise: A backend that calculates in float64, or None.
        functions: What judges a tensor.
        max_memory: Bytes for tensors.
        pairing: Which tensors of two different models belong together; None where both have the same operators.
        moved: Runs the reference's model with its tensors moved; None where nothing can.
    """

    candidate: PartitionedRun
    reference: PartitionedRun
    precise: PartitionedRun | None
    functions: Mapping[str, Callable[..., Any]]
    max_memory: int = 0
    pairing: Pairing | None = None
    moved: MovedRuns | None = None

    def agree(self, made: Tensors, expected: Tensors) -> bool:
        """Return whether tensors of the candidate and of the reference are within the tolerances."""
        comparer = PairComparer(self.candidate.label, self.reference.label, self.functions)
        return all(item.passed for item in comparer.add(made, expected))


def all_tensors(graph: ModelGraph) -> list[str]:
    """Return the names of everything that a model's operators make and that can be compared."""
    return [name for node in graph.nodes for name in node.outputs if name not in graph.opaque]

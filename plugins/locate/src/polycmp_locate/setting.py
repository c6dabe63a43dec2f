"""Set-up of a search: the backends and the options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polycmp.compare import PairComparer
from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun
from polycmp.precision import UNITS
from polycmp.spec import Compared, CompareFunction
from polycmp.tensors import Feed
from polycmp_locate.network.comparison import NetworkComparison
from polycmp_locate.pairing.lacking import Lacking
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.whole_outputs import JudgeOutputs

Tensors = Mapping[str, Any]
Stage = Callable[[str], None]
Look = Callable[[Compared], None]
#: Makes the compare function of outputs, by their names, that some inputs lead to.
JudgeByRounding = Callable[[Feed, Sequence[str]], CompareFunction]


@dataclass(frozen=True)
class LocateOptions:
    """Options of the search.

    Attributes:
        bisect: Whether to look at few tensors instead of all.
        float64: Whether to use a backend that calculates in float64, where that is affordable.
        look: Called with both sides of the first tensors that differ, for reports that show them; None for none.
    """

    bisect: bool = False
    float64: bool = True
    look: Look | None = None


@dataclass(frozen=True)
class Setting:
    """Backends of a search, and the tools for it.

    Attributes:
        candidate: The backend to judge.
        reference: The backend to believe.
        precise: A backend that calculates in float64, or None.
        functions: Compare functions of a tensor, by name.
        max_memory: Bytes that the process may take beside the weights, 0 for a share of what is free.
        pairing: Pairs of tensors of two different models; None where both have the same operators.
        is_measured: Whether measured rounding judges, since nobody gave a tolerance.
        judge_by_rounding: Makes what judges the model's outputs by what rounding explains; None where nothing does.
        inner_rounding: Makes what judges the tensors inside so; None where nothing measures them.
        judge_outputs: Judges the outputs of the whole model; None where `functions` or measured rounding do.
        lacking: Outputs that only one of the models has; None where both have the same.
        defined: What calculates the candidate's file in float64; None where both sides run one file.
        network: What the files of both sides differ by; None where both run one file.
        invented: Inputs of a single number that were made up, by name.
    """

    candidate: PartitionedRun
    reference: PartitionedRun
    precise: PartitionedRun | None
    functions: Mapping[str, Callable[..., Any]]
    max_memory: int = 0
    pairing: Pairing | None = None
    is_measured: bool = False
    judge_by_rounding: JudgeByRounding | None = None
    inner_rounding: JudgeByRounding | None = None
    judge_outputs: JudgeOutputs | None = None
    lacking: Lacking | None = None
    defined: PartitionedRun | None = None
    network: NetworkComparison | None = None
    invented: Mapping[str, float] = field(default_factory=dict)

    def agree(self, actual: Tensors, expected: Tensors) -> bool:
        """Return whether tensors of the candidate and of the reference are within the tolerances."""
        comparer = PairComparer(self.candidate.label, self.reference.label, self.functions)
        return all(item.passed for item in comparer.add(actual, expected))

    def passes(self, output: str) -> Callable[[Any, Any], bool]:
        """Return a function that tells whether a tensor of this name is within the tolerances of another."""
        return lambda actual, expected: all(
            function(actual, expected, output=output).passed for function in self.functions.values()
        )


def all_tensors(graph: ModelGraph) -> list[str]:
    """Return the names of everything that a model's operators make and that can be compared."""
    return [name for node in graph.nodes for name in node.outputs if name not in graph.opaque]


def allowed_type(*partitioned_runs: PartitionedRun) -> str:
    """Return the coarsest type that some backends may calculate in; empty for the model's own."""
    return max(
        (partitioned_run.result.precision for partitioned_run in partitioned_runs),
        key=lambda name: UNITS.get(name, 0.0),
    )


def name_operators(nodes: Sequence[GraphNode]) -> str:
    """Return operators for people: one by its label, several by their types."""
    if len(nodes) == 1:
        return nodes[0].label
    kinds = sorted({node.op_type for node in nodes})
    more = f" and {len(kinds) - 3} more types" if len(kinds) > 3 else ""
    return f"{len(nodes)} operators ({', '.join(kinds[:3])}{more})"

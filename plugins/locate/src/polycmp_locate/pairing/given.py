"""Tensors that the user said are the same, with `--map-output`."""

from __future__ import annotations

from collections.abc import Mapping

from polycmp.errors import UsageError, did_you_mean
from polycmp.graph import ModelGraph
from polycmp.layerwise import PartitionedRun, tensors_behind


def given_pairs(candidate: PartitionedRun, reference: PartitionedRun, given: Mapping[str, str]) -> dict[str, str]:
    """Return the pairs of names that the user gave, of two models that both have them.

    A value that is no tensor represents the one that it holds.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.
        given: Names in the candidate's model -> names in the reference's.

    Raises:
        UsageError: A model has no such tensor.
    """
    mine, other = _made(candidate.graph), _made(reference.graph)
    found: dict[str, str] = {}
    for name, target in given.items():
        for label, wanted, graph, known in (
            (candidate.label, name, candidate.graph, mine),
            (reference.label, target, reference.graph, other),
        ):
            if wanted not in known:
                raise UsageError(
                    f"{label} has no output or inner tensor {wanted!r}",
                    why=did_you_mean(wanted, [*graph.outputs, *known]),
                    whose=f"--map-output {name}={target}",
                    hint=f"its outputs are: {', '.join(graph.outputs)}",
                )
        pair = (tensors_behind(candidate.graph, name), tensors_behind(reference.graph, target))
        if len(pair[0]) == len(pair[1]) == 1:  # else what is no tensor is left out
            found[pair[0][0]] = pair[1][0]
    return found


def names_others(given: Mapping[str, str], graph: ModelGraph) -> bool:
    """Return whether the user gave any tensor of a model another name than its own."""
    return any(name != target for name, target in given.items() if name in _made(graph))


def _made(graph: ModelGraph) -> dict[str, None]:
    return {name: None for node in graph.nodes for name in node.outputs}

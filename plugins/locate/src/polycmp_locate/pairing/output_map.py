"""Pairs of tensors that `--map-output` names."""

from __future__ import annotations

from collections.abc import Mapping

from polycmp.errors import UsageError, did_you_mean
from polycmp.graph import ModelGraph
from polycmp.layerwise import PartitionedRun, tensors_behind


def mapped_pairs(candidate: PartitionedRun, reference: PartitionedRun, output_map: Mapping[str, str]) -> dict[str, str]:
    """Resolve the pairs of `--map-output` to tensors of the two models.

    A value that is no tensor represents the one that it holds.

    Args:
        candidate: The backend to judge.
        reference: The backend to believe.
        output_map: Names in the candidate's model -> names in the reference's.

    Raises:
        UsageError: A model has no such tensor.
    """
    candidate_tensors, reference_tensors = _computed_tensors(candidate.graph), _computed_tensors(reference.graph)
    pairs: dict[str, str] = {}
    for name, target in output_map.items():
        for label, tensor, graph, known in (
            (candidate.label, name, candidate.graph, candidate_tensors),
            (reference.label, target, reference.graph, reference_tensors),
        ):
            if tensor not in known:
                raise UsageError(
                    f"{label} has no output or inner tensor {tensor!r}",
                    why=did_you_mean(tensor, [*graph.outputs, *known]),
                    whose=f"--map-output {name}={target}",
                    hint=f"its outputs are: {', '.join(graph.outputs)}",
                )
        pair = (tensors_behind(candidate.graph, name), tensors_behind(reference.graph, target))
        if len(pair[0]) == len(pair[1]) == 1:  # else what is no tensor is left out
            pairs[pair[0][0]] = pair[1][0]
    return pairs


def names_others(output_map: Mapping[str, str], graph: ModelGraph) -> bool:
    """Return whether `--map-output` pairs any tensor of a model with a tensor of another name."""
    return any(name != target for name, target in output_map.items() if name in _computed_tensors(graph))


def _computed_tensors(graph: ModelGraph) -> dict[str, None]:
    return {name: None for node in graph.nodes for name in node.outputs}

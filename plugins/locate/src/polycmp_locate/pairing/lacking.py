"""Outputs that one of two models has, and the other has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.layerwise import PartitionedRun, a_few, tensor_outputs


@dataclass(frozen=True)
class Lacking:
    """Outputs that only one of two models has.

    Attributes:
        label: The backend whose model lacks them.
        owner: The backend whose model has them.
        outputs: Their names in it.
    """

    label: str
    owner: str
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        them = f"output {self.outputs[0]!r}" if len(self.outputs) == 1 else f"outputs {a_few(self.outputs)}"
        return f"{self.label} has no {them}, which {self.owner} has"


def lacking_outputs(
    candidate: PartitionedRun,
    reference: PartitionedRun,
    to_reference: Mapping[str, str],
) -> Lacking | None:
    """Return the outputs of the model that has more; None where both have some alone, which may be the same renamed.

    Args:
        candidate: The backend to judge, under its model's own names.
        reference: The backend to believe.
        to_reference: The reference's names of paired tensors, by the candidate's.
    """
    mine, other = tensor_outputs(candidate.graph), tensor_outputs(reference.graph)
    paired = {to_reference.get(name, name) for name in mine}
    of_candidate = tuple(name for name in mine if name not in other and to_reference.get(name) not in other)
    of_reference = tuple(name for name in other if name not in paired and name not in mine)
    if of_candidate and not of_reference:
        return Lacking(reference.label, candidate.label, of_candidate)
    if of_reference and not of_candidate:
        return Lacking(candidate.label, reference.label, of_reference)
    return None

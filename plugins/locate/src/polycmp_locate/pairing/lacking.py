"""Outputs that only one of two models has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polycmp.layerwise import PartitionedRun, a_few, tensor_outputs
from polycmp.runs import Ends, Resolved, ResolvedBackend, ends_of, outputs_alone


@dataclass(frozen=True)
class Lacking:
    """Outputs that only one of two models has.

    Attributes:
        label: The backend whose model lacks them.
        owner: The backend whose model has them.
        outputs: Their names in it.
        instead: Those that only the model which lacks them has, and which may be the same, renamed.
    """

    label: str
    owner: str
    outputs: tuple[str, ...]
    instead: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.instead:
            return (
                f"{_named(self.outputs)} of {self.owner} and {_named(self.instead)} of {self.label} were not compared"
            )
        return f"{self.label} has no {_named(self.outputs)}, which {self.owner} has"

    @property
    def advice(self) -> str:
        """A note on what to do about it; empty if there is nothing to say."""
        if not self.instead:
            return ""
        pairs = " ".join(f"{one}={two}" for one, two in zip(self.outputs, self.instead, strict=False))
        return f"where outputs of two names are the same, say so: --map-output {pairs}"


def lacking_outputs(
    resolved: Resolved, candidate: PartitionedRun, reference: PartitionedRun, to_reference: Mapping[str, str]
) -> Lacking | None:
    """Return the outputs that one of two models lacks; None if both have the same.

    Args:
        resolved: The backends.
        candidate: The backend to judge, under its model's own names.
        reference: The backend to believe.
        to_reference: The reference's names of paired tensors, by the candidate's.
    """
    candidate_ends, reference_ends = (_ends(resolved.backend(run.label), run) for run in (candidate, reference))
    alone = outputs_alone(candidate_ends, reference_ends, to_reference)
    if alone.candidate:
        return Lacking(reference.label, candidate.label, alone.candidate, alone.reference)
    return Lacking(candidate.label, reference.label, alone.reference) if alone.reference else None


def _ends(backend: ResolvedBackend, run: PartitionedRun) -> Ends:
    """Return a backend's outputs, and those of its file if options replaced them."""
    outputs = tensor_outputs(run.graph)
    file = backend.model.describe_file() if isinstance(backend.inside, str) else None
    if file is None or set(file.outputs) == set(run.graph.outputs):
        return Ends(outputs, outputs)
    return ends_of(backend.model, file)


def _named(outputs: tuple[str, ...]) -> str:
    return f"output {outputs[0]!r}" if len(outputs) == 1 else f"outputs {a_few(outputs)}"

"""Comparing the files of two models without running either: the service of a plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph


@dataclass(frozen=True)
class NetworkDifferences:
    """What two files of one network differ by.

    Attributes:
        faults: What no tool makes on purpose, in words, in the order of the candidate's graph.
        made_on_purpose: What tools make on purpose, in words.
        notes: Remarks on the whole, such as that a file was trained again.
        other_weights: Whether the files hold weights of their own, as after training again.
        compared: Number of constants that were compared.
        constants: Number of constants that the candidate's operators calculate with.
    """

    faults: tuple[str, ...]
    made_on_purpose: tuple[str, ...]
    notes: tuple[str, ...]
    other_weights: bool
    compared: int
    constants: int


class CompareNetworks(Protocol):
    """The factory of the service `networks`."""

    def __call__(self, candidate: ModelGraph, reference: ModelGraph, /) -> NetworkDifferences | None:
        """Compare two files; None where they do not tell what their operators calculate with."""

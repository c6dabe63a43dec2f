"""Comparing the files of two models without running either: the service of a plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from polycmp.errors import PluginError

if TYPE_CHECKING:
    from polycmp.graph import ModelGraph
    from polycmp.plugins import Registry


@dataclass(frozen=True)
class NetworkDifferences:
    """What two files of one network differ by.

    Attributes:
        faults: What no tool makes on purpose, in words, in the order of the candidate's graph.
        made_on_purpose: What tools make on purpose, in words.
        notes: Remarks on the whole, such as that a file was trained again.
        other_weights: Whether the files hold weights of their own, as after training again.
        compared: Number of constants that were compared.
        constants: Number of constants that the operators of that file calculate with of which more were compared.
        is_same: Whether all of both files was compared, operators, settings and constants, and nothing differs by more
            than the grids that the files declare.
    """

    faults: tuple[str, ...]
    made_on_purpose: tuple[str, ...]
    notes: tuple[str, ...]
    other_weights: bool
    compared: int
    constants: int
    is_same: bool = False


class CompareNetworks(Protocol):
    """The factory of the service `networks`."""

    def __call__(self, candidate: ModelGraph, reference: ModelGraph, /) -> NetworkDifferences | None:
        """Compare two files; None where they do not tell what their operators calculate with."""


def open_networks(registry: Registry) -> CompareNetworks | None:
    """Return what compares two files without a run; None where nothing that is installed does.

    Args:
        registry: The plugins.
    """
    try:
        compare: CompareNetworks = registry.load(registry.find_service("networks"))
    except PluginError:
        return None
    return compare

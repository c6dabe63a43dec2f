"""Two files compared without a run, for commands that have no other evidence: the service `networks`."""

from __future__ import annotations

from polycmp.graph import DeclaredGraph, ModelGraph
from polycmp.runs import NetworkDifferences
from polycmp_locate.network.comparison import compare_networks
from polycmp_locate.network.words import whole_notes


def compare_files(candidate: ModelGraph, reference: ModelGraph) -> NetworkDifferences | None:
    """Return what two files differ by; None where one does not tell what its operators calculate with.

    Args:
        candidate: The file to judge.
        reference: The file to believe.
    """
    if not isinstance(candidate, DeclaredGraph) or not isinstance(reference, DeclaredGraph):
        return None
    network = compare_networks(candidate, reference)
    return NetworkDifferences(
        tuple(item.words for item in network.accusing),
        tuple(item.words for item in network.findings if not item.accuses),
        tuple(whole_notes(network)),
        network.trained_again,
        *network.covered,
        is_same=network.is_same,
    )

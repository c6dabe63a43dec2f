"""What two files of one network differ by, as notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from polycmp_locate import sentences as say
from polycmp_locate.network.comparison import NetworkComparison


def network_notes(network: NetworkComparison, causes: Collection[str] = ()) -> Iterator[str]:
    """Yield notes on what two files differ by.

    Args:
        network: The comparison.
        causes: What is said already, in words.
    """
    left = [item for item in network.accusing if item.words not in causes]
    if left:
        first, *more = left
        yield f"another network: {say.other_network(first.words, len(more))}"
    yield from whole_notes(network)


def whole_notes(network: NetworkComparison) -> Iterator[str]:
    """Yield notes on two files as a whole.

    Args:
        network: The comparison.
    """
    if network.rescaled:
        yield say.rescaled(network.rescaled)
    elif network.trained_again:
        yield say.trained_again(network.deviating, network.constants)

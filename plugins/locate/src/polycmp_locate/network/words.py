"""What two files of one network differ by, as notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polycmp_locate import sentences as say
from polycmp_locate.network.comparison import NetworkComparison


def network_notes(faults: Sequence[str], notes: Iterable[str]) -> Iterator[str]:
    """Yield notes on what two files differ by.

    Args:
        faults: What no tool makes on purpose, in words.
        notes: Remarks on the whole.
    """
    if faults:
        first, *more = faults
        yield f"another network: {say.other_network(first, len(more))}"
    yield from notes


def whole_notes(network: NetworkComparison) -> Iterator[str]:
    """Yield notes on two files as a whole.

    Args:
        network: The comparison.
    """
    if network.rescaled:
        yield say.rescaled(network.rescaled)
    elif network.trained_again:
        yield say.trained_again(network.deviating, network.constants)

"""What two files of one network differ by, as notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polycmp.sentences import counted
from polycmp_locate.network.comparison import NetworkComparison


def network_notes(faults: Sequence[str], notes: Iterable[str]) -> Iterator[str]:
    """Yield notes on what two files differ by.

    Args:
        faults: What no tool makes on purpose, in words.
        notes: Remarks on the whole.
    """
    if faults:
        yield f"another network: {first_difference(faults)}"
    yield from notes


def first_difference(faults: Sequence[str]) -> str:
    """Name the first difference between two files that no tool makes on purpose, and count the others."""
    first, *more = faults
    return f"{first}, and {counted(len(more), 'more difference')}" if more else first


def whole_notes(network: NetworkComparison) -> Iterator[str]:
    """Yield notes on two files as a whole."""
    if network.rescaled:
        yield (
            f"slices of {counted(network.rescaled, 'constant')} are multiplied by factors of their own, as "
            "equalisation and smoothing do; the outputs say whether the operators around undo that"
        )
    elif network.trained_again:
        yield (
            f"{network.deviating} of {network.constants} constants differ: the files hold other weights, as after "
            "training again"
        )

"""What two files hold, told without a run, as evidence on a difference that rounding may explain."""

from __future__ import annotations

from collections.abc import Sequence

from polycmp.builtin.judging.types import types_inside
from polycmp.builtin.judging.verdict import Network
from polycmp.errors import ModelError
from polycmp.graph import ModelGraph
from polycmp.runs import CompareNetworks
from polycmp.sentences import counted
from polycmp.tensors import TensorMetadata


def network_of(
    one: ModelGraph, two: ModelGraph, *, compare: CompareNetworks, is_one_backend: bool
) -> tuple[Network, str]:
    """Return what two files hold, and what is said of it.

    A file of codes is judged by one without, since quantisers change some constants on purpose, and the order of the
    files changes no word. That two files hold the same is no evidence on what two backends make of them.

    Args:
        one: The file to judge.
        two: The file to believe, if both hold codes, or neither does.
        compare: Compares them.
        is_one_backend: Whether one backend runs both, with the same options.
    """
    coded = ["int8" in types_inside(graph, TensorMetadata()) for graph in (one, two)]
    candidate, reference = (two, one) if coded == [False, True] else (one, two)
    try:
        comparison = compare(candidate, reference)
    except ModelError:
        return "", ""
    if comparison is None:
        return "", ""
    if comparison.faults:
        return "other", different_networks(comparison.faults)
    return ("same", same_network(comparison.compared)) if comparison.is_same and is_one_backend else ("", "")


def same_network(compared: int) -> str:
    """Say of two files that rounding alone is left to explain what their outputs differ by."""
    return f"the files hold the same network, {counted(compared, 'constant')} compared up to their grids"


def different_networks(faults: Sequence[str]) -> str:
    """Say by what two files differ that no tool changes on purpose."""
    more = len(faults) - 1
    return f"the files hold different networks: {faults[0]}" + (
        f", and {counted(more, 'more difference')}" if more else ""
    )

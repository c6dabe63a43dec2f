"""The factories of the built-in compare functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.compare.simple import Simple

if TYPE_CHECKING:
    from polycmp import builtin


def make_simple(options: builtin.SimpleOptions, *, detail: bool = False) -> Simple:
    """Return `simple`; with `detail` it also computes what only a report shows."""
    return Simple(options, detail)

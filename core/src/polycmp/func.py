"""Turn functions into loaders: `extend` and `invoke`."""

from __future__ import annotations

from polycmp.builtin.api.func import (
    extend,
    invoke,
)

__all__ = [
    "extend",
    "invoke",
]

"""JSON reports cut to what fits into a conversation: what failed stays, what repeats goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.terminal import shorten

#: Items of a list or a table of outputs, and characters of a text.
ITEMS = 8
CHARACTERS = 600
#: Parts that only drawings and tables need; the verdict and its figures stand beside them.
_LEFT_OUT = frozenset({"error_distribution", "functions", "metrics", "environment", "schema", "looks", "exit_code"})


def short(value: Any) -> Any:
    """Return a report's document without what repeats; of long lists and tables what failed comes first."""
    if isinstance(value, Mapping):
        items = [(key, item) for key, item in value.items() if key not in _LEFT_OUT and item not in (None, [], {}, "")]
        if len(items) <= ITEMS or not all(isinstance(item, Mapping) for _, item in items):
            return {key: short(item) for key, item in items}
        entries = dict(sorted(items, key=lambda pair: _good(pair[1]))[:ITEMS])
        return {**{key: short(item) for key, item in entries.items()}, "left_out": len(items) - len(entries)}
    if isinstance(value, list):
        elements = value if len(value) <= ITEMS else sorted(value, key=_good)[:ITEMS]
        more = [f"{len(value) - len(elements)} more left out"] if len(value) > len(elements) else []
        return [*map(short, elements), *more]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return shorten(value, CHARACTERS) if isinstance(value, str) else value


def _good(item: Any) -> bool:
    """Return whether an entry is one that passed, or says nothing of that."""
    return not isinstance(item, Mapping) or item.get("passed", True) is not False

"""Values of options that are counts."""

from __future__ import annotations

from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads a whole number that must not be smaller than another."""

    def parse(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError(f"it must be {least} or more")
        return value

    return parse

"""The warning before something public is taken away; `docs/stability.md` holds the policy."""

from __future__ import annotations

import warnings

__all__ = ["deprecated"]


def deprecated(name: str, *, since: str, until: str, instead: str, stacklevel: int = 1) -> None:
    """Warn the caller of the caller that what it uses will be removed.

    Call it first thing in a function that is to go, so that the warning points to the line that uses this function.

    Args:
        name: Name of the deprecated thing, as users write it: `polycmp.example.old()`, `--old-option`.
        since: The version that warns first.
        until: The version in which it is gone. `core/tests/test_deprecation.py` fails when that version is reached.
        instead: Replacement, as users write it.
        stacklevel: 1 for the caller of the function that calls this, 2 for one further out.
    """
    text = f"{name} is deprecated since polycmp {since} and will be removed in {until}; use {instead}"
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 2)

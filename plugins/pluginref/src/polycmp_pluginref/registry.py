"""The open registry: which Python function is the reference for which operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Reference = Callable[..., Any]
References = dict[tuple[str, str], Reference]
F = TypeVar("F", bound=Reference)

_registered: References = {}


def register(op: str, domain: str = "") -> Callable[[F], F]:
    """Make a function the reference for an operator; of two for the same operator the later one counts.

    The function gets the node's inputs as positional arguments (None for an optional one left out) and its attributes
    as keyword arguments, and returns one array, or a tuple of them for several outputs. It must not change its inputs.

    Args:
        op: The operator's type, such as `LReLU_TRT`.
        domain: The operator's domain. The default fits in every domain, because exporters disagree on the domain
            of plugin operators; a reference for one domain comes before it.

    Example:
        ::

            import numpy as np
            from polycmp_pluginref import register

            @register("HardSwish_TRT")
            def hard_swish(x, *, alpha=3.0):
                return x * np.clip(x / (2 * alpha) + 0.5, 0, 1).astype(x.dtype)
    """

    def add(function: F) -> F:
        _registered[domain, op] = function
        function.__dict__.setdefault("reference_for", []).append((domain, op))
        return function

    return add


def registered() -> References:
    """Return a copy of what has been registered so far."""
    return dict(_registered)


def find_reference(references: References, op: str, domain: str) -> Reference | None:
    """Return the reference for an operator: one for just this domain, else one for any domain, else None."""
    return references.get((domain, op)) or references.get(("", op))

"""Functions that extend or invoke loaders."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from polycmp.loader import resolve

__all__ = ["extend", "invoke"]


def extend(loader: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn a function into a loader that runs another loader first and then works on what it made.

    The decorated function receives what the loader returns, a tuple as separate arguments, after any arguments that
    only its caller passes. What it returns replaces the loader's result; if it returns None, the loader's result is
    passed on.

    Args:
        loader: The loader to extend, or any callable.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def extended(*args: Any, **kwargs: Any) -> Any:
            made = loader(*args, **kwargs)
            parts = made if isinstance(made, tuple) else (made,)
            result = function(*parts)
            return made if result is None else result

        return extended

    return decorate


def invoke(loader: Any) -> Any:
    """Return what a loader makes; anything that is not callable is returned as it is."""
    return resolve(loader)

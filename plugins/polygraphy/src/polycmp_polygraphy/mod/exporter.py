"""Decorators of exported names under the names of `polygraphy.mod`."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from polycmp.loader import immediate

T = TypeVar("T")


def export(funcify: bool = False, func_name: str | None = None) -> Callable[[T], T]:
    """Return a decorator that puts a name into its module's `__all__`.

    Args:
        funcify: Whether to define, for a loader, the function that makes one and calls it, too.
        func_name: Name of that function; by default the class's in small letters.
    """

    def decorate(named: T) -> T:
        cls: Any = named
        module = sys.modules[cls.__module__]
        names = [cls.__name__]
        if funcify:
            names.append(func_name or re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower())
            setattr(module, names[1], immediate(cls))
        vars(module).setdefault("__all__", []).extend(names)
        return named

    return decorate


def warn_deprecated(
    name: str,
    use_instead: str | None,
    remove_in: str,
    module_name: str | None = None,
    always_show_warning: bool = False,
) -> None:
    """Warn that a name goes away."""
    del module_name, always_show_warning
    instead = f"; use {use_instead} instead" if use_instead else ""
    warnings.warn(f"{name} is deprecated and goes away in {remove_in}{instead}", DeprecationWarning, stacklevel=3)

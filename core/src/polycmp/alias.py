"""Modules that have moved into packages of their own and keep the names by which programs import them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType


def module_of(target: str, name: str) -> ModuleType:
    """Import a module of another package.

    Args:
        target: The module; the first part of its name is that of its package.
        name: The name by which programs ask for it.

    Raises:
        ModuleNotFoundError: The package is not installed; the error says which it is.
    """
    package = target.partition(".")[0]
    try:
        return import_module(target)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        hint = f"{name} is in a package of its own: pip install {package.replace('_', '-')}"
        raise ModuleNotFoundError(hint, name=package) from None


def stand_for(name: str, target: str, submodules: Iterable[str] = ()) -> None:
    """Put another module in the place of the one that is being imported.

    Args:
        name: The full name of the module that is being imported.
        target: The module to put in its place, as for `module_of`.
        submodules: Modules of the target's package that are to be found under the name, too.

    Raises:
        ModuleNotFoundError: The package is not installed; the error says which it is.
    """
    sys.modules[name] = module_of(target, name)
    for each in submodules:
        sys.modules[f"{name}.{each}"] = import_module(f"{target}.{each}")

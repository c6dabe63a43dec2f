"""Modules that have moved into packages of their own and keep the names by which programs import them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module


def stand_for(name: str, target: str, submodules: Iterable[str] = ()) -> None:
    """Put another module in the place of the one that is being imported.

    Type checkers are told by a stub beside the module: the core depends on no other package of ours.

    Args:
        name: The full name of the module that is being imported.
        target: The module to put in its place; the first part of its name is that of its package.
        submodules: Modules of the target's package that are to be found under the name, too.

    Raises:
        ModuleNotFoundError: The package is not installed; the error says which it is.
    """
    package = target.partition(".")[0]
    try:
        sys.modules[name] = import_module(target)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        hint = f"{name} is in a package of its own: pip install {package.replace('_', '-')}"
        raise ModuleNotFoundError(hint, name=package) from None
    for each in submodules:
        sys.modules[f"{name}.{each}"] = import_module(f"{target}.{each}")

"""CPU references in NumPy for TensorRT plugin operators, as a polycmp backend.

The names below are imported when they are first used: this module is loaded with the light module `plugin`, and so by
every `polycmp run --help`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp_pluginref.registry import register
    from polycmp_pluginref.runner import PluginRefRunner

__all__ = ["PluginRefRunner", "register"]
_HOME = {"PluginRefRunner": "runner", "register": "registry"}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

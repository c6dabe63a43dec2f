"""CPU references in NumPy for TensorRT plugin operators, as a polycmp backend.

Importing this package imports nothing heavy: the core does it for every `polycmp run --help`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polycmp_pluginref.registry import register

if TYPE_CHECKING:
    from polycmp_pluginref.runner import PluginRefRunner

__all__ = ["PluginRefRunner", "register"]


def __getattr__(name: str) -> Any:
    if name == "PluginRefRunner":
        from polycmp_pluginref.runner import PluginRefRunner

        return PluginRefRunner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

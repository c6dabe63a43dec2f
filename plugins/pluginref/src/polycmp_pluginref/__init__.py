"""CPU references in NumPy for TensorRT plugin operators, as a polycmp backend.

The names below are imported when they are first used: this module is loaded with the light module `plugin`, and so by
every `polycmp run --help`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_pluginref.registry import register
    from polycmp_pluginref.runner import PluginRefRunner

__all__ = ["PluginRefRunner", "register"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(__name__, {"runner": ["PluginRefRunner"], "registry": ["register"]})

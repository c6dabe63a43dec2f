"""Plugins: find them, check them, keep the broken ones apart, and look up by name what the others contribute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.plugins.discovery import (
    BUILTIN,
    BUILTIN_PLUGINS,
    NAME_PATTERN,
    WORDS,
    Candidate,
    Contributed,
    Contribution,
    PluginRecord,
    discover,
)
from polycmp.plugins.names import FlagOwner, assign_flags, begin_instance, flag_of
from polycmp.plugins.registry import Registry, missing_modules
from polycmp.plugins.validation import validate
from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.plugins.installed import packages_of_modules
    from polycmp.plugins.known import explain_kind, explain_suffix, known_names

__all__ = [
    "BUILTIN",
    "BUILTIN_PLUGINS",
    "NAME_PATTERN",
    "WORDS",
    "Candidate",
    "Contributed",
    "Contribution",
    "FlagOwner",
    "PluginRecord",
    "Registry",
    "assign_flags",
    "begin_instance",
    "discover",
    "explain_kind",
    "explain_suffix",
    "flag_of",
    "known_names",
    "missing_modules",
    "packages_of_modules",
    "validate",
]

if not TYPE_CHECKING:  # few runs need them
    __getattr__, __dir__ = lazy_names(
        __name__,
        {"known": ["explain_kind", "explain_suffix", "known_names"], "installed": ["packages_of_modules"]},
    )

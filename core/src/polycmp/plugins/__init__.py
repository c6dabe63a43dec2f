"""Plugins: find them, check them, keep the broken ones apart, and look up by name what the others contribute."""

from __future__ import annotations

from polycmp.plugins.discovery import (
    BUILTIN,
    NAME_PATTERN,
    WORDS,
    Candidate,
    Contributed,
    Contribution,
    PluginRecord,
    discover,
)
from polycmp.plugins.known import INSTALL_COMMANDS, explain_kind, explain_suffix
from polycmp.plugins.names import FlagOwner, assign_flags, flag_of
from polycmp.plugins.registry import Registry, missing_modules
from polycmp.plugins.validation import validate

__all__ = [
    "BUILTIN",
    "INSTALL_COMMANDS",
    "NAME_PATTERN",
    "WORDS",
    "Candidate",
    "Contributed",
    "Contribution",
    "FlagOwner",
    "PluginRecord",
    "Registry",
    "assign_flags",
    "discover",
    "explain_kind",
    "explain_suffix",
    "flag_of",
    "missing_modules",
    "validate",
]

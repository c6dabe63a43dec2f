"""Plugins: find them, check them, keep the broken ones apart, and look up by name what the others contribute."""

from __future__ import annotations

from polycmp.plugins.aliases import Claim, flag_of, grant_aliases
from polycmp.plugins.factories import missing_modules
from polycmp.plugins.known import explain_kind, explain_suffix
from polycmp.plugins.records import BUILTIN, Contributed, Contribution, PluginRecord
from polycmp.plugins.registry import Registry

__all__ = [
    "BUILTIN",
    "Claim",
    "Contributed",
    "Contribution",
    "PluginRecord",
    "Registry",
    "explain_kind",
    "explain_suffix",
    "flag_of",
    "grant_aliases",
    "missing_modules",
]

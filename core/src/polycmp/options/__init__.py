"""Options: how they are declared, and the way of their values from words and run files to a plan and back.

An options dataclass declares fields with `polycmp.spec.opt`; `OptionField` says what each takes and converts it, and
`OptionValues` holds what was given, whoever gave it. `polycmp.options.values` reads single values as people type them,
`polycmp.options.text` writes values down.
"""

from __future__ import annotations

from polycmp.options.declared import changed_options, find_field, make_options, option_fields
from polycmp.options.field import KINDS, OptionField
from polycmp.options.given import OptionValues
from polycmp.options.table import FlagTable, Key, Target

__all__ = [
    "KINDS",
    "FlagTable",
    "Key",
    "OptionField",
    "OptionValues",
    "Target",
    "changed_options",
    "find_field",
    "make_options",
    "option_fields",
]

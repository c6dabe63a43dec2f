"""Options: how they are declared, and how their values get from words and run files to a plan and back.

An options dataclass declares fields with `polycmp.spec.opt`; `OptionField` says what each takes and converts it, and
`OptionValues` holds the options that were given, from any source. `polycmp.options.values` reads single values as
people type them, `polycmp.options.text` writes values down.
"""

from __future__ import annotations

from polycmp._toml import parse_toml
from polycmp.options.declared import changed_options, fields_of, find_field, make_options, option_fields
from polycmp.options.field import KINDS, OptionField
from polycmp.options.given import OptionValues
from polycmp.options.schema import option_schema
from polycmp.options.table import FlagTable, Key, Target
from polycmp.options.text import read_plain, words_of
from polycmp.options.values import (
    check_at_least_one,
    check_values,
    dimension_text,
    is_empty_value,
    is_flag,
    is_named,
    join_pair,
    names_script,
    parse_above_zero,
    parse_bool,
    parse_confidence,
    parse_count,
    parse_dimensions,
    parse_json,
    parse_named_shapes,
    parse_range,
    parse_real,
    parse_shape,
    parse_shape_sets,
    parse_size,
    parse_tolerance,
    pick,
    quote,
    spell,
    split_list,
    split_name,
    split_pair,
    split_script,
    unique_label,
    unknown_names,
    unquote,
)

__all__ = [
    "KINDS",
    "FlagTable",
    "Key",
    "OptionField",
    "OptionValues",
    "Target",
    "changed_options",
    "check_at_least_one",
    "check_values",
    "dimension_text",
    "fields_of",
    "find_field",
    "is_empty_value",
    "is_flag",
    "is_named",
    "join_pair",
    "make_options",
    "names_script",
    "option_fields",
    "option_schema",
    "parse_above_zero",
    "parse_bool",
    "parse_confidence",
    "parse_count",
    "parse_dimensions",
    "parse_json",
    "parse_named_shapes",
    "parse_range",
    "parse_real",
    "parse_shape",
    "parse_shape_sets",
    "parse_size",
    "parse_tolerance",
    "parse_toml",
    "pick",
    "quote",
    "read_plain",
    "spell",
    "split_list",
    "split_name",
    "split_pair",
    "split_script",
    "unique_label",
    "unknown_names",
    "unquote",
    "words_of",
]

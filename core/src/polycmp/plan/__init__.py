"""Plans: the declarative description of one run, made of option values, and written down as words or plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp.plan.backends import option_texts, options_from_texts, plan_backends, spec_texts
    from polycmp.plan.build import core_values, without_written_files
    from polycmp.plan.defaults import DEFAULT_COMPARE, DEFAULT_DATA_LOADER
    from polycmp.plan.plan import BackendPlan, Choice, ComparePlan, DataPlan, FilesPlan, Plan
    from polycmp.plan.schema import BACKENDS, DIALECT, backend_schema, key_schemas, run_file_schema, table_schema
    from polycmp.plan.sections import DataSection, LogSection
    from polycmp.plan.text import from_values, to_command, to_values, to_words

__all__ = [
    "BACKENDS",
    "DEFAULT_COMPARE",
    "DEFAULT_DATA_LOADER",
    "DIALECT",
    "BackendPlan",
    "Choice",
    "ComparePlan",
    "DataPlan",
    "DataSection",
    "FilesPlan",
    "LogSection",
    "Plan",
    "backend_schema",
    "core_values",
    "from_values",
    "key_schemas",
    "option_texts",
    "options_from_texts",
    "plan_backends",
    "run_file_schema",
    "spec_texts",
    "table_schema",
    "to_command",
    "to_values",
    "to_words",
    "without_written_files",
]

if not TYPE_CHECKING:  # a help text needs the options alone, and makes no plan
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "backends": ("option_texts", "options_from_texts", "plan_backends", "spec_texts"),
            "build": ("core_values", "without_written_files"),
            "defaults": ("DEFAULT_COMPARE", "DEFAULT_DATA_LOADER"),
            "plan": ("BackendPlan", "Choice", "ComparePlan", "DataPlan", "FilesPlan", "Plan"),
            "schema": ("BACKENDS", "DIALECT", "backend_schema", "key_schemas", "run_file_schema", "table_schema"),
            "sections": ("DataSection", "LogSection"),
            "text": ("from_values", "to_command", "to_values", "to_words"),
        },
    )

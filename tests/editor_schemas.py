"""Suite files and run files held against the JSON Schemas that `polycmp suite schema` writes."""

from __future__ import annotations

import datetime
import json
import sys
from functools import lru_cache
from typing import Any

import pytest

from polycmp.plan import run_file_schema
from polycmp.plugins import Registry
from polycmp_suite.suitefile.schema import case_commands, suite_schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@lru_cache
def _checker(registry: Registry, command: str) -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="it comes with check-jsonschema, of the group dev")
    tables = dict(case_commands(registry))
    schema = run_file_schema(tables[command], registry) if command else suite_schema(registry)
    schema = json.loads(json.dumps(schema, allow_nan=False))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())


def wrong_in(content: Any, registry: Registry, command: str = "") -> list[str]:
    """Return what the schema has against a suite file, or against a run file of a command; text is TOML."""
    values = tomllib.loads(content) if isinstance(content, str) else content
    return [f"{error.json_path}: {error.message}" for error in _checker(registry, command).iter_errors(_plain(values))]


def _plain(value: Any) -> Any:
    """Return TOML's values as editors hand them to a schema: dates are texts."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.time)) else value

"""JSON Schema of suite files, for editors: made of the suite's own keys and the options of the installed plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand
from polycmp.errors import PolycmpError
from polycmp.plan import BACKENDS, DIALECT, backend_schema, key_schemas, table_schema
from polycmp_suite.suitefile.keys import FORBIDDEN, SUITE_KEYS, SYNONYMS

if TYPE_CHECKING:
    from polycmp.options import FlagTable
    from polycmp.plugins import Registry

_NAMES: Mapping[str, Any] = {"name": {"type": "string", "pattern": r"\S", "description": "Name of the suite."}}


def suite_schema(registry: Registry) -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of suite files for the installed plugins."""
    tables = dict(case_commands(registry))
    keys = _all_keys(tables)
    case = {"$ref": "#/definitions/case"}
    return {
        "$schema": DIALECT,
        "title": "Suite file of polycmp",
        "type": "object",
        "required": ["case"],
        "properties": {
            **_NAMES,
            "defaults": {**case, "description": "Keys for all cases."},
            "case": {"type": "array", "minItems": 1, "items": case, "description": "A command over models."},
        },
        "additionalProperties": False,
        "definitions": {
            "case": {**table_schema(keys, "#/definitions/case"), "allOf": [*_rules(tables, keys)]},
            "backend": backend_schema(registry),
        },
    }


def case_commands(registry: Registry) -> Iterable[tuple[str, FlagTable]]:
    """Yield the commands that a case may have, with their options."""
    for name, item in registry.commands.items():
        try:
            command = registry.load(item, item.spec.target)
        except PolycmpError:  # what it needs is not installed
            continue
        if isinstance(command, BackendCommand) and any(param.name == "backend" for param in command.params):
            yield name, command.table_of(registry)


def _all_keys(tables: Mapping[str, FlagTable]) -> dict[str, Any]:
    """Return every key of a case; the suite's keys take precedence over options of the same name."""
    options: dict[str, Any] = {}
    for table in tables.values():
        for name, schema in key_schemas(table).items():
            if name not in FORBIDDEN and options.setdefault(name, schema) != schema:
                options[name] = _either(options[name], schema)
    suite_keys = {name: {**key.schema, "description": key.help} for name, key in SUITE_KEYS.items()}
    suite_keys["command"] = {**suite_keys["command"], "enum": sorted(tables), "default": SUITE_KEYS["command"].default}
    keys = {"backend": BACKENDS, **options, **suite_keys}
    return {**keys, **{other: keys[name] for other, name in SYNONYMS.items() if "_" not in other}}


def _either(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    described = {key: one[key] for key in ("description", "x-taplo") if key in one}
    return {"anyOf": [one, other], **described}


def _rules(tables: Mapping[str, FlagTable], keys: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Yield for each command the keys that a case with it must not have."""
    shared = {*SUITE_KEYS, *SYNONYMS, "backend"}
    for name, table in tables.items():
        accepted = {*shared, *key_schemas(table)}
        others = sorted({*keys} - accepted)
        spelled = [text for key in others for text in dict.fromkeys([key, key.replace("-", "_")])]
        if spelled:
            yield {
                "if": {"required": ["command"], "properties": {"command": {"const": name}}},
                "then": {"properties": {text: _refused(f"no option of {name}") for text in spelled}},
            }


def _refused(why: str) -> dict[str, Any]:
    """Return a schema that nothing fits; its description is the reason that validators show."""
    return {"not": {"description": why}}

"""JSON Schema of run files, for editors: made of the options that the installed plugins declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polycmp.options import FlagTable, option_fields, option_schema
from polycmp.options.text import CONFIG
from polycmp.plan.backends import VERSION
from polycmp.plugins.validation import RESERVED_KEYS

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: The dialect that editors of TOML files read.
DIALECT = "http://json-schema.org/draft-07/schema#"
_BACKEND = {"$ref": "#/definitions/backend"}
#: What a key with backends may hold, in a document that has the definition `backend`.
BACKENDS: Mapping[str, Any] = {
    "description": "The backends; the last is the reference.",
    "anyOf": [_BACKEND, {"type": "array", "items": _BACKEND}],
}
_HELP = {
    "backend": "Name of the backend.",
    "name": "Label in reports.",
    "model": "Another model for this backend.",
    "python": "Another interpreter, whose environment this backend runs in.",
    "ssh": "Another machine that this backend runs on, as ssh takes it: USER@HOST.",
    VERSION: "Release of the backend's runtime, in an environment that is made for it.",
}


def run_file_schema(table: FlagTable, registry: Registry) -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of the run files of a command.

    Args:
        table: The command's options.
        registry: The plugins.
    """
    keys = {"model": {"type": "string", "description": "The model."}, "backend": BACKENDS, **key_schemas(table)}
    definitions = {"definitions": {"backend": backend_schema(registry)}}
    return {"$schema": DIALECT, "title": "Run file of polycmp", **table_schema(keys, "#"), **definitions}


def key_schemas(table: FlagTable) -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of each key that a run file of a command may have beside `model` and `backend`."""
    schemas = {}
    for flag, target in table.by_flag.items():
        if flag.startswith("--") and target.key != CONFIG:
            schema = option_schema(target.field)
            shown = flag == target.flags[0] and not target.field.hidden
            schemas[flag.removeprefix("--")] = schema if shown else _unlisted(schema)
    return schemas


def table_schema(keys: Mapping[str, Mapping[str, Any]], place: str) -> dict[str, Any]:
    """Return the JSON Schema of a table with these keys, with hyphens or underscores, and no others.

    Args:
        keys: The JSON Schema of each.
        place: Place of the table's schema in the document, as a reference has it: `#/definitions/case`.
    """
    # Editors offer `properties`, and take what fits `patternProperties` where somebody has typed it.
    listed = {name: schema for name, schema in keys.items() if not schema.get("x-taplo", {}).get("hidden")}
    patterns: dict[str, Mapping[str, Any]] = {
        f"^{name.replace('-', '_')}$": {"$ref": f"{place}/properties/{name}"} for name in listed if "-" in name
    }
    patterns |= {f"^{name.replace('-', '[-_]')}$": schema for name, schema in keys.items() if name not in listed}
    return {
        "type": "object",
        "properties": listed,
        **({"patternProperties": patterns} if patterns else {}),
        "additionalProperties": False,
    }


def backend_schema(registry: Registry) -> dict[str, Any]:
    """Return the JSON Schema of a backend: a text as after `-b`, or a table whose options are those of the backend."""
    names = sorted(registry.runners)
    return {"anyOf": [{"enum": names}, {"type": "string", "minLength": 1}, _instance(names, registry)]}


def _instance(names: Iterable[str], registry: Registry) -> dict[str, Any]:
    texts = {key: {"type": "string", "description": _HELP[key]} for key in ("backend", *RESERVED_KEYS, VERSION)}
    tables = {
        "options": {"type": "object", "description": "Options of the backend."},
        "texts": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    rules = []
    for name in names:
        fields = option_fields(registry.runners[name].spec.options)
        keys = {spelled: option_schema(field) for field in fields for spelled in _spelled(field.name, field.aliases)}
        options = {"type": "object", "properties": keys, "additionalProperties": False}
        rules.append(
            {
                # Another environment may know other options.
                "if": {"required": ["backend"], "properties": {"backend": {"const": name}, "python": False}},
                "then": {"properties": {"options": options}},
            }
        )
    return {
        "type": "object",
        "required": ["backend"],
        "properties": {**texts, **tables},
        "additionalProperties": False,
        **({"allOf": rules} if rules else {}),
    }


def _spelled(name: str, aliases: Iterable[str]) -> Iterable[str]:
    every = [name, *(alias.lstrip("-") for alias in aliases)]
    return dict.fromkeys(text for item in every for text in (item.replace("-", "_"), item.replace("_", "-")))


def _unlisted(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "x-taplo": {"hidden": True}}

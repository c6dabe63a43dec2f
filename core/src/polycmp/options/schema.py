"""JSON Schema of an option: of the plain values that `OptionField.from_plain` takes, for editors of TOML files."""

from __future__ import annotations

from typing import Any

from polycmp.errors import PluginError
from polycmp.options.field import OptionField

#: Texts of values, beside the values themselves.
_TEXTS = {
    bool: r"^\s*(true|false|yes|no|on|off|1|0|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\s*$",
    int: r"^\s*[-+]?[0-9][0-9_]*\s*$",
    float: r"^\s*[-+]?([0-9._]+([eE][-+]?[0-9]+)?|inf|infinity|nan)\s*$",
}
_TYPES = {bool: "boolean", int: "integer", float: "number"}


def option_schema(field: OptionField) -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of what a run file or a suite file may give an option.

    It accepts all that the reader accepts. What a `parse` function of the option makes of a text is not in it.
    """
    schema = _of_kind(field, _one(field))
    if field.help:
        schema["description"] = field.help
    default = _default(field)
    if default not in (None, "", [], {}):
        schema["default"] = default
    return schema


def _of_kind(field: OptionField, one: dict[str, Any]) -> dict[str, Any]:
    if not field.several:
        return one
    several = {"type": "array", "items": one}
    named: dict[str, Any] = {"type": "object", "additionalProperties": {"anyOf": [one, several]}}
    forms = [one, several, named]
    if field.kind == "groups":
        forms.append({"type": "array", "items": several})
    if field.bare and field.kind != "mapping":
        forms.append({"type": "boolean"})
    if field.kind == "mapping":  # texts with names: `y:1e-3`
        text = {"type": "string"}
        forms += [text, {"type": "array", "items": text}]
    return {"anyOf": forms}


def _one(field: OptionField) -> dict[str, Any]:
    if field.parse is not None:
        return {"type": ["string", "number", "boolean", "array"]}
    if field.choices is not None:
        return {"enum": list(dict.fromkeys([*field.choices, *map(str, field.choices)]))}
    if field.item in _TYPES:
        return {"anyOf": [{"type": _TYPES[field.item]}, {"type": "string", "pattern": _TEXTS[field.item]}]}
    return {"type": ["string", "number", "boolean"]}


def _default(field: OptionField) -> Any:
    try:
        return None if field.default is None else field.plain(field.default)
    except PluginError:  # no plain value means it
        return None

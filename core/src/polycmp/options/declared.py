"""Options dataclasses: their fields, and instances of them."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from polycmp.errors import PluginError, UsageError
from polycmp.options.field import OptionField


def is_frozen_dataclass(cls: object) -> bool:
    """Return whether a class is a dataclass whose instances refuse assignments, by a `__setattr__` of its own."""
    return isinstance(cls, type) and dataclasses.is_dataclass(cls) and cls.__setattr__ is not object.__setattr__


def option_fields(options: type | None) -> tuple[OptionField, ...]:
    """Return the fields of an options dataclass.

    Raises:
        PluginError: The class is no frozen dataclass, or a field's annotation is none that `opt()` allows.
    """
    return () if options is None else _fields(options)


@lru_cache(maxsize=256)
def _fields(options: Any) -> tuple[OptionField, ...]:
    if not is_frozen_dataclass(options):
        raise PluginError(f"{options!r} is not a frozen dataclass", hint="@dataclass(frozen=True)")
    try:
        hints = typing.get_type_hints(options)
    except Exception as error:  # whatever a plugin writes there
        raise PluginError(f"the annotations of {options!r} cannot be resolved", why=str(error)) from error
    return tuple(_field(field, hints[field.name]) for field in dataclasses.fields(options))


def _field(field: dataclasses.Field[Any], annotation: Any) -> OptionField:
    kind, item, accumulates = _classify(annotation)
    default = field.default
    if default is dataclasses.MISSING:
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else None
    meta = field.metadata
    return OptionField(
        name=field.name,
        kind=kind,
        item=item,
        default=default,
        help=meta.get("help", ""),
        choices=meta.get("choices"),
        aliases=meta.get("alias", ()),
        metavar=meta.get("metavar") or _metavar(kind, item, meta.get("choices")),
        parse=meta.get("parse"),
        format=meta.get("format"),
        bare=meta.get("bare"),
        hidden=meta.get("hidden", False),
        writes=meta.get("writes", False),
        resumes=meta.get("resumes", ""),
        executes=meta.get("executes", False) or (meta.get("metavar") or "").startswith(("FILE.py", "FILE.so")),
        installs=meta.get("installs", False),
        accumulates=accumulates,
    )


def _metavar(kind: str, item: type, choices: Iterable[Any] | None) -> str:
    if kind == "flag":
        return ""
    one = "|".join(map(str, choices)) if choices else {int: "N", float: "X", bool: "BOOL"}.get(item, "TEXT")
    return f"[NAME:]{one}" if kind == "mapping" else one


def _classify(annotation: Any) -> tuple[str, type, bool]:
    annotation = _without_none(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is bool:
        return "flag", bool, False
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        inner = _without_none(args[0])
        if typing.get_origin(inner) is tuple:
            return "groups", _scalar(typing.get_args(inner)[0]), False
        return "list", _scalar(inner), False
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(args) == 2:
        inner = _without_none(args[1])
        if typing.get_origin(inner) is tuple and typing.get_args(inner)[-1] is Ellipsis:
            return "mapping", _scalar(typing.get_args(inner)[0]), True
        return "mapping", _scalar(inner), False
    return "value", _scalar(annotation), False


def _without_none(annotation: Any) -> Any:
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        rest = [item for item in typing.get_args(annotation) if item is not type(None)]
        return rest[0] if len(rest) == 1 else str
    return annotation


def _scalar(annotation: Any) -> type:
    if isinstance(annotation, type) and annotation in {bool, int, float, str}:
        return annotation
    return str  # anything else is made from text by the field's own `parse`


def find_field(options: type | None, key: str) -> OptionField | None:
    """Return the field that a key names: its name with hyphens or underscores, or one of its aliases."""
    wanted = key.strip().replace("-", "_").lower()
    for field in option_fields(options):
        names = {field.name, *(alias.lstrip("-").replace("-", "_") for alias in field.aliases)}
        if wanted in names:
            return field
    return None


def make_options(options: type | None, values: Mapping[str, Any], owner: str) -> Any:
    """Return an instance of an options dataclass, or None if there is no such class.

    Args:
        options: The dataclass.
        values: Values by field name; the rest keep their defaults.
        owner: Name of the plugin or section that the options are for, for the error.

    Raises:
        UsageError: The dataclass refuses the values.
    """
    if options is None:
        return None
    try:
        return options(**values)
    except UsageError as error:
        raise UsageError(error.what, whose=error.whose or owner, why=error.why, hint=error.hint) from error
    except (ValueError, TypeError) as error:
        raise UsageError("these options are invalid", whose=owner, why=str(error), hint="polycmp run --help") from error


def fields_of(instance: Any) -> tuple[OptionField, ...]:
    """Return the fields of an options instance; none for None, which stands for no options."""
    return () if instance is None else option_fields(type(instance))


def changed_options(instance: Any) -> dict[str, Any]:
    """Return the fields of an options instance whose values differ from the defaults."""
    return {
        field.name: getattr(instance, field.name)
        for field in fields_of(instance)
        if getattr(instance, field.name) != field.default
    }

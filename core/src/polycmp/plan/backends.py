"""Backend instances: `NAME[:KEY=VALUE[,KEY=VALUE]...]` to plans and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError, did_you_mean, hide_passwords
from polycmp.options import OptionField, changed_options, fields_of, find_field, make_options, option_fields
from polycmp.options.values import is_empty_value, spell, split_list, unique_label, unquote
from polycmp.plan.plan import BackendPlan
from polycmp.plugins.validation import RESERVED_KEYS

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: A key that chooses an environment by what it has, unless the backend has an option of that name.
VERSION = "version"


@dataclass
class Instance:
    """One instance as asked for.

    Attributes:
        owner: The text or table that the instance comes from, for errors.
        backend: The backend's name.
        values: The keys and the text of their values.
        plain: Options as JSON and TOML hold them.
        label: Label in reports, before it is made unique.
        model: Model file of this instance; empty means the plan's.
        python: The interpreter of its environment; empty means this one.
        version: The release of its runtime; empty means the one that is installed.
    """

    owner: str
    backend: str
    values: dict[str, str] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    model: str = ""
    python: str = ""
    version: str = ""


def parse_instance(text: str) -> Instance:
    """Take an instance apart; a key alone means true.

    Raises:
        UsageError: The text is empty, or a key is given twice.
    """
    backend, _, rest = text.partition(":")
    instance = Instance(f"-b {text}", backend.strip())
    if not instance.backend:
        raise UsageError(f"{text!r} does not name a backend", hint="-b NAME or -b NAME:KEY=VALUE,KEY=VALUE")
    for part in split_list(rest) if rest.strip() else []:
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not key:
            raise UsageError(f"an option without a name in {text!r}", hint="-b NAME:KEY=VALUE,KEY=VALUE")
        if key in instance.values:
            raise UsageError(f"{key!r} is given twice in {text!r}")
        instance.values[key] = value.strip() if equals else "true"
    _require_values(instance.owner, {key: instance.values[key] for key in RESERVED_KEYS if key in instance.values})
    instance.label = unquote(instance.values.pop("name", hide_passwords(text)))
    instance.model = unquote(instance.values.pop("model", ""))
    host, python = (unquote(instance.values.pop(key, "")) for key in ("ssh", "python"))
    instance.python = _place(host, python, instance.owner)
    return instance


def _place(host: str, python: str, owner: str) -> str:
    """Return the interpreter of an instance, on another machine as a URL whose path it is.

    Raises:
        UsageError: A password is in it, which plans, commands and reports would repeat.
    """
    place = f"ssh://{host}{'/' * bool(python)}{python}" if host else python
    if hide_passwords(place) != place:
        raise UsageError(
            "a password is in the name of a machine", whose=owner, why="ssh takes keys", hint="ssh-copy-id USER@HOST"
        )
    return place


def plan_backends(
    asked: Iterable[str | Mapping[str, Any]],
    defaults: Mapping[str, Mapping[str, Any]],
    registry: Registry,
    wins: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    whose: str = "",
) -> tuple[BackendPlan, ...]:
    """Return one plan per instance.

    Args:
        asked: The instances as typed, or as `plain_backends` writes them.
        defaults: Per backend, the values that `--NAME-FIELD` gives to all its instances.
        registry: The plugins.
        wins: Per backend, values that override those of an instance.
        whose: Origin of instances that are no texts, for errors.

    Raises:
        PluginError: A backend is unknown or broken.
        UsageError: A key is unknown, or a value cannot be right.
    """
    labels: list[str] = []
    plans = []
    for item in asked:
        instance = parse_instance(item) if isinstance(item, str) else _from_plain(item, whose)
        label = unique_label(instance.label, labels)
        labels.append(label)
        name = instance.backend
        plans.append(_plan(instance, label, defaults.get(name, {}), wins.get(name, {}), registry))
    return tuple(plans)


def _from_plain(plain: Mapping[str, Any], whose: str) -> Instance:
    """Return the instance that one of `plain_backends` describes."""
    wrong = [key for key in plain if key not in {"backend", "options", "texts", *RESERVED_KEYS, VERSION}]
    tables = [plain.get(key, {}) for key in ("options", "texts")]
    names = [plain.get(key, "") for key in ("backend", *RESERVED_KEYS, VERSION)]
    if wrong or not plain.get("backend") or not all(isinstance(item, Mapping) for item in tables):
        raise UsageError(
            f"{dict(plain)!r} is not a backend",
            whose=whose,
            why=did_you_mean(wrong[0], ["backend", "options", *RESERVED_KEYS, VERSION]) if wrong else "",
            hint='backend = [{backend = "onnxrt", name = "fast", options = {KEY = "VALUE"}}]',
        )
    if not all(isinstance(item, str) for item in [*names, *tables[1].values()]):
        raise UsageError(
            f"{dict(plain)!r} is not a backend",
            whose=whose,
            why="backend, name, model, python, ssh and version are texts",
        )
    backend, label, model, python, host, version = names
    owner = f"{whose}: {backend}" if whose else f"-b {backend}"
    python = _place(host, python, owner)
    return Instance(owner, backend, dict(tables[1]), dict(tables[0]), label or backend, model, python, version)


def _plan(
    instance: Instance, label: str, defaults: Mapping[str, Any], wins: Mapping[str, Any], registry: Registry
) -> BackendPlan:
    name, owner = instance.backend, instance.owner
    if instance.python and name not in registry.runners and not instance.plain:
        # The other environment knows the options, but what is wrong in every environment is refused here.
        _require_values(owner, instance.values)
        return BackendPlan(label, name, None, instance.model, instance.python, texts=instance.values)
    options = registry.find_runner(name).spec.options
    if VERSION in instance.values and find_field(options, VERSION) is None:
        _require_values(owner, {VERSION: instance.values[VERSION]})
        instance.version = unquote(instance.values.pop(VERSION))
    if instance.python and instance.version:
        raise UsageError(
            "python= names an environment, version= asks for one that is made", whose=owner, hint="leave one out"
        )
    values = {
        **defaults,
        **options_from_texts(options, instance.values, name, owner),
        **options_from_plain(options, instance.plain, name, owner),
        **wins,
    }
    return BackendPlan(
        label, name, make_options(options, values, owner), instance.model, instance.python, instance.version
    )


def _require_values(owner: str, texts: Mapping[str, str]) -> None:
    """Refuse a key with an empty value."""
    for key, text in texts.items():
        if is_empty_value([[unquote(item) for item in group] for group in instance_texts(text)]):
            raise UsageError(f"{key!r} needs a value", whose=owner, hint=f"{key}=VALUE, or leave it out")


def options_from_texts(options: type | None, texts: Mapping[str, str], name: str, owner: str = "") -> dict[str, Any]:
    """Return option values from the texts of an instance.

    Args:
        options: The options dataclass of the backend.
        texts: Text by key.
        name: The backend.
        owner: The instance that the texts belong to, for errors.

    Raises:
        UsageError: There is no such option, or a text cannot be its value.
    """
    return _converted(options, texts, name, owner, lambda field, text: field.convert(instance_texts(text)))


def options_from_plain(options: type | None, plain: Mapping[str, Any], name: str, owner: str = "") -> dict[str, Any]:
    """Return option values from what JSON or TOML held; arguments and errors as in `options_from_texts`."""
    return _converted(options, plain, name, owner, OptionField.from_plain)


def _converted(
    options: type | None,
    raw_values: Mapping[str, Any],
    name: str,
    owner: str,
    convert: Callable[[OptionField, Any], Any],
) -> dict[str, Any]:
    values = {}
    for key, value in raw_values.items():
        field = find_field(options, key)
        if field is None:
            raise UsageError(
                f"the backend {name!r} has no option {key!r}",
                whose=owner,
                why=did_you_mean(key, [item.name for item in option_fields(options)] + [*RESERVED_KEYS, VERSION]),
                hint="polycmp run --help",
            )
        if field.kind == "flag" and isinstance(value, str):
            _require_values(owner, {key: value})
        try:
            values[field.name] = convert(field, value)
        except UsageError as error:
            raise UsageError(error.what, whose=owner, why=error.why, hint=error.hint) from None
    return values


def option_texts(options: Any) -> dict[str, str]:
    """Return the changed options of a backend as the texts of an instance.

    Raises:
        PluginError: An option has a value that no text means.
    """
    return {field.name: field.inline(value) for field, value in _changed(options)}


def _changed(options: Any) -> list[tuple[OptionField, Any]]:
    """Return the fields whose values differ from the defaults, with these values."""
    values = changed_options(options)
    return [(field, values[field.name]) for field in fields_of(options) if field.name in values]


def spec_texts(backends: Iterable[BackendPlan]) -> list[str]:
    """Return the `-b` value of each of a plan's backends.

    Raises:
        PluginError: An option has a value that no text means.
    """
    labels: list[str] = []
    specs = []
    for item in backends:
        key_texts = {**option_texts(item.options), **item.texts}
        paths = {"model": item.model, "python": item.python, VERSION: item.version}
        key_texts.update({key: _spelled(key, text) for key, text in paths.items() if text})
        plain = _spec(item.backend, key_texts)
        labelled = _spec(item.backend, {**key_texts, "name": spell(item.label, inline=True)})
        specs.append(plain if unique_label(plain, labels) == item.label else labelled)
        labels.append(item.label)
    return specs


def _spec(name: str, key_texts: Mapping[str, str]) -> str:
    parts = (key if text == "true" else f"{key}={text}" for key, text in key_texts.items())
    return f"{name}:{','.join(parts)}" if key_texts else name


def plain_backends(backends: Iterable[BackendPlan]) -> list[str | dict[str, Any]]:
    """Return a plan's backends as JSON and TOML can hold them: names, and tables for those with options.

    Raises:
        PluginError: An option has a value that they cannot hold.
    """
    labels: list[str] = []
    plain: list[str | dict[str, Any]] = []
    for item in backends:
        options = {field.name: field.plain(value) for field, value in _changed(item.options)}
        more = {
            "model": item.model,
            "python": item.python,
            VERSION: item.version,
            "options": options,
            "texts": dict(item.texts),
        }
        table = {"backend": item.backend, "name": item.label, **{key: value for key, value in more.items() if value}}
        bare = len(table) == 2 and unique_label(item.backend, labels) == item.label
        plain.append(item.backend if bare else table)
        labels.append(item.label)
    return plain


def instance_texts(text: str) -> list[list[str]]:
    """Return the occurrences meant by one value of an instance: `[a,b]` is a list, `[[a],[b]]` groups, else one."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        return [[body]]
    items = [item.strip() for item in split_list(body[1:-1])]
    items = [] if items == [""] else items
    if items and all(item.startswith("[") and item.endswith("]") for item in items):
        return [[part.strip() for part in split_list(item[1:-1])] for item in items]
    return [items]


def _spelled(key: str, text: str) -> str:
    """Return the text of a path or version; several releases in brackets need no quotes inside those of the shell."""
    is_list = key == VERSION and re.fullmatch(r"\[[\w.+!=,-]+\]", text) is not None
    return text if is_list else spell(text, inline=True)

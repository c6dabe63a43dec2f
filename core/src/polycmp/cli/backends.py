"""Backend instances: `NAME[:KEY=VALUE[,KEY=VALUE]...]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.options import find_field, instance_texts, make_options, option_fields
from polycmp.plan import BackendPlan
from polycmp.values import split_list, unique_label, unquote

if TYPE_CHECKING:
    from polycmp.plugins import Registry

RESERVED = ("name", "model", "python")


@dataclass
class Instance:
    """One instance as typed.

    Attributes:
        text: The whole text.
        backend: The backend's name.
        values: The keys and the text of their values.
    """

    text: str
    backend: str
    values: dict[str, str] = field(default_factory=dict)


def parse_instance(text: str) -> Instance:
    """Take an instance apart; a key alone means true.

    Raises:
        UsageError: The text is empty, or a key is given twice.
    """
    backend, _, rest = text.partition(":")
    instance = Instance(text, backend.strip())
    if not instance.backend:
        raise UsageError(f"{text!r} names no backend", hint="-b NAME or -b NAME:KEY=VALUE,KEY=VALUE")
    for part in split_list(rest) if rest.strip() else []:
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not key:
            raise UsageError(f"an option without a name in {text!r}", hint="-b NAME:KEY=VALUE,KEY=VALUE")
        if key in instance.values:
            raise UsageError(f"{key!r} is given twice in {text!r}")
        instance.values[key] = value.strip() if equals else "true"
    return instance


def plan_backends(
    texts: Iterable[str], defaults: Mapping[str, Mapping[str, Any]], registry: Registry
) -> tuple[BackendPlan, ...]:
    """Return one plan per instance.

    Args:
        texts: The instances as typed.
        defaults: Per backend, the values that `--NAME-FIELD` gives to all its instances.
        registry: The plugins.

    Raises:
        PluginError: A backend is unknown or broken.
        UsageError: A key is unknown, or a value cannot be right.
    """
    labels: list[str] = []
    plans = []
    for instance in [parse_instance(text) for text in texts]:
        label = unique_label(unquote(instance.values.get("name", instance.text)), labels)
        labels.append(label)
        plans.append(_plan(instance, label, defaults.get(instance.backend, {}), registry))
    return tuple(plans)


def _plan(instance: Instance, label: str, defaults: Mapping[str, Any], registry: Registry) -> BackendPlan:
    _require_values(instance, {key: text for key, text in instance.values.items() if key in RESERVED})
    given = {key: text for key, text in instance.values.items() if key not in RESERVED}
    model, python = (unquote(instance.values.get(key, "")) for key in ("model", "python"))
    if python and instance.backend not in registry.runners:
        _require_values(instance, given)
        return BackendPlan(label, instance.backend, None, model, python, given)  # the other environment knows it
    options = registry.find_runner(instance.backend).spec.options
    values = {**defaults, **dict(_option(instance, options, key, text) for key, text in given.items())}
    return BackendPlan(label, instance.backend, make_options(options, values, f"-b {instance.text}"), model, python)


def _require_values(instance: Instance, given: Mapping[str, str]) -> None:
    """Refuse what is wrong in every environment: a key with an empty value."""
    for key, text in given.items():
        groups = instance_texts(text)
        if not all(groups) or not all(unquote(item).strip() for group in groups for item in group):
            raise UsageError(
                f"{key!r} needs a value", whose=f"-b {instance.text}", hint=f"{key}=VALUE, or leave it out"
            )


def _option(instance: Instance, options: type | None, key: str, text: str) -> tuple[str, Any]:
    option = find_field(options, key)
    if option is None:
        known = [item.name for item in option_fields(options)] + list(RESERVED)
        raise UsageError(
            f"the backend {instance.backend!r} has no option {key!r}",
            whose=f"-b {instance.text}",
            why=did_you_mean(key, known),
            hint="polycmp run --help",
        )
    if option.kind == "flag":
        _require_values(instance, {key: text})
    try:
        return option.name, option.convert(instance_texts(text))
    except UsageError as error:
        raise UsageError(error.what, whose=f"-b {instance.text}", why=error.why, hint=error.hint) from None

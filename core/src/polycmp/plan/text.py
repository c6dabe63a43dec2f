"""A plan written down: as plain values for other processes and run files, and as the words of a command line.

Both name an option as its flag does. Either way back gives an equal plan.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from polycmp.errors import UsageError, did_you_mean
from polycmp.plan import Plan
from polycmp.plan.backends import plain_backends, plan_backends, spec_texts
from polycmp.plan.build import SHAPES, make_plan, plan_values, settings_of
from polycmp.plan.flags import FlagTable, Key, Target, build_table
from polycmp.records import dataclass
from polycmp.values import is_flag, split_name

if TYPE_CHECKING:
    from polycmp.plugins import Registry

#: The option that names a run file.
CONFIG = Key("core", "result", "config")


@dataclass(frozen=True)
class Asked:
    """What plain values ask for.

    Attributes:
        model: The model file.
        backends: The instances: texts, or tables.
        values: Values of options.
        whose: Where they come from, for errors.
    """

    model: str = ""
    backends: tuple[str | Mapping[str, Any], ...] = ()
    values: Mapping[Key, Any] = field(default_factory=dict)
    whose: str = ""


def to_values(plan: Plan, registry: Registry) -> dict[str, Any]:
    """Return a plan as values that JSON and TOML can hold: what differs from the defaults, by flag without its dashes.

    Raises:
        PluginError: An option has a value that they cannot hold.
        UsageError: An option has no flag of its own.
    """
    head: dict[str, Any] = {"model": plan.model} if plan.model else {}
    return {
        **head,
        "backend": plain_backends(plan.backends),
        **plain_values(plan_values(plan, registry), build_table(registry)),
    }


def plain_values(values: Mapping[Key, Any], table: FlagTable) -> dict[str, Any]:
    """Return values of options as JSON and TOML can hold them; errors as in `to_values`."""
    targets = {key: _target(table, key) for key in values}
    return {target.flags[0].removeprefix("--"): target.field.plain(values[key]) for key, target in targets.items()}


def from_values(values: Mapping[str, Any], registry: Registry) -> Plan:
    """Return the plan that `to_values` wrote down, or one that a user wrote.

    Raises:
        UsageError: There is no such option, or a value cannot be right.
        PluginError: Something asked for by name is not there.
    """
    asked = read_values(values, build_table(registry))
    settings = settings_of(asked.values)
    backends = plan_backends(asked.backends, settings.of_kind("runner"), registry)
    return make_plan(asked.model, backends, settings, registry)


def read_values(content: Mapping[str, Any], table: FlagTable, whose: str = "") -> Asked:
    """Return what plain values ask for.

    `model` and `backend` stand for the arguments; every other key is a flag without its dashes. Several values are a
    list, values by tensor name may be a table, several groups are a list of lists.

    Args:
        content: The plain values.
        table: The options there are.
        whose: Where they come from, for errors.

    Raises:
        UsageError: A key is no option, or a value cannot be one.
    """
    content = dict(content)
    model, backends = content.pop("model", ""), content.pop("backend", [])
    backends = backends if isinstance(backends, list) else [backends]
    if not isinstance(model, str) or not all(isinstance(item, (str, Mapping)) for item in backends):
        raise UsageError(
            "`model` is a text and `backend` a list of texts or tables",
            whose=whose,
            hint='backend = ["onnxrt", "onnx"]',
        )
    return Asked(model, tuple(backends), dict(_read(content, table, whose)), whose)


def _read(content: Mapping[str, Any], table: FlagTable, whose: str) -> Iterator[tuple[Key, Any]]:
    seen: set[Key] = set()
    for key, value in content.items():
        target = _find(key, table, whose)
        if target.key in seen:
            raise UsageError(f"{key!r} says again what another key says", whose=whose)
        seen.add(target.key)
        try:
            yield target.key, target.field.from_plain(value)
        except UsageError as error:
            raise UsageError(
                error.what, whose=f"{whose}: {key}" if whose else key, why=error.why, hint=error.hint
            ) from None


def _find(key: str, table: FlagTable, whose: str) -> Target:
    target = table.by_flag.get("--" + key.replace("_", "-"))
    if target is None:
        known = [flag.removeprefix("--") for flag in table.by_flag]
        raise UsageError(
            f"there is no option {key!r}", whose=whose, why=did_you_mean(key, [*known, "backend", "model"])
        )
    if target.key == CONFIG:
        raise UsageError(
            f"{key!r} has no place in a run file", whose=whose, why="one run file does not read another", hint="copy it"
        )
    return target


def to_words(
    plan: Plan,
    registry: Registry,
    instead: Mapping[str, Any] | Sequence[str] = (),
    *,
    command: Sequence[str] = ("run",),
    table: FlagTable | None = None,
) -> list[str]:
    """Return the words of the command line that makes a plan, without the program's name.

    Args:
        plan: The plan.
        registry: The plugins.
        instead: Options to give whatever the plan says, as in a run file or as words; shapes of other inputs stay.
        command: The words of the command.
        table: Its options, where it has not all of those of `run`; what it lacks is left out.

    Raises:
        PluginError: An option has a value that no text means.
        UsageError: An option has no flag of its own.
    """
    every = build_table(registry)
    values, changes = plan_values(plan, registry), dict(read_values(_from_words(instead), every).values)
    if SHAPES in changes:
        changes[SHAPES] = _other_shapes(values.get(SHAPES, ()), changes[SHAPES]) + changes[SHAPES]
    given = {**{key: value for key, value in values.items() if key not in changes}, **changes}
    if table is not None:
        given = {key: value for key, value in given.items() if key in table.targets}
    specs = [word for spec in spec_texts(plan.backends) for word in ("-b", spec)]
    options = [word for key, value in given.items() for word in _words(_target(every, key), value)]
    if plan.model.startswith("-"):
        return [*command, *specs, *options, "--", plan.model]
    return [*command, *([plan.model] if plan.model else []), *specs, *options]


def _other_shapes(texts: Iterable[str], instead: Iterable[str]) -> tuple[str, ...]:
    """Return those of some shapes that are not of inputs which have others instead."""
    changed = {split_name(text)[0] for text in instead}
    return tuple(text for text in texts if split_name(text)[0] not in changed)


def to_command(plan: Plan, registry: Registry, instead: Mapping[str, Any] | Sequence[str] = ()) -> str:
    """Return the command line that makes a plan, to be typed into a shell; arguments and errors as in `to_words`."""
    return shlex.join(["polycmp", *to_words(plan, registry, instead)])


def _from_words(given: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any]:
    """Return options given as words as they stand in a run file."""
    if isinstance(given, Mapping):
        return given
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for word in given:
        if is_flag(word):
            flag, equals, value = word.removeprefix("--").partition("=")
            values = found.setdefault(flag, [])
            values += [value] if equals else []
        else:
            values.append(word)
    return {flag: (texts if len(texts) > 1 else texts[0]) if texts else True for flag, texts in found.items()}


def _words(target: Target, value: Any) -> Iterable[str]:
    flag, option = target.flags[0], target.field
    if option.kind == "flag":
        return [flag if value else target.negative]
    if option.bare is not None and option.convert([[option.bare]]) == value:
        return [flag]
    return [word for texts in option.texts(value) for word in (flag, *texts)]


def _target(table: FlagTable, key: Key) -> Target:
    if key not in table.targets:
        raise UsageError(
            f"the option {key.field!r} of {key.owner!r} has no flag",
            why="several plugins claim it, so none gets it",
            hint="polycmp plugins list",
        )
    return table.targets[key]

"""A plan written down: as plain values for other processes and run files, and as the words of a command line.

Either way back gives an equal plan.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.options import FlagTable
from polycmp.options.text import plain_values, read_plain, read_words, words_of
from polycmp.options.values import split_name
from polycmp.plan.backends import plain_backends, spec_texts
from polycmp.plan.build import SHAPES, make_plan, plan_values
from polycmp.plan.flags import build_table
from polycmp.plan.plan import Plan

if TYPE_CHECKING:
    from polycmp.plugins import Registry


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


def from_values(values: Mapping[str, Any], registry: Registry) -> Plan:
    """Return the plan that `to_values` wrote down, or one that a user wrote.

    Raises:
        UsageError: There is no such option, or a value cannot be right.
        PluginError: Something asked for by name is not there.
    """
    return make_plan(read_plain(values, build_table(registry)), registry)


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
        instead: Options that override the plan's, as in a run file or as words; shapes of other inputs stay.
        command: The words of the command.
        table: The options of the command, where it has not all of those of `run`; what it lacks is left out.

    Raises:
        PluginError: An option has a value that no text means.
        UsageError: An option has no flag of its own.
    """
    every = build_table(registry)
    values, changes = plan_values(plan, registry), dict(read_words(instead, every).values)
    if SHAPES in changes:
        changes[SHAPES] = _other_shapes(values.get(SHAPES, ()), changes[SHAPES]) + changes[SHAPES]
    option_values = {**{key: value for key, value in values.items() if key not in changes}, **changes}
    if table is not None:
        option_values = {key: value for key, value in option_values.items() if key in table.targets}
    specs = [word for spec in spec_texts(plan.backends) for word in ("-b", spec)]
    options = words_of(option_values, every)
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

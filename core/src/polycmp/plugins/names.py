"""Assignment of names and flags that several plugins claim."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from polycmp.plugins.discovery import BUILTIN_PLUGINS, KINDS, WORDS, Contribution, Kind, PluginRecord
from polycmp.spec import CommandSpec, RunnerSpec
from polycmp.spec.former import instead_of


class FlagOwner(NamedTuple):
    """An option or a backend that wants a flag.

    Attributes:
        contribution: The plugin's contribution that declares the option; None for the core's own.
        field: The option's field; empty for the flag `--NAME` of a backend.
    """

    contribution: Contribution | None
    field: str

    def __str__(self) -> str:
        if self.contribution is None:
            return "polycmp's own option"
        field = f"option {self.field!r} of " if self.field else ""
        return field + self.contribution.label


def flag_of(name: str, field: str = "") -> str:
    """Return the generated flag of a contribution, `--NAME`, or of one of its options, `--NAME-FIELD`."""
    return f"--{name}-{field}".rstrip("-").replace("_", "-")


def assign_flags(
    contributions: Iterable[Contribution], reserved: Iterable[str] = ()
) -> tuple[dict[str, FlagOwner], dict[str, tuple[FlagOwner, ...]]]:
    """Decide who owns each flag.

    The flags in `reserved` stay the core's. Next come the flags of the core's own contributions, then the generated
    flags of plugins, then the plugins' aliases; on each step a flag goes to the only one that wants it, and to none
    if there are several.

    Args:
        contributions: Everybody with options, and every backend.
        reserved: The core's own options, with their dashes.

    Returns:
        The owner of each flag that was assigned, and all that want each one that was refused to at least one of them.
    """
    items = list(contributions)
    builtin = [item for item in items if item.plugin in BUILTIN_PLUGINS]
    foreign = [item for item in items if item.plugin not in BUILTIN_PLUGINS]
    steps = [_generated(builtin), _aliases(builtin), _generated(foreign), _aliases(foreign)]
    assigned: dict[str, FlagOwner] = {}
    refused: dict[str, tuple[FlagOwner, ...]] = {}
    taken: dict[str, tuple[FlagOwner, ...]] = {flag: (FlagOwner(None, ""),) for flag in reserved}
    for step in steps:
        wanted: dict[str, list[FlagOwner]] = {}
        for flag, one in step:
            wanted.setdefault(flag, []).append(one)
        for flag, wanting in wanted.items():
            if flag in taken or len(wanting) > 1:
                refused[flag] = (*refused.get(flag, taken.get(flag, ())), *wanting)
            else:
                assigned[flag] = wanting[0]
            taken.setdefault(flag, tuple(wanting))
    return assigned, refused


def _generated(items: Iterable[Contribution]) -> Iterator[tuple[str, FlagOwner]]:
    for item in items:
        if item.kind == "runner":
            yield flag_of(item.name), FlagOwner(item, "")
        for field in _fields(item):
            yield flag_of(item.name, field.name), FlagOwner(item, field.name)


def _aliases(items: Iterable[Contribution]) -> Iterator[tuple[str, FlagOwner]]:
    for item in items:
        for field in _fields(item):
            for alias in dict.fromkeys(field.metadata.get("alias") or ()):
                backend_flag = flag_of(item.name) if item.kind == "runner" else ""
                if alias not in (flag_of(item.name, field.name), backend_flag):
                    yield alias, FlagOwner(item, field.name)


def _fields(item: Contribution) -> tuple[dataclasses.Field[object], ...]:
    options = getattr(item.spec, "options", None)
    return dataclasses.fields(options) if options is not None else ()


def begin_instance(runner: Contribution) -> str:
    """Return the beginning of the instance that a backend's flag `--NAME` stands for.

    The value of a field of which that is an alias follows the flag: `--dump DIR` is `-b dump:folder=DIR`.
    """
    flag = flag_of(runner.name)
    named = (field.name for field in _fields(runner) if flag in (field.metadata.get("alias") or ()))
    return next((f"{runner.name}:{name}=" for name in named), runner.name)


def is_hidden(contribution: Contribution) -> bool:
    """Return whether only those who ask for something by name are to know of it."""
    return isinstance(contribution.spec, (CommandSpec, RunnerSpec)) and contribution.spec.hidden


class NameOwners:
    """The owner of each name.

    A name belongs to the core's own contribution, else to the only one that claims it, else to none. A command that
    is also the beginning of another (`inspect` and `inspect model`) cannot be had, nor can the other; nothing is in the
    way of the core's own.

    Args:
        contributions: The contributions of all plugins that work.

    Attributes:
        claims: The claimants of each name, by kind and name.
        owners: By kind, the owner of each name.
    """

    def __init__(self, contributions: Iterable[Contribution]) -> None:
        self.claims: dict[tuple[Kind, str], list[Contribution]] = {}
        for item in contributions:
            self.claims.setdefault((item.kind, item.name), []).append(item)
        commands = [
            (item.spec.path, item) for items in self.claims.values() for item in items if item.kind == "command"
        ]
        refused = _nested(path for path, _ in commands)
        refused_to_core = _nested(path for path, item in commands if item.plugin in BUILTIN_PLUGINS)
        self.owners: dict[Kind, dict[str, Contribution]] = {kind: {} for kind in KINDS.values()}
        for (kind, name), claimants in self.claims.items():
            builtin = [item for item in claimants if item.plugin in BUILTIN_PLUGINS]
            if kind == "command" and claimants[0].spec.path in (refused_to_core if builtin else refused):
                continue
            if builtin or len(claimants) == 1:
                self.owners[kind][name] = (builtin or claimants)[0]

    def shown(self) -> Iterator[Contribution]:
        """Yield everything that has a name of its own and is not hidden, kind by kind."""
        for owners in self.owners.values():
            yield from (item for item in owners.values() if not is_hidden(item))


def _nested(paths: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Return the paths that begin another one, and those that begin with another one."""
    taken = set(paths)
    pairs = [(path[:length], path) for path in taken for length in range(1, len(path)) if path[:length] in taken]
    return {path for pair in pairs for path in pair}


def with_notes(
    records: Iterable[PluginRecord], reserved: Iterable[str] = (), names: NameOwners | None = None
) -> tuple[PluginRecord, ...]:
    """Return the records with what each plugin lost to others: names, flags, aliases.

    Args:
        records: All of them.
        reserved: The core's own options, with their dashes.
        names: The owners of their names, where they are known already.
    """
    records = tuple(records)
    names = names or NameOwners(item for record in records for item in record.contributions)
    notes: dict[str, list[str]] = {}
    for (kind, name), claimants in names.claims.items():
        for item in claimants:
            if item is not names.owners[kind].get(name):
                others = " and ".join(other.distribution for other in claimants if other is not item)
                why = f"{others} has it too" if others else "another command begins with it, or it with another"
                notes.setdefault(item.plugin, []).append(f"{WORDS[kind]} {name!r} refused: {why}")
    for record in records:
        for item in record.contributions:
            for name in getattr(item.spec, "former", ()):
                text = f"{item.label}: {type(item.spec).__name__}({name}=…) goes away in 0.3.0; use {instead_of(name)}"
                notes.setdefault(record.name, []).append(text)
    assigned, refused = assign_flags(names.shown(), reserved)
    for flag, wanted in refused.items():
        for one in wanted:
            if one.contribution is not None and one != assigned.get(flag):
                others = " and ".join(str(other) for other in wanted if other is not one)
                notes.setdefault(one.contribution.plugin, []).append(f"{flag} refused: also {others}")
    return tuple(dataclasses.replace(record, notes=tuple(notes.get(record.name, ()))) for record in records)

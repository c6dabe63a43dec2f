"""All plugins and what they contribute, by kind and name; made from metadata, completed on first need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

from polycmp.errors import PluginError, PolycmpError, UsageError, did_you_mean
from polycmp.plugins import factories
from polycmp.plugins.aliases import grant_aliases
from polycmp.plugins.discovery import Candidate, discover
from polycmp.plugins.examination import examine, new_manager
from polycmp.plugins.known import COMMANDS, COMMANDS_ELSEWHERE, INSTALL_COMMANDS, NOT_YET, OTHER_NAMES, REPORTS
from polycmp.plugins.records import BUILTIN, WORDS, Contributed, Contribution, Kind, PluginRecord
from polycmp.spec import (
    CommandSpec,
    CompareFactory,
    CompareFuncSpec,
    DataLoaderFactory,
    DataLoaderSpec,
    LoaderFactory,
    LoaderSpec,
    ReportFactory,
    ReportSpec,
    RunnerFactory,
    RunnerSpec,
)


class Registry:
    """The plugins of one process.

    Making one reads metadata only. The light modules are imported when contributions are first asked for; heavy code
    only by `load`.

    Args:
        candidates: What was found, in the order in which it is shown.
        reserved: The core's own options, with their dashes, for the notes on refused aliases.

    Attributes:
        candidates: What was found.
        reserved: The core's own options.
    """

    def __init__(self, candidates: Iterable[Candidate], reserved: Iterable[str] = ()) -> None:
        self.candidates = tuple(candidates)
        self.reserved = tuple(reserved)

    @classmethod
    def discover(cls, environ: Mapping[str, str] = os.environ, reserved: Iterable[str] = ()) -> Registry:
        """Return the registry of everything installed.

        Args:
            environ: Environment variables; `POLYCMP_PLUGINS` is read before anything is imported.
            reserved: The core's own options, with their dashes.
        """
        return cls(discover(environ), reserved)

    @cached_property
    def records(self) -> tuple[PluginRecord, ...]:
        """One record for each plugin, the core's own first; imports the light modules."""
        manager = new_manager()
        return with_notes((examine(candidate, manager) for candidate in self.candidates), self.reserved)

    @cached_property
    def core(self) -> Registry:
        """The core's own contributions alone; no other plugin is imported for them."""
        return Registry(item for item in self.candidates if item.record.name == BUILTIN)

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Everything that working plugins contribute, names that several claim included."""
        return tuple(item for record in self.records for item in record.contributions)

    @cached_property
    def runners(self) -> Mapping[str, Contributed[RunnerSpec]]:
        """Backends by name, without the hidden ones."""
        return {name: item for name, item in self._by_name("runner").items() if not item.spec.hidden}

    @cached_property
    def loaders(self) -> Mapping[str, Contributed[LoaderSpec]]:
        """Loaders by name."""
        return self._by_name("loader")

    @cached_property
    def data_loaders(self) -> Mapping[str, Contributed[DataLoaderSpec]]:
        """Data loaders by name."""
        return self._by_name("data_loader")

    @cached_property
    def compare_funcs(self) -> Mapping[str, Contributed[CompareFuncSpec]]:
        """Compare functions by name."""
        return self._by_name("compare_func")

    @cached_property
    def commands(self) -> Mapping[str, Contributed[CommandSpec]]:
        """Commands by their words, joined by spaces."""
        return self._by_name("command")

    @cached_property
    def reports(self) -> Mapping[str, Contributed[ReportSpec]]:
        """Reports by suffix without the dot, those without suffix by name."""
        return self._by_name("report")

    @property
    def unique_contributions(self) -> tuple[Contribution, ...]:
        """Everything that can be asked for by name: no name that several claim."""
        tables = (self.runners, self.loaders, self.data_loaders, self.compare_funcs, self.commands, self.reports)
        return tuple(item for table in tables for item in table.values())

    @cached_property
    def _winners(self) -> Mapping[tuple[Kind, str], Contribution]:
        return winners_of(self.contributions)

    def _by_name(self, kind: Kind) -> Mapping[str, Contribution]:
        return MappingProxyType({name: item for (of_kind, name), item in self._winners.items() if of_kind == kind})

    def find_runner(self, name: str) -> Contributed[RunnerSpec]:
        """Return a backend.

        Raises:
            PluginError: There is none of this name, several claim it, or its plugin is broken.
        """
        return self._find("runner", name, self._by_name("runner"))

    def find_loader(self, name: str) -> Contributed[LoaderSpec]:
        """Return a loader; errors as in `find_runner`."""
        return self._find("loader", name, self.loaders)

    def find_data_loader(self, name: str) -> Contributed[DataLoaderSpec]:
        """Return a data loader; errors as in `find_runner`, but a name nobody has is a `UsageError`."""
        return self._find("data_loader", name, self.data_loaders)

    def find_compare_func(self, name: str) -> Contributed[CompareFuncSpec]:
        """Return a compare function; errors as in `find_data_loader`."""
        return self._find("compare_func", name, self.compare_funcs)

    def find_command(self, name: str) -> Contributed[CommandSpec]:
        """Return a command by its words, joined by spaces; errors as in `find_runner`."""
        return self._find("command", name, self.commands)

    def find_report(self, suffix: str) -> Contributed[ReportSpec]:
        """Return who writes files with a suffix; errors as in `find_data_loader`."""
        return self._find("report", suffix.removeprefix("."), self.reports)

    def _find(self, kind: Kind, name: str, table: Mapping[str, Contribution]) -> Contribution:
        if name in table:
            return table[name]
        claimants = claims_by_name(self.contributions).get((kind, name), [])
        if len(claimants) > 1:
            who = " and ".join(dict.fromkeys(item.distribution or item.plugin for item in claimants))
            raise PluginError(
                f"the {WORDS[kind]} {name!r} is contributed by {who}, so neither gets the name",
                hint=f"keep one: pip uninstall {claimants[-1].distribution}, or POLYCMP_PLUGINS={claimants[0].plugin}",
            )
        self._raise_reason(kind, name)
        raise self._unknown(kind, name, {key: item for key, item in table.items() if not is_hidden(item)})

    def _raise_reason(self, kind: Kind, name: str) -> None:
        """Raise with the reason if a plugin of this name, or one that would bring this name, does not work."""
        for record in self.records:
            offered = any(item.kind == kind and item.name == name for item in record.withheld)
            would = kind == "command" and record.name == COMMANDS.get(name, ("", ""))[0]
            if record.state != "ok" and (record.name == name or offered or would):
                raise PluginError(
                    f"the {WORDS[kind]} {name!r} is not available: its plugin is {record.state}",
                    whose=record.label,
                    why=record.reason,
                    hint=_next_step(record),
                )

    def _unknown(self, kind: Kind, name: str, table: Mapping[str, Contribution]) -> PolycmpError:
        if kind == "report":
            return _no_report(name, table)
        what = f"there is no {WORDS[kind]} {name!r}"
        if kind == "command":
            return _no_command(name, table)
        brought = next((r for r in self.records if r.state == "ok" and r.name == name and r.name != BUILTIN), None)
        if brought is not None:
            offers = ", ".join(f"{WORDS[item.kind]} {item.name!r}" for item in brought.contributions) or "nothing"
            return PluginError(
                what, why=f"{brought.label} is installed, but offers {offers}", hint="polycmp plugins list"
            )
        called = (key for key, item in table.items() if kind == "runner" and name in item.spec.aliases)
        known = next(called, OTHER_NAMES.get(name, name))
        if kind == "runner" and name in NOT_YET:
            return PluginError(
                what, why=NOT_YET[name], hint="polycmp plugins new NAME writes the package to begin with"
            )
        if kind == "runner" and known in table:
            return PluginError(what, why=f"it is called {known!r} here", hint=f"-b {known}")
        if kind == "runner" and known in INSTALL_COMMANDS:
            return PluginError(what, why="the package that brings it is not installed", hint=INSTALL_COMMANDS[known])
        # Backends come and go with packages; any other name that nobody has is a slip of the fingers.
        kind_of_error = PluginError if kind == "runner" else UsageError
        return kind_of_error(what, why=did_you_mean(name, table), hint="polycmp plugins list")

    def missing_modules(self, spec: Any) -> tuple[str, ...]:
        """Return the modules that a descriptor needs and that are not installed; imports nothing."""
        return factories.missing_modules(spec)

    def require(self, contribution: Contribution) -> None:
        """Check that the modules a contribution needs are installed.

        Raises:
            PluginError: One is missing; the error names the command that installs it.
        """
        factories.require(contribution)

    @overload
    def load(self, contribution: Contributed[RunnerSpec]) -> RunnerFactory: ...
    @overload
    def load(self, contribution: Contributed[LoaderSpec]) -> LoaderFactory: ...
    @overload
    def load(self, contribution: Contributed[DataLoaderSpec]) -> DataLoaderFactory: ...
    @overload
    def load(self, contribution: Contributed[CompareFuncSpec]) -> CompareFactory: ...
    @overload
    def load(self, contribution: Contributed[ReportSpec]) -> ReportFactory: ...
    @overload
    def load(self, contribution: Contributed[CommandSpec]) -> Any: ...
    @overload
    def load(self, contribution: Contribution, factory_string: str) -> Any: ...
    def load(self, contribution: Contribution, factory_string: str | None = None) -> Any:
        """Import the factory of a contribution, or another `"package.module:attribute"` of its plugin.

        Raises:
            PluginError: That fails, in whatever way; the error names the plugin, its package and the missing module.
        """
        return factories.load(contribution, factory_string)


def is_hidden(contribution: Contribution) -> bool:
    """Return whether only those who ask for something by name are to know of it."""
    return isinstance(contribution.spec, RunnerSpec) and contribution.spec.hidden


def _no_command(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    what = f"there is no command {name!r}"
    if name in COMMANDS:
        return PluginError(what, why="the package that brings it is not installed", hint=COMMANDS[name][1])
    if name in COMMANDS_ELSEWHERE:
        why, instead = COMMANDS_ELSEWHERE[name]
        return UsageError(what, why=why, hint=instead)
    group = name.rpartition(" ")[0]
    return UsageError(what, why=did_you_mean(name, table), hint=" ".join(filter(None, ["polycmp", group, "--help"])))


def _no_report(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    what = f"no report is written as {'.' + name if name else 'a file without suffix'}"
    if name in REPORTS:
        return PluginError(what, why="the package that writes it is not installed", hint=REPORTS[name])
    known = [f".{key}" for key in (*(key for key, item in table.items() if item.spec.suffix), *REPORTS)]
    return UsageError(what, why=did_you_mean(f".{name}", known), hint="polycmp plugins list")


def _next_step(record: PluginRecord) -> str:
    if record.state == "excluded":
        return f"pip install --upgrade polycmp {record.distribution}"
    if record.state == "disabled":
        return f"unset POLYCMP_PLUGINS, or add {record.name} to it"
    if not record.distribution:
        return "polycmp plugins list"
    if record.reason.startswith("duplicate name"):
        return f"pip uninstall {record.distribution}"
    return f"polycmp plugins check {record.name}"


def claims_by_name(contributions: Iterable[Contribution]) -> dict[tuple[Kind, str], list[Contribution]]:
    """Return who claims each name of each kind."""
    claims: dict[tuple[Kind, str], list[Contribution]] = {}
    for item in contributions:
        claims.setdefault((item.kind, item.name), []).append(item)
    return claims


def winners_of(contributions: Iterable[Contribution]) -> dict[tuple[Kind, str], Contribution]:
    """Return who gets each name: the core's own, else its only claimant, else nobody.

    A command that is also the beginning of another (`inspect` and `inspect model`) cannot be had, nor can the other;
    nothing is in the way of the core's own.
    """
    claims = claims_by_name(contributions)
    paths = [name.split() for kind, name in claims if kind == "command"]
    core_paths = [
        name.split()
        for (kind, name), items in claims.items()
        if kind == "command" and any(item.plugin == BUILTIN for item in items)
    ]
    winners = {}
    for (kind, name), claimants in claims.items():
        own = [item for item in claimants if item.plugin == BUILTIN]
        if kind == "command" and _in_the_way(name.split(), core_paths if own else paths):
            continue
        if own or len(claimants) == 1:
            winners[kind, name] = (own or claimants)[0]
    return winners


def _in_the_way(path: list[str], paths: Iterable[list[str]]) -> bool:
    return any(other != path and all(a == b for a, b in zip(path, other, strict=False)) for other in paths)


def with_notes(records: Iterable[PluginRecord], reserved: Iterable[str] = ()) -> tuple[PluginRecord, ...]:
    """Return the records with what each plugin lost to others: names, flags, aliases.

    Args:
        records: All of them.
        reserved: The core's own options, with their dashes.
    """
    records = tuple(records)
    contributions = [item for record in records for item in record.contributions]
    winners = winners_of(contributions)
    notes: dict[str, list[str]] = {}
    for (kind, name), claimants in claims_by_name(contributions).items():
        for item in claimants:
            if item is not winners.get((kind, name)):
                others = " and ".join(other.distribution for other in claimants if other is not item)
                why = f"{others} has it too" if others else "another command begins with it, or it with another"
                notes.setdefault(item.plugin, []).append(f"{WORDS[kind]} {name!r} refused: {why}")
    granted, refused = grant_aliases([item for item in winners.values() if not is_hidden(item)], reserved)
    for flag, claims in refused.items():
        for claim in claims:
            if claim.contribution is not None and claim != granted.get(flag):
                others = " and ".join(str(other) for other in claims if other is not claim)
                notes.setdefault(claim.contribution.plugin, []).append(f"{flag} refused: also {others}")
    return tuple(replace(record, notes=tuple(notes.get(record.name, ()))) for record in records)

"""All plugins and what they contribute, by kind and name; made from metadata, completed on first need."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from polycmp.errors import PluginError, describe_exception
from polycmp.plugins.discovery import (
    WORDS,
    Candidate,
    Contributed,
    Contribution,
    Kind,
    PluginRecord,
    discover,
)
from polycmp.plugins.names import NameOwners, is_hidden, with_notes
from polycmp.plugins.tools import make_tools
from polycmp.plugins.validation import new_manager, validate
from polycmp.spec import (
    CommandSpec,
    CompareFactory,
    CompareFuncSpec,
    CompareFuncTools,
    DataLoaderFactory,
    DataLoaderSpec,
    DataLoaderTools,
    FormatSpec,
    LoaderFactory,
    LoaderSpec,
    LoaderTools,
    ObserverSpec,
    PairingSpec,
    ReportFactory,
    ReportSpec,
    ReportTools,
    RunnerFactory,
    RunnerSpec,
    RunnerTools,
    ServiceSpec,
    ToleranceSpec,
)

_LOG = logging.getLogger("polycmp")
#: Backends that run side by side are loaded in threads; each puts back the stream that it found.
_STDOUT = threading.RLock()


class Registry:
    """The plugins of one process.

    Making one reads metadata only. The light modules are imported when contributions are first asked for; heavy code
    only by `load`.

    Args:
        candidates: The entry points that were found, in the order in which they are shown.
        reserved: The core's own options, with their dashes, for the notes on refused aliases.

    Attributes:
        candidates: The entry points that were found.
        reserved: The core's own options.
    """

    def __init__(self, candidates: Iterable[Candidate], reserved: Iterable[str] = ()) -> None:
        self.candidates: tuple[Candidate, ...] = tuple(candidates)
        self.reserved: tuple[str, ...] = tuple(reserved)
        self._tools: dict[Any, Any] = {}

    @classmethod
    def discover(cls, environ: Mapping[str, str] = os.environ, reserved: Iterable[str] = ()) -> Registry:
        """Return the registry of everything installed.

        Args:
            environ: Environment variables; `POLYCMP_PLUGINS` is read before anything is imported.
            reserved: The core's own options, with their dashes.
        """
        return cls(discover(environ), reserved)

    @classmethod
    def kept_in(cls, context: Any) -> Registry:
        """Return the registry kept in the `obj` of a command line's context; put one there if there is none."""
        if context.obj is None:
            context.obj = cls.discover()
        registry: Registry = context.obj
        return registry

    @cached_property
    def records(self) -> tuple[PluginRecord, ...]:
        """One record for each plugin, the core's own first, with notes; imports the light modules."""
        return with_notes(self._checked, self.reserved, self._names)

    @cached_property
    def core(self) -> Registry:
        """The built-in contributions alone; no other plugin is imported for them."""
        builtin = [item for item in self.candidates if item.record.is_builtin]
        return self if len(builtin) == len(self.candidates) else Registry(builtin)

    @cached_property
    def _checked(self) -> tuple[PluginRecord, ...]:
        """One record for each plugin, the core's own first, without notes."""
        checked = () if self.core is self else self.core._checked  # noqa: SLF001 - its own
        manager = new_manager()
        others = (item for item in self.candidates if not checked or not item.record.is_builtin)
        return (*checked, *(validate(item, manager) for item in others))

    @cached_property
    def _names(self) -> NameOwners:
        return NameOwners(self.contributions)

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Everything that working plugins contribute, names that several claim included."""
        return tuple(item for record in self._checked for item in record.contributions)

    @cached_property
    def runners(self) -> Mapping[str, Contributed[RunnerSpec]]:
        """Backends by name, without the hidden ones."""
        return self._shown("runner")

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
        """Commands by their words, joined by spaces, without the hidden ones."""
        return self._shown("command")

    @cached_property
    def reports(self) -> Mapping[str, Contributed[ReportSpec]]:
        """Reports by suffix without the dot, those without suffix by name."""
        return self._by_name("report")

    @cached_property
    def formats(self) -> Mapping[str, Contributed[FormatSpec]]:
        """Formats of files by suffix without the dot."""
        return self._by_name("format")

    @cached_property
    def observers(self) -> Mapping[str, Contributed[ObserverSpec]]:
        """Observers of runs by name, in the order of their plugins, the core's own first."""
        return self._by_name("observer")

    @cached_property
    def tolerances(self) -> Mapping[str, Contributed[ToleranceSpec]]:
        """Ways to find tolerances, by name."""
        return self._by_name("tolerance")

    @cached_property
    def pairings(self) -> Mapping[str, Contributed[PairingSpec]]:
        """Ways to pair the tensors of models that differ, by name, in the order of their plugins."""
        return self._by_name("pairing")

    @cached_property
    def services(self) -> Mapping[str, Contributed[ServiceSpec]]:
        """The services of runs, by name."""
        return self._by_name("service")

    @property
    def unique_contributions(self) -> tuple[Contribution, ...]:
        """Everything that can be asked for by name and is not hidden: no name that several claim."""
        return tuple(self._names.shown())

    def _by_name(self, kind: Kind) -> Mapping[str, Contribution]:
        return MappingProxyType(self._names.owners[kind])

    def _shown(self, kind: Kind) -> Mapping[str, Contribution]:
        return {name: item for name, item in self._by_name(kind).items() if not is_hidden(item)}

    def find_runner(self, name: str) -> Contributed[RunnerSpec]:
        """Find a backend.

        Raises:
            PluginError: There is none of this name, several claim it, or its plugin is broken.
        """
        return self._find("runner", name, self._by_name("runner"))

    def find_loader(self, name: str) -> Contributed[LoaderSpec]:
        """Find a loader; errors as in `find_runner`."""
        return self._find("loader", name, self.loaders)

    def find_data_loader(self, name: str) -> Contributed[DataLoaderSpec]:
        """Find a data loader; errors as in `find_runner`, but an unknown name is a `UsageError`."""
        return self._find("data_loader", name, self.data_loaders)

    def find_compare_func(self, name: str) -> Contributed[CompareFuncSpec]:
        """Find a compare function; errors as in `find_data_loader`."""
        return self._find("compare_func", name, self.compare_funcs)

    def find_command(self, name: str) -> Contributed[CommandSpec]:
        """Find a command by its words, joined by spaces; errors as in `find_runner`."""
        return self._find("command", name, self._by_name("command"))

    def find_report(self, suffix: str) -> Contributed[ReportSpec]:
        """Find the report that writes files of a suffix; errors as in `find_data_loader`."""
        return self._find("report", suffix.removeprefix("."), self.reports)

    def find_format(self, suffix: str) -> Contributed[FormatSpec]:
        """Find the format of files with a suffix; errors as in `find_data_loader`."""
        return self._find("format", suffix.removeprefix("."), self.formats)

    def find_observer(self, name: str) -> Contributed[ObserverSpec]:
        """Find an observer; errors as in `find_data_loader`."""
        return self._find("observer", name, self.observers)

    def find_tolerance(self, name: str) -> Contributed[ToleranceSpec]:
        """Find a way to find tolerances, by its name or by a file that it reads; errors as in `find_data_loader`."""
        suffix = Path(name).suffix.lower()
        readers = [item for item in self.tolerances.values() if suffix and item.spec.suffix == suffix]
        return readers[0] if readers else self._find("tolerance", name, self.tolerances)

    def find_service(self, name: str) -> Contributed[ServiceSpec]:
        """Find a service; errors as in `find_data_loader`."""
        return self._find("service", name, self.services)

    def _find(self, kind: Kind, name: str, table: Mapping[str, Contribution]) -> Contribution:
        if name in table:
            return table[name]
        claimants = self._names.claims.get((kind, name), [])
        if len(claimants) > 1:
            who = " and ".join(dict.fromkeys(item.distribution or item.plugin for item in claimants))
            raise PluginError(
                f"the {WORDS[kind]} {name!r} is contributed by {who}, so neither gets the name",
                hint=f"keep one: pip uninstall {claimants[-1].distribution}, or POLYCMP_PLUGINS={claimants[0].plugin}",
            )
        from polycmp.plugins.known import not_found

        self._raise_reason(kind, name)
        shown = {key: item for key, item in table.items() if not is_hidden(item)}
        runners = self.equipped(shown.values()) if kind == "runner" else ()
        called = {alias: item.name for item, tools in runners for alias in tools.aliases}
        raise not_found(kind, name, shown, self._checked, called)

    def _raise_reason(self, kind: Kind, name: str) -> None:
        """Raise with the reason if a plugin of this name, or one that would bring this name, does not work."""
        from polycmp.plugins.known import known_names, next_step

        for record in self._checked:
            offered = any(item.kind == kind and item.name == name for item in record.withheld)
            would = record.name == known_names().brought.get(kind, {}).get(name, ("", ""))[0]
            if record.state != "ok" and (record.name == name or offered or would):
                raise PluginError(
                    f"the {WORDS[kind]} {name!r} is not available: its plugin is {record.state}",
                    whose=record.label,
                    why=record.reason,
                    hint=next_step(record),
                )

    def require(self, contribution: Contribution) -> None:
        """Check that the modules a contribution needs are installed.

        Raises:
            PluginError: One is missing; the error names the command that installs it.
        """
        missing = missing_modules(contribution.spec)
        if missing:
            hint = install_command(contribution, missing[0])
            raise PluginError(missing_phrase(missing), whose=contribution.label, hint=hint)

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
    def load(
        self,
        contribution: Contributed[CommandSpec]
        | Contributed[ObserverSpec]
        | Contributed[ToleranceSpec]
        | Contributed[PairingSpec]
        | Contributed[ServiceSpec],
    ) -> Any: ...
    @overload
    def load(self, contribution: Contribution, factory_string: str) -> Any: ...
    def load(self, contribution: Contribution, factory_string: str | None = None) -> Any:
        """Import the factory of a contribution, or another `"package.module:attribute"` of its plugin.

        Raises:
            PluginError: That fails, in any way; the error names the plugin, its package and the missing module.
        """
        target = factory_string or getattr(contribution.spec, "factory", None) or contribution.spec.target
        module_name, _, attribute = target.partition(":")
        try:
            if module_name in sys.modules:  # or another thread imports it now, and redirects what it prints
                value = importlib.import_module(module_name)
            else:
                with _STDOUT, contextlib.redirect_stdout(sys.stderr):  # stdout is for results
                    value = importlib.import_module(module_name)
            for part in attribute.split("."):
                value = getattr(value, part)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _explain(contribution, target, error) from error
        return value

    @overload
    def tools(self, contribution: Contributed[RunnerSpec]) -> RunnerTools: ...
    @overload
    def tools(self, contribution: Contributed[LoaderSpec]) -> LoaderTools: ...
    @overload
    def tools(self, contribution: Contributed[DataLoaderSpec]) -> DataLoaderTools: ...
    @overload
    def tools(self, contribution: Contributed[CompareFuncSpec]) -> CompareFuncTools: ...
    @overload
    def tools(self, contribution: Contributed[ReportSpec]) -> ReportTools: ...
    def tools(self, contribution: Contribution) -> Any:
        """Return what a contribution can do besides what every one of its kind does; made once.

        Raises:
            PluginError: The class that its descriptor names cannot be imported or made, or does not fit it.
        """
        key = contribution.kind, contribution.name, contribution.plugin
        if key not in self._tools:
            try:
                self._tools[key] = make_tools(contribution.spec, partial(self.load, contribution))
            except (KeyboardInterrupt, PluginError):
                raise
            except BaseException as error:
                raise _explain(contribution, contribution.spec.tools, error) from error
        return self._tools[key]

    @overload
    def equipped(
        self, contributions: Iterable[Contributed[RunnerSpec]]
    ) -> Iterator[tuple[Contributed[RunnerSpec], RunnerTools]]: ...
    @overload
    def equipped(
        self, contributions: Iterable[Contributed[LoaderSpec]]
    ) -> Iterator[tuple[Contributed[LoaderSpec], LoaderTools]]: ...
    @overload
    def equipped(
        self, contributions: Iterable[Contributed[DataLoaderSpec]]
    ) -> Iterator[tuple[Contributed[DataLoaderSpec], DataLoaderTools]]: ...
    @overload
    def equipped(
        self, contributions: Iterable[Contributed[CompareFuncSpec]]
    ) -> Iterator[tuple[Contributed[CompareFuncSpec], CompareFuncTools]]: ...
    @overload
    def equipped(
        self, contributions: Iterable[Contributed[ReportSpec]]
    ) -> Iterator[tuple[Contributed[ReportSpec], ReportTools]]: ...
    def equipped(self, contributions: Iterable[Contribution]) -> Iterator[tuple[Contribution, Any]]:
        """Yield contributions with their tools, without those whose tools are broken: asked for by name, they say so.

        Args:
            contributions: All of one kind.
        """
        for item in contributions:
            tools = self._tools_if_any(item)
            if tools is not None:
                yield item, tools

    def _tools_if_any(self, contribution: Contribution) -> Any:
        try:
            return self.tools(contribution)
        except PluginError as error:
            _LOG.debug("%s is left out: %s", contribution.label, describe_exception(error))
            return None

    @contextlib.contextmanager
    def explained(self, contribution: Contribution) -> Iterator[None]:
        """Say what to install if a module is missing that the contribution's tools import.

        Raises:
            PluginError: It is missing.
        """
        try:
            yield
        except ModuleNotFoundError as error:
            raise _explain(contribution, contribution.spec.tools, error) from error


def missing_modules(spec: Any) -> tuple[str, ...]:
    """Return the missing ones of the modules that a descriptor `needs`, looked for without importing anything.

    Only the top-level package is looked for: to find `a.b`, Python would have to import `a`.
    """
    return tuple(need for need in getattr(spec, "needs", ()) if not any(map(_exists, need.split("|"))))


def _exists(name: str) -> bool:
    top, dot, _ = name.partition(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return top in sys.modules
    # A folder that happens to have the name, beside a user's script, passes for a package without contents.
    is_folder = spec is not None and spec.origin is None and spec.submodule_search_locations is not None
    return spec is not None and (bool(dot) or not is_folder)


def missing_phrase(modules: Sequence[str]) -> str:
    """Return the half sentence for modules that are missing."""
    names = [" or ".join(map(repr, need.split("|"))) for need in modules]
    if len(names) == 1:
        return f"needs the Python module {names[0]}, which is not installed"
    return f"needs the Python modules {' and '.join(names)}, which are not installed"


def install_command(contribution: Contribution, module: str) -> str:
    """Return the command that installs a module, through an extra of the plugin's package where one brings it."""
    tops = [name.partition(".")[0] for name in module.split("|")]
    extras = list(dict.fromkeys(extra for top in tops for extra in _extras_with(contribution.distribution, top)))
    if not extras:
        return f"pip install {tops[0]}"
    command = f"pip install '{contribution.distribution}[{extras[0]}]'"
    others = ", ".join(f"[{extra}]" for extra in extras[1:])
    return f"{command} (or its extra {others})" if others else command


def _extras_with(distribution: str, module: str) -> list[str]:
    """Return the extras of a distribution that bring a package of a module's name, or `MODULE-…`; smallest first."""
    from importlib import metadata

    try:
        lines = metadata.requires(distribution) or []
    except Exception:  # noqa: BLE001  (no metadata, no advice)
        return []
    wanted = re.sub(r"[-_.]+", "-", module).lower()
    sizes: dict[str, int] = {}
    bringing: dict[str, None] = {}
    for line in lines:
        name = re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;(]", line, maxsplit=1)[0]).lower()
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        if extra is None:
            continue
        sizes[extra[1]] = sizes.get(extra[1], 0) + 1
        if name == wanted or name.startswith(f"{wanted}-"):
            bringing.setdefault(extra[1])
    return sorted(bringing, key=sizes.__getitem__)


def _explain(contribution: Contribution, target: str, error: BaseException) -> PluginError:
    module_name = target.partition(":")[0]
    check = f"polycmp plugins check {contribution.plugin}"
    # A missing dependency is the user's to install; a missing module of its own is the plugin author's mistake.
    if isinstance(error, ModuleNotFoundError) and error.name and not f"{module_name}.".startswith(f"{error.name}."):
        return PluginError(
            missing_phrase((error.name,)),
            whose=contribution.label,
            why=f"importing {module_name} failed",
            hint=install_command(contribution, error.name),
        )
    return PluginError(f"cannot load {target}", whose=contribution.label, why=describe_exception(error), hint=check)

"""What is known of a plugin and of each thing it contributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from polycmp.spec import CommandSpec, CompareFuncSpec, DataLoaderSpec, FormatSpec, LoaderSpec, ReportSpec, RunnerSpec

BUILTIN = "polycmp"
"""The plugin name of the core's own contributions."""

Spec: TypeAlias = RunnerSpec | LoaderSpec | DataLoaderSpec | CompareFuncSpec | CommandSpec | ReportSpec | FormatSpec
Kind: TypeAlias = Literal["runner", "loader", "data_loader", "compare_func", "command", "report", "format"]
State: TypeAlias = Literal["ok", "broken", "excluded", "disabled"]

KINDS: Mapping[type, Kind] = {
    RunnerSpec: "runner",
    LoaderSpec: "loader",
    DataLoaderSpec: "data_loader",
    CompareFuncSpec: "compare_func",
    CommandSpec: "command",
    ReportSpec: "report",
    FormatSpec: "format",
}
WORDS: Mapping[str, str] = {
    "runner": "backend",
    "loader": "loader",
    "data_loader": "data loader",
    "compare_func": "compare function",
    "command": "command",
    "report": "report",
    "format": "file format",
}
"""What people call each kind."""


SpecT_co = TypeVar("SpecT_co", bound=Spec, covariant=True)


@dataclass(frozen=True)
class Contributed(Generic[SpecT_co]):
    """One descriptor and who brought it.

    Attributes:
        spec: The descriptor.
        plugin: The entry-point name of the plugin, `"polycmp"` for the core's own.
        distribution: The name of the installed package.
        version: That package's version.
    """

    spec: SpecT_co
    plugin: str
    distribution: str
    version: str

    @property
    def kind(self) -> Kind:
        """What it is, as the field name of a kind: `"runner"`, `"loader"` and so on."""
        return next(kind for descriptor, kind in KINDS.items() if isinstance(self.spec, descriptor))

    @property
    def name(self) -> str:
        """What people type; the words of a command are joined by spaces, reports and formats called after a suffix."""
        spec = self.spec
        if isinstance(spec, CommandSpec):
            return " ".join(spec.path)
        if isinstance(spec, FormatSpec) or (isinstance(spec, ReportSpec) and spec.suffix):
            return spec.suffix.removeprefix(".")
        return str(spec.name)

    @property
    def label(self) -> str:
        """For messages: `backend 'trt' of polycmp-trt`."""
        return f"{WORDS[self.kind]} {self.name!r} of {self.distribution or self.plugin}"


Contribution: TypeAlias = Contributed[Any]
"""One descriptor of any kind and who brought it."""


@dataclass(frozen=True)
class PluginRecord:
    """One row of the table of plugins.

    Attributes:
        name: The entry-point name.
        distribution: The installed package; empty if there is none.
        version: Its version.
        module: The light module, as the entry point names it.
        state: `"ok"`, `"broken"`, `"excluded"` (its range of core versions leaves this one out) or `"disabled"` (by
            `POLYCMP_PLUGINS`).
        reason: Why the state is not `"ok"`.
        contributions: What it offers; empty unless the state is `"ok"`.
        notes: What was taken from it although it works: refused aliases, names that others claim too.
        withheld: What it would offer if it were not broken, as far as that was seen.
    """

    name: str
    distribution: str
    version: str
    module: str
    state: State = "ok"
    reason: str = ""
    contributions: tuple[Contribution, ...] = ()
    notes: tuple[str, ...] = ()
    withheld: tuple[Contribution, ...] = field(default=(), repr=False)

    @property
    def label(self) -> str:
        """For messages: `plugin 'trt' of polycmp-trt 0.1.0`."""
        of = f" of {self.distribution} {self.version}".rstrip() if self.distribution else ""
        return f"plugin {self.name!r}{of}"

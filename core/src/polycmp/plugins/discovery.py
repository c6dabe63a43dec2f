"""What is known of plugins and of what they contribute; and how plugins are found.

They are found by their metadata alone: no module of any plugin is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import polycmp
from polycmp.plugins.installed import normalized, packages_with
from polycmp.records import dataclass
from polycmp.spec import (
    ENTRY_POINT_GROUP,
    CommandSpec,
    CompareFuncSpec,
    DataLoaderSpec,
    FormatSpec,
    LoaderSpec,
    ReportSpec,
    RunnerSpec,
    ServiceSpec,
)

BUILTIN = "polycmp"
"""The plugin name of the core's own contributions."""

Spec: TypeAlias = (
    RunnerSpec | LoaderSpec | DataLoaderSpec | CompareFuncSpec | CommandSpec | ReportSpec | FormatSpec | ServiceSpec
)
Kind: TypeAlias = Literal["runner", "loader", "data_loader", "compare_func", "command", "report", "format", "service"]
State: TypeAlias = Literal["ok", "broken", "excluded", "disabled"]

KINDS: Mapping[type, Kind] = {
    RunnerSpec: "runner",
    LoaderSpec: "loader",
    DataLoaderSpec: "data_loader",
    CompareFuncSpec: "compare_func",
    CommandSpec: "command",
    ReportSpec: "report",
    FormatSpec: "format",
    ServiceSpec: "service",
}
WORDS: Mapping[str, str] = {
    "runner": "backend",
    "loader": "loader",
    "data_loader": "data loader",
    "compare_func": "compare function",
    "command": "command",
    "report": "report",
    "format": "file format",
    "service": "service",
}
"""What people call each kind."""

ENVIRONMENT_VARIABLE = "POLYCMP_PLUGINS"
NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]*\Z")


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


@dataclass(frozen=True)
class Candidate:
    """An entry point and what its distribution says of itself.

    Attributes:
        record: What is known so far; only a candidate whose state is `"ok"` may be imported.
        requirements: The distribution's `Requires-Dist` lines.
    """

    record: PluginRecord
    requirements: tuple[str, ...] = ()


def discover(environ: Mapping[str, str]) -> list[Candidate]:
    """Return the core's own candidate, then those installed, by name; the unusable ones carry their reason.

    Args:
        environ: Environment variables. `POLYCMP_PLUGINS=none` turns all plugins off, `POLYCMP_PLUGINS=a,b` all but
            those named; the core's own contributions always stay.
    """
    found = sorted(_installed(), key=lambda item: (item.record.name, item.record.distribution))
    marked = [_check_metadata(item) for item in _mark_duplicates(found)]
    core = Candidate(PluginRecord(BUILTIN, "polycmp", polycmp.__version__, "polycmp.builtin"))
    return [core, *_apply_environment(marked, environ.get(ENVIRONMENT_VARIABLE, ""))]


def _installed() -> Iterator[Candidate]:
    for package in packages_with(ENTRY_POINT_GROUP):
        for name, module in package.entry_points:
            yield Candidate(PluginRecord(name, package.name, package.version, module), package.requirements)


#: How plugins usually spell the range that includes this version. Knowing it saves every start of the program the
#: import of `packaging`, a fifth of the time that a help text may take; a test holds it against `packaging`.
USUAL_RANGES = frozenset({">=0.1.0.dev0,<0.2", "<0.2,>=0.1.0.dev0"})


def _mark_duplicates(candidates: list[Candidate]) -> Iterator[Candidate]:
    by_name: dict[str, list[str]] = {}
    for item in candidates:
        by_name.setdefault(item.record.name, []).append(item.record.distribution)
    for item in candidates:
        claimants = by_name[item.record.name]
        if item.record.name == BUILTIN:
            yield _unusable(item, "broken", f"the name {BUILTIN!r} belongs to polycmp itself")
        elif len(claimants) > 1:
            who = " and ".join(claimants)
            yield _unusable(item, "broken", f"duplicate name: {item.record.name!r} is claimed by {who}")
        else:
            yield item


def _check_metadata(item: Candidate) -> Candidate:
    if item.record.state != "ok":
        return item
    if not NAME_PATTERN.match(item.record.name):
        return _unusable(item, "broken", f"bad name {item.record.name!r}: lower case, digits and underscores only")
    return _check_range(item)


def _check_range(item: Candidate) -> Candidate:
    for line in item.requirements:
        name, rest = _split_requirement(line)
        if name != "polycmp" or rest in USUAL_RANGES:
            continue
        reason = _out_of_range(line)
        if reason:
            state: State = "broken" if "unreadable" in reason else "excluded"
            return _unusable(item, state, reason)
    return item


def _split_requirement(line: str) -> tuple[str, str]:
    match = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line.strip())
    name = match[0] if match else ""
    return normalized(name), line.strip()[len(name) :].replace(" ", "")


def _out_of_range(line: str) -> str:
    """Return why a requirement on polycmp excludes this version; empty if it does not."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return f"its metadata has an unreadable requirement: {line!r}"
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return ""
    # A development version of the core satisfies a range that its release would satisfy.
    if requirement.specifier.contains(polycmp.__version__, prereleases=True):
        return ""
    return f"needs polycmp{requirement.specifier}, and this is polycmp {polycmp.__version__}"


def _apply_environment(candidates: Iterable[Candidate], setting: str) -> Iterator[Candidate]:
    wanted = [name for name in re.split(r"[,\s]+", setting) if name]
    names = set()
    for item in candidates:
        names.add(item.record.name)
        if wanted and item.record.name not in wanted:
            yield _unusable(item, "disabled", f"switched off by {ENVIRONMENT_VARIABLE}={setting}")
        else:
            yield item
    for name in wanted:
        if name not in names and name not in ("none", BUILTIN):
            reason = f"named by {ENVIRONMENT_VARIABLE}={setting}, but no installed package has it"
            yield Candidate(PluginRecord(name, "", "", "", "broken", reason))


def _unusable(item: Candidate, state: State, reason: str) -> Candidate:
    return replace(item, record=replace(item.record, state=state, reason=reason))

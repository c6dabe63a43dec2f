"""Records of plugins and of their contributions; and discovery of plugins.

They are found by their metadata alone: no module of any plugin is imported here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import distributions
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import polycmp
from polycmp.spec import (
    ENTRY_POINT_GROUP,
    CommandSpec,
    CompareFuncSpec,
    DataLoaderSpec,
    FormatSpec,
    LoaderSpec,
    ObserverSpec,
    PairingSpec,
    ReportSpec,
    RunnerSpec,
    ServiceSpec,
    ToleranceSpec,
)

BUILTIN = "polycmp"
"""The plugin name of what the kernel itself contributes."""

BUILTIN_PLUGINS: Mapping[str, str] = {
    BUILTIN: "polycmp.builtin.plugin",
    "accuracy": "polycmp.builtin.accuracy.plugin",
    "api": "polycmp.builtin.api.plugin",
    "data": "polycmp.builtin.data.plugin",
    "debug": "polycmp.builtin.debug.plugin",
    "formats": "polycmp.builtin.formats.plugin",
    "functions": "polycmp.builtin.functions.plugin",
    "judging": "polycmp.builtin.judging.plugin",
    "layerwise": "polycmp.builtin.layerwise.plugin",
    "observers": "polycmp.builtin.observers.plugin",
    "plugin_tools": "polycmp.builtin.plugin_tools.plugin",
    "workers": "polycmp.builtin.workers.plugin",
}
"""Light modules of the plugins that come with the core, by name. They are validated as those of strangers are."""

Spec: TypeAlias = (
    RunnerSpec
    | LoaderSpec
    | DataLoaderSpec
    | CompareFuncSpec
    | CommandSpec
    | ReportSpec
    | FormatSpec
    | ObserverSpec
    | ToleranceSpec
    | PairingSpec
    | ServiceSpec
)
Kind: TypeAlias = Literal[
    "runner",
    "loader",
    "data_loader",
    "compare_func",
    "command",
    "report",
    "format",
    "observer",
    "tolerance",
    "pairing",
    "service",
]
State: TypeAlias = Literal["ok", "broken", "excluded", "disabled"]

KINDS: Mapping[type, Kind] = {
    RunnerSpec: "runner",
    LoaderSpec: "loader",
    DataLoaderSpec: "data_loader",
    CompareFuncSpec: "compare_func",
    CommandSpec: "command",
    ReportSpec: "report",
    FormatSpec: "format",
    ObserverSpec: "observer",
    ToleranceSpec: "tolerance",
    PairingSpec: "pairing",
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
    "observer": "observer",
    "tolerance": "tolerance",
    "pairing": "pairing",
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
        kind: The kind of the descriptor: `"runner"`, `"loader"` and so on.
        name: The name that users type; the words of a command are joined by spaces, reports and formats are called
            after their suffix.
    """

    spec: SpecT_co
    plugin: str
    distribution: str
    version: str
    kind: Kind = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        kind = next(kind for descriptor, kind in KINDS.items() if isinstance(self.spec, descriptor))
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "name", _name_of(self.spec))

    @property
    def label(self) -> str:
        """For messages: `backend 'trt' of polycmp-trt`."""
        return f"{WORDS[self.kind]} {self.name!r} of {self.distribution or self.plugin}"


Contribution: TypeAlias = Contributed[Any]
"""One descriptor of any kind and who brought it."""


def _name_of(spec: Spec) -> str:
    if isinstance(spec, CommandSpec):
        return " ".join(spec.path)
    if isinstance(spec, FormatSpec) or (isinstance(spec, ReportSpec) and spec.suffix):
        return spec.suffix.removeprefix(".")
    return spec.name


@dataclass(frozen=True)
class PluginRecord:
    """One row of the table of plugins.

    Attributes:
        name: The entry-point name.
        distribution: The installed package; empty if there is none.
        version: Version of the distribution.
        module: The light module, as the entry point names it.
        state: `"ok"`, `"broken"`, `"excluded"` (its range of core versions leaves this one out) or `"disabled"` (by
            `POLYCMP_PLUGINS`).
        reason: The reason for a state other than `"ok"`; empty if it is `"ok"`.
        contributions: Contributions of the plugin; empty unless the state is `"ok"`.
        notes: Names withdrawn from a plugin that works: refused aliases, names that others claim too.
        withheld: Contributions of a broken plugin, as far as they were seen.
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
    def is_builtin(self) -> bool:
        """Whether the plugin comes with the core."""
        return BUILTIN_PLUGINS.get(self.name) == self.module

    @property
    def label(self) -> str:
        """For messages: `plugin 'trt' of polycmp-trt 0.1.0`."""
        of = f" of {self.distribution} {self.version}".rstrip() if self.distribution else ""
        return f"plugin {self.name!r}{of}"


@dataclass(frozen=True)
class Candidate:
    """An entry point and the metadata of its distribution.

    Attributes:
        record: The record so far; only a candidate whose state is `"ok"` may be imported.
        requirements: The distribution's `Requires-Dist` lines.
    """

    record: PluginRecord
    requirements: tuple[str, ...] = ()


def discover(environ: Mapping[str, str]) -> list[Candidate]:
    """Return the built-in candidates, then those installed, by name; the unusable ones carry their reason.

    Args:
        environ: Environment variables. `POLYCMP_PLUGINS=none` turns all plugins off, `POLYCMP_PLUGINS=a,b` all but
            those named; built-in plugins always stay.
    """
    candidates = sorted(_installed(), key=lambda item: (item.record.name, item.record.distribution))
    marked = [_check_metadata(item) for item in _mark_duplicates(candidates)]
    builtin = [
        Candidate(PluginRecord(name, "polycmp", polycmp.__version__, module))
        for name, module in BUILTIN_PLUGINS.items()
    ]
    return [*builtin, *_apply_environment(marked, environ.get(ENVIRONMENT_VARIABLE, ""))]


def _installed() -> Iterator[Candidate]:
    """Yield the entry points of installed packages; the first of several copies on the path hides the others."""
    seen: set[str] = set()
    for distribution in distributions():
        try:
            entry_points = distribution.entry_points.select(group=ENTRY_POINT_GROUP)
            if not entry_points:
                continue
            metadata = distribution.metadata  # parsed anew at each access
            name, version = metadata["Name"], metadata["Version"]
            requirements = tuple(metadata.get_all("Requires-Dist") or ())
        except Exception:  # noqa: BLE001  (metadata damaged beyond reading belongs to no plugin we could name)
            continue
        if name and (key := _normalized(name)) not in seen:
            seen.add(key)
            for item in entry_points:
                yield Candidate(PluginRecord(item.name, name, version or "", item.value), requirements)


def _normalized(name: str) -> str:
    """Return the form in which two spellings of a package's name are equal (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


#: How plugins usually spell the range that includes this version. Knowing it saves every start of the program the
#: import of `packaging`, a fifth of the time that a help text may take; a test holds it against `packaging`.
USUAL_RANGES = frozenset({">=0.1.0.dev0,<0.2", "<0.2,>=0.1.0.dev0"})


def _mark_duplicates(candidates: list[Candidate]) -> Iterator[Candidate]:
    by_name: dict[str, list[str]] = {}
    for item in candidates:
        by_name.setdefault(item.record.name, []).append(item.record.distribution)
    for item in candidates:
        claimants = by_name[item.record.name]
        if item.record.name in BUILTIN_PLUGINS:
            yield _unusable(item, "broken", f"the name {item.record.name!r} belongs to polycmp itself")
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
    """Return the name and the range of versions of a requirement, without its extras and its marker."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?([^;]*)", line)
    return (_normalized(match[1]), match[2].replace(" ", "")) if match else ("", "")


def _out_of_range(line: str) -> str:
    """Explain why a requirement on polycmp excludes this version; empty if it does not."""
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
        if name not in names and name != "none" and name not in BUILTIN_PLUGINS:
            reason = f"named by {ENVIRONMENT_VARIABLE}={setting}, but no installed package has it"
            yield Candidate(PluginRecord(name, "", "", "", "broken", reason))


def _unusable(item: Candidate, state: State, reason: str) -> Candidate:
    return replace(item, record=replace(item.record, state=state, reason=reason))

"""Suggestions for what is not installed: the only place where the core names what others contribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from polycmp._toml import parse_toml
from polycmp.errors import PluginError, PolycmpError, UsageError, did_you_mean
from polycmp.plugins.discovery import WORDS, Contribution, Kind, PluginRecord

FOLDER_SUFFIX = ".npz"
"""What the files are of which a folder of inputs or outputs is made, one for each iteration."""


class KnownNames(NamedTuple):
    """The tables of `known.toml`, by what is asked for.

    Attributes:
        brought: By kind and name: the plugin that brings it, and the command that installs that.
        backends: The command that installs a backend.
        names: The backend for each name that other tools give it.
        kinds, suffixes, folder_marks: The backend whose package knows a kind of model, a suffix of files, or a folder
            by the name of a file in it.
        options: By option of `run` whose name has no plugin's prefix: the command that installs its package.
    """

    brought: Mapping[str, Mapping[str, tuple[str, str]]]
    backends: Mapping[str, str]
    names: Mapping[str, str]
    kinds: Mapping[str, str]
    suffixes: Mapping[str, str]
    folder_marks: Mapping[str, str]
    options: Mapping[str, str]


@lru_cache
def known_names() -> KnownNames:
    """Return the tables of known names; the first call reads them."""
    content = parse_toml(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    packages, backends = content["install"], content["backend"]

    def install(name: str, plugin: str = "") -> str:
        return f"pip install {packages.get(name, packages.get(plugin, f'polycmp-{plugin or name}'))}"

    brought: dict[str, dict[str, tuple[str, str]]] = {kind: {} for kind in WORDS}
    for plugin, kinds in content["brought"].items():
        for kind, names in kinds.items():
            brought[kind].update({name: (plugin, install(name, plugin)) for name in names})

    def of_backends(key: str) -> Mapping[str, str]:
        return _turned({name: entry.get(key, ()) for name, entry in backends.items()})

    return KnownNames(
        brought,
        {name: install(name) for name in backends},
        of_backends("names"),
        of_backends("kinds"),
        of_backends("suffixes"),
        of_backends("folder_marks"),
        {flag: f"pip install {package}" for flag, package in _turned(content["options"]).items()},
    )


def _turned(table: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the key for each of the values."""
    return {value: key for key, values in table.items() for value in values}


def explain_suffix(suffix: str) -> str:
    """Return the command that installs the package for such files; empty if none is known."""
    return known_names().backends.get(known_names().suffixes.get(suffix, ""), "")


def explain_model(path: Path) -> str:
    """Return the command that installs what reads a file or folder of a model; empty if none is known."""
    marks = known_names().folder_marks
    inside = (known_names().backends.get(marks[name], "") for name in marks if (path / name).is_file())
    return explain_suffix(path.suffix.lower()) or next(inside, "")


def explain_kind(kind: str) -> str:
    """Return the command that installs the package for a kind of model; empty if none is known."""
    return known_names().backends.get(known_names().kinds.get(kind, ""), "")


def not_found(
    kind: Kind,
    name: str,
    table: Mapping[str, Contribution],
    records: Iterable[PluginRecord],
    called: Mapping[str, str],
) -> PolycmpError:
    """Return the error for an unknown name, with what to do about it.

    Args:
        kind: Kind of contribution that was asked for.
        name: The name that was asked for.
        table: Everything of this kind that there is, by name.
        records: The plugins.
        called: Names of contributions by other names that people try.
    """
    if kind == "report":
        return _no_report(name, table)
    if kind == "format":
        return _no_format(name, table)
    what = f"there is no {WORDS[kind]} {name!r}"
    if kind == "command":
        return _no_command(name, table)
    brought = next((r for r in records if r.state == "ok" and r.name == name and not r.is_builtin), None)
    if brought is not None:
        offers = ", ".join(f"{WORDS[item.kind]} {item.name!r}" for item in brought.contributions) or "nothing"
        return PluginError(what, why=f"{brought.label} is installed, but offers {offers}", hint="polycmp plugins list")
    usual = called.get(name, known_names().names.get(name, name))
    if kind == "runner" and usual in table:
        return PluginError(what, why=f"it is called {usual!r} here", hint=f"-b {usual}")
    brought_by = known_names().brought.get(kind, {}).get(name, ("", ""))
    install = known_names().backends.get(usual, "") if kind == "runner" else brought_by[1]
    if install:
        return PluginError(what, why="the package that brings it is not installed", hint=install)
    # Backends come and go with packages; any other unknown name is a typing mistake.
    kind_of_error = PluginError if kind == "runner" else UsageError
    return kind_of_error(what, why=did_you_mean(name, table), hint="polycmp plugins list")


def _no_command(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    what, brought = f"there is no command {name!r}", known_names().brought["command"]
    if name in brought:
        return PluginError(what, why="the package that brings it is not installed", hint=brought[name][1])
    group = name.rpartition(" ")[0]
    return UsageError(what, why=did_you_mean(name, table), hint=" ".join(filter(None, ["polycmp", group, "--help"])))


def _no_report(name: str, table: Mapping[str, Contribution]) -> PolycmpError:
    what, brought = (
        f"no report is written as {'.' + name if name else 'a file without suffix'}",
        known_names().brought["report"],
    )
    if name in brought:
        return PluginError(what, why="the package that writes it is not installed", hint=brought[name][1])
    suffixes = [f".{key}" for key in (*(key for key, item in table.items() if item.spec.suffix), *brought)]
    return UsageError(what, why=did_you_mean(f".{name}", suffixes), hint="polycmp plugins list")


def _no_format(name: str, table: Mapping[str, Contribution]) -> UsageError:
    suffixes = ", ".join(f".{key}" for key in table)
    _, hint = known_names().brought["format"].get(name, ("", ""))
    what = f"unknown type of file {'.' + name!r}; known are {suffixes}, and a folder without a suffix"
    return UsageError(what, hint=hint)


def next_step(record: PluginRecord) -> str:
    """Return the command that helps with a plugin that does not work."""
    if record.state == "excluded":
        return f"pip install --upgrade polycmp {record.distribution}"
    if record.state == "disabled":
        return f"unset POLYCMP_PLUGINS, or add {record.name} to it"
    if not record.distribution:
        return "polycmp plugins list"
    if record.reason.startswith("duplicate name"):
        return f"pip uninstall {record.distribution}"
    return f"polycmp plugins check {record.name}"

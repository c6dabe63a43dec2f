"""What a call may ask for: an agent acts on texts that others wrote.

A call is checked in the process that carries it out, after its words were read there, so that what is checked is what
runs. It passes with options that by their declaration execute, install and write nothing. Files may be written below
the folders that the server was started with, else below the call's own folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import GivenOption, code_named, given_options
from polycmp.errors import UsageError
from polycmp.files import located
from polycmp.plan import plan_backends

if TYPE_CHECKING:
    from polycmp.command import Invocation

#: Arguments and options of commands themselves that name models and files to read, or how much is said.
_READ = frozenset({"model", "reference_model", "files", "backend", "verbose", "quiet"})
_WRITTEN = "output"


@dataclass(frozen=True)
class Trust:
    """Rules for a call.

    Attributes:
        scripts: Whether code may be named, and packages to install.
        folders: Folders below which files may be written; none for the call's own.
        home: Folder of the server; what is hidden below it, or outside of it, is not written.
        own: Files that the server itself has a command write.
        left: Files that earlier calls wrote and nobody changed since: each with its time and size.
    """

    scripts: bool = False
    folders: tuple[str, ...] = ()
    home: str = ""
    own: tuple[str, ...] = ()
    left: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def check(self, call: Invocation) -> tuple[str, ...]:
        """Refuse a call that names code to run, or a file to write where it may not; return the paths it writes.

        Raises:
            UsageError: It does, or a value cannot be that of its option.
        """
        asked = call.options
        backends = plan_backends(asked.backends, asked.of_kind("runner"), call.registry, asked.wins, asked.whose)
        options = list(given_options(asked.values, call.table, backends))
        models = [asked.model, *(item.model for item in backends), *call.params.get("files", ())]
        code = [*_commands(call.own_params), *code_named(options, filter(None, models), backends, call.registry)]
        if code and not self.scripts:
            name, text = code[0]
            raise UsageError(
                f"{name} names code to run: {text}",
                why="this server lets nobody name scripts, libraries, packages, interpreters, run files or commands",
                hint="start it with polycmp mcp --allow-scripts, or run the command in a terminal",
            )
        written = [(option.name, path) for option in options for path in _written(option)]
        written += [("-o", path) for path in [call.params.get(_WRITTEN)] if path]
        return tuple(str(self._allowed(name, path)) for name, path in written if path not in self.own)

    def _allowed(self, option: str, path: str) -> Path:
        """Return where a path leads.

        Raises:
            UsageError: Nothing may be written there.
        """
        target = located(path).resolve()
        folders = [Path(folder).resolve() for folder in self.folders or (os.curdir,)]
        if not any(target.is_relative_to(folder) for folder in folders):
            raise UsageError(
                f"{option} writes outside of the folders that calls may write to: {path}",
                why=f"those are {', '.join(map(str, folders))}",
                hint="give a path below one, or start the server with polycmp mcp --allow-writes FOLDER",
            )
        if not self.folders and _is_hidden(target, Path(self.home).resolve()):
            raise UsageError(
                f"{option} writes to a hidden place: {path}",
                why="programs read their settings from such files",
                hint="give another path, or start the server with polycmp mcp --allow-writes FOLDER",
            )
        for file in _files_in(target):
            if self.left.get(str(file)) != stamp(file):
                raise UsageError(
                    f"{option} would write over what is there: {path}",
                    why=f"{file} was not written by an earlier call of this server, or was changed since",
                    hint="give a path where nothing is",
                )
        return target


def _commands(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a command takes of its own that is none of the known arguments: commands to run."""
    for name, value in params.items():
        if name not in {*_READ, _WRITTEN} and value:
            words = value if isinstance(value, (tuple, list)) else [value]
            yield name, " ".join(map(str, words))


def _written(option: GivenOption) -> Iterable[str]:
    """Return the paths that an option has a command write.

    Raises:
        UsageError: It names no path, so that nobody knows where it leads.
    """
    if option.field.writes and not option.field.is_path and option.value is not None:
        raise UsageError(f"{option.name} writes a file that it does not name with its path", hint="leave it out")
    return option.written


def _is_hidden(target: Path, home: Path) -> bool:
    parts = target.relative_to(home).parts if target.is_relative_to(home) else target.parts
    return any(part.startswith(".") for part in parts)


def _files_in(target: Path) -> Iterator[Path]:
    """Yield what lies at a path: a file, or all files of a folder."""
    if target.is_dir():
        yield from (item for item in target.rglob("*") if not item.is_dir() or item.is_symlink())
    elif target.exists() or target.is_symlink():
        yield target


def stamp(file: Path) -> tuple[int, int] | None:
    """Return time and size of a file; None if it cannot be looked at."""
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def stamps(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return time and size of the files that lie at these paths, those in folders included."""
    files = (file for path in paths for file in _files_in(Path(path)))
    return {str(file): value for file in files if (value := stamp(file)) is not None}

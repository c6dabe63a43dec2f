"""Shared parts of this package's commands: their options, and reading files in any format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, examples, verbosity_params

if TYPE_CHECKING:
    from polycmp.plugins import Registry
    from polycmp.results.files import SavedInputs, SavedRun


def data_command(
    name: str, run: Any, text: str, options: Sequence[type] = (), params: Iterable[Any] = (), shown: Sequence[str] = ()
) -> BackendCommand:
    """Return a command over files of inputs and outputs, with the options of logging.

    Args:
        name: Last word of the command.
        run: Does the work, as `BackendCommand` says.
        text: Help text of the command.
        options: Options dataclasses of the command's own.
        params: Click's own parameters.
        shown: Command lines that show how it is used.
    """
    return BackendCommand(
        name,
        run,
        options=(*options, "log"),
        plugins=(),
        params=[*params, *verbosity_params()],
        help=text + examples(*shown),
    )


def output_option(text: str) -> click.Parameter:
    """Return the option for the file or folder to write."""
    return click.Option(["-o", "--output"], required=True, metavar="PATH", help=text)


def open_saved(path: str, registry: Registry) -> SavedInputs | list[SavedRun]:
    """Open saved inputs, or saved outputs, whichever a file or folder holds.

    Args:
        path: The file or folder.
        registry: The plugins, which bring formats.

    Raises:
        FileError: It is missing, damaged, or neither.
    """
    from polycmp.errors import FileError
    from polycmp.results.files import open_inputs, open_runs

    try:
        return open_inputs([path], registry)
    except FileError as no_inputs:
        try:
            return open_runs(path, registry)
        except FileError:
            raise no_inputs from None


def refuse_own_folder(output: str, inputs: Iterable[str]) -> None:
    """Refuse to write into a folder that is being read; a file that is read may be replaced.

    Raises:
        UsageError: The folder to write is one of those that are read.
    """
    from polycmp.errors import UsageError

    for path in inputs:
        if Path(path).is_dir() and Path(path).resolve() == Path(output).resolve():
            raise UsageError(f"-o would overwrite the folder that is read: {path}", hint="name another one")

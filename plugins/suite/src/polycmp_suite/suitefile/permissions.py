"""Permissions of a suite file: the code that its cases may name, and the places where they may write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from polycmp.command import GivenOption
from polycmp.errors import UsageError


@dataclass(frozen=True)
class Permissions:
    """Permissions of the cases of a suite file.

    Attributes:
        scripts: Whether a case may name code: scripts, libraries of operators, other interpreters.
        writes: Whether a case may write outside of the suite's folder.
    """

    scripts: bool = True
    writes: bool = False


def refuse_code(key: str, text: str) -> NoReturn:
    """Refuse code of a case besides polycmp and its installed plugins.

    Args:
        key: The key that names it.
        text: The script, library, package or interpreter.

    Raises:
        UsageError: Always.
    """
    raise UsageError(
        f"{key} names code to run: {text}",
        why="--no-scripts allows none in a suite file",
        hint="leave --no-scripts out if you trust this file as you trust a program",
    )


def refuse_writing_outside(folder: Path, options: Iterable[GivenOption]) -> None:
    """Refuse files and folders to be written that do not lie below the suite's folder, links followed.

    Args:
        folder: The suite's folder.
        options: The options that the case gives.

    Raises:
        UsageError: There is one.
    """
    base = folder.resolve()
    for option in options:
        for path in option.written:
            if not (base / path).resolve().is_relative_to(base):
                raise UsageError(
                    f"{option.name} writes outside of the suite's folder: {path}",
                    why="cases write below the folder of their suite file",
                    hint="give a path below it, or add --allow-writes if you trust this file",
                )

"""Rules for suite files: the code that one may name, and the places where its cases may write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polycmp.errors import UsageError
from polycmp.options import OptionField, changed_options, find_field

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan


@dataclass(frozen=True)
class Rules:
    """Permissions of the cases of a suite file.

    Attributes:
        scripts: Whether a case may name code: scripts, libraries of operators, other interpreters.
        writes: Whether a case may write outside of the suite's folder.
    """

    scripts: bool = True
    writes: bool = False


class Given(NamedTuple):
    """An option that a case gives.

    Attributes:
        key: The option as the suite file names it.
        field: Declaration of the option.
        value: Value of the option.
    """

    key: str
    field: OptionField
    value: Any

    @property
    def texts(self) -> list[str]:
        """The texts that the value consists of."""
        return [text for texts in self.field.texts(self.value) for text in texts]

    @property
    def is_code(self) -> bool:
        """Whether the value names code that the case would run."""
        return self.field.executes and (self.field.is_path or any(_is_script(text) for text in self.texts))


def given_options(values: Mapping[Any, Any], table: Any, backends: Iterable[BackendPlan]) -> Iterator[Given]:
    """Yield the options of a case: those of its command, and those that differ from the defaults in its backends.

    Args:
        values: Values of the command's options, by key.
        table: The command's options.
        backends: The case's backends; the options of one in another environment are not known here.
    """
    for key, value in values.items():
        target = table.targets[key]
        yield Given(target.flags[0].removeprefix("--"), target.field, value)
    for backend in backends:
        for name, value in changed_options(backend.options).items():
            field = find_field(type(backend.options), name)
            if field is not None:
                yield Given(f"-b {backend.label}: {name}", field, value)


def refuse_code(options: Iterable[Given], models: Iterable[str], backends: Iterable[BackendPlan]) -> None:
    """Refuse what a case would run besides polycmp and its installed plugins.

    Args:
        options: The options that the case gives.
        models: The models that it names.
        backends: Backends of the case.

    Raises:
        UsageError: It names a script, a library or an interpreter.
    """
    named = [(option.key, " ".join(option.texts)) for option in options if option.is_code]
    named += [("model", model) for model in models if _is_script(model)]
    named += [(f"-b {item.label}: python", item.python) for item in backends if item.python]
    # What a package of any name installs may run code; the runtime that a plugin names is trusted as the plugin is.
    named += [(f"-b {item.label}: version", item.version) for item in backends if "," in item.version]
    if named:
        key, text = named[0]
        raise UsageError(
            f"{key} names code to run: {text}",
            why="--no-scripts allows none in a suite file",
            hint="leave --no-scripts out if you trust this file as you trust a program",
        )


def refuse_writing_outside(folder: Path, options: Iterable[Given]) -> None:
    """Refuse files and folders to be written that do not lie below the suite's folder, links followed.

    Args:
        folder: The suite's folder.
        options: The options that the case gives.

    Raises:
        UsageError: There is one.
    """
    base = folder.resolve()
    for option in options:
        for path in written_by(option):
            if not (base / path).resolve().is_relative_to(base):
                raise UsageError(
                    f"{option.key} writes outside of the suite's folder: {path}",
                    why="cases write below the folder of their suite file",
                    hint="give a path below it, or add --allow-writes if you trust this file",
                )


def written_by(option: Given) -> Iterator[str]:
    """Yield the paths that an option has a command write; caches are read and written."""
    if option.field.writes or (option.field.is_path and "cache" in option.field.name):
        yield from (text for text in option.texts if text and text != "-")


def _is_script(text: str) -> bool:
    """Return whether a text names a Python file, or something in one."""
    return text.endswith(".py") or ".py:" in text

"""What options name: code to run, packages to install, files to write; for commands and cases that others wrote.

An option says so in its declaration (`opt(executes=…, installs=…, writes=…)`), a backend's as one of the core. Whoever
lets others choose options, a suite's file or a caller of `polycmp mcp`, passes on what names none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from packaging.utils import canonicalize_name

from polycmp.options import FlagTable, OptionField, changed_options, find_field, names_script
from polycmp.plugins import packages_of_modules

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan
    from polycmp.plugins import Registry

_PYTHON = "python"
#: A release or a series of them, and nothing that an installer could take for more.
_RELEASE = re.compile(r"[\w.!+]+")


class GivenOption(NamedTuple):
    """An option that was given.

    Attributes:
        name: The option as people write it.
        field: Declaration of the option.
        value: Value of the option.
    """

    name: str
    field: OptionField
    value: Any

    @property
    def written(self) -> list[str]:
        """The paths of the files and folders that the option has a command write."""
        texts = self.field.plain_texts(self.value) if self.field.writes and self.value is not None else ()
        return [text for text in texts if text not in ("", "-")]


def given_options(
    values: Mapping[Any, Any], table: FlagTable, backends: Iterable[BackendPlan]
) -> Iterator[GivenOption]:
    """Yield the options of a command that were given, and those of its backends that differ from the defaults.

    Args:
        values: Values of the command's options, by key.
        table: The command's options.
        backends: The backends; the options of one in another environment are not known here.
    """
    for key, value in values.items():
        target = table.targets[key]
        yield GivenOption(target.flags[0].removeprefix("--"), target.field, value)
    for backend in backends:
        for name, value in changed_options(backend.options).items():
            field = find_field(type(backend.options), name)
            if field is not None:
                yield GivenOption(f"-b {backend.label}: {name}", field, value)


def code_named(
    options: Iterable[GivenOption], models: Iterable[str], backends: Iterable[BackendPlan], registry: Registry
) -> Iterator[tuple[str, str]]:
    """Yield what would run, besides polycmp and its installed plugins: the name of an option, and what it names.

    Packages are code, too, except the runtimes of installed backends: those are trusted as their plugins are.
    """
    for option in options:
        yield from ((option.name, text) for text in option.field.code_in(option.value))
        named = option.field.packages_in(option.value)
        yield from ((option.name, text) for text in named if not _is_runtime(text, registry))
    yield from (("model", model) for model in models if names_script(model))
    for backend in backends:
        if backend.python:
            yield f"-b {backend.label}: python", backend.python
        if backend.version and not all(_is_release(part, registry) for part in backend.version.strip("[] ").split(",")):
            yield f"-b {backend.label}: version", backend.version
        # What another environment knows alone says here neither what it runs nor what it writes.
        yield from ((f"-b {backend.label}: {name}", text) for name, text in backend.texts.items())


def _is_release(text: str, registry: Registry) -> bool:
    """Return whether a part of `version=` is a release alone, of Python, or of a runtime."""
    name, equals, release = text.strip().rpartition("==")
    if not _RELEASE.fullmatch(release):
        return False
    return not equals or name == _PYTHON or _is_runtime(name, registry)


def _is_runtime(text: str, registry: Registry) -> bool:
    """Return whether an installed backend needs a package, perhaps named with its release."""
    name, equals, release = text.partition("==")
    if equals and not _RELEASE.fullmatch(release):
        return False
    return canonicalize_name(name) in _runtimes(registry)


def _runtimes(registry: Registry) -> set[str]:
    """Return the packages that installed backends need."""
    needed = (module for item in registry.runners.values() for each in item.spec.needs for module in each.split("|"))
    tops = {module.partition(".")[0] for module in needed}
    packages = packages_of_modules(tops)
    return {canonicalize_name(name) for top in tops for name in packages.get(top, [top])}

"""From settings to a case: every option is checked as its command would check it, and becomes words."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand
from polycmp.errors import UsageError
from polycmp.plan.backends import plan_backends, spec_texts
from polycmp.plan.build import settings_of
from polycmp.plan.text import read_values
from polycmp_suite.suitefile.case import Case
from polycmp_suite.suitefile.keys import FORBIDDEN, OWN
from polycmp_suite.suitefile.spread import Settings

if TYPE_CHECKING:
    from polycmp.plan import BackendPlan
    from polycmp.plugins import Registry


class Translator:
    """Makes cases of settings.

    Args:
        registry: The plugins.
        folder: Where paths begin.
    """

    def __init__(self, registry: Registry, folder: Path) -> None:
        self._registry, self._folder = registry, folder
        self._commands: dict[str, tuple[BackendCommand, Any]] = {}

    def case(self, settings: Settings, line: int) -> Case:
        """Return the case.

        Raises:
            UsageError: A key is no option of the command, or a value cannot be one.
            PluginError: Something that is named is not installed.
        """
        own = {key: spec.read(settings.own[key]) if key in settings.own else spec.default for key, spec in OWN.items()}
        command, table = self._command(own["command"])
        options = {**settings.options, **own["options"]}
        if settings.model:
            options["model"] = settings.model
        for key in options:
            if key in FORBIDDEN:
                raise UsageError(f"{key!r} has no place in a case", why=FORBIDDEN[key])
        asked = read_values(options, table)
        if not asked.backends:
            raise UsageError(
                "no backend given", why='a case needs backend = ["onnxrt", "onnx"], or takes it from [defaults]'
            )
        values = settings_of(asked.values, command.sections)
        backends = plan_backends(asked.backends, values.of_kind("runner"), self._registry)
        if not asked.model and not all(item.model for item in backends):
            raise UsageError("no model given", why='model = "model.onnx", or a pattern: model = "models/*.onnx"')
        words = [*own["command"].split(), *([asked.model] if asked.model else [])]
        words += [word for spec in spec_texts(backends) for word in ("-b", spec)]
        for key, value in asked.values.items():
            words += _words(table.targets[key], value)
        needs = own["needs"]
        return Case(
            id=settings.id,
            command=own["command"],
            words=tuple(words),
            model=asked.model,
            backends=tuple(item.label for item in backends),
            axes=settings.axes,
            tags=own["tags"],
            needs=needs,
            files=tuple(dict.fromkeys(self._files(asked, table, backends, own["files"]))),
            timeout=own["timeout"],
            retries=own["retries"],
            memory=own["memory"],
            gpus=own["gpus"] or int("cuda" in needs),
            resources=own["resources"],
            expected=own["expected-failure"],
            line=line,
        )

    def _command(self, name: str) -> tuple[BackendCommand, Any]:
        if name not in self._commands:
            found = self._registry.find_command(name)
            command = self._registry.load(found, found.spec.target)
            if not isinstance(command, BackendCommand):
                raise UsageError(f"the command {name!r} takes no backends", why="run, locate and invariants do")
            self._commands[name] = command, command.table_of(self._registry)
        return self._commands[name]

    def _files(
        self, asked: Any, table: Any, backends: tuple[BackendPlan, ...], further: tuple[str, ...]
    ) -> Iterator[str]:
        """Yield the files that a case reads, as far as its options say so, and those that it names itself."""
        named = [asked.model, *(item.model for item in backends)]
        for key, value in asked.values.items():
            field = table.targets[key].field
            if field.is_path and not field.writes:
                named += [text for texts in field.texts(value) for text in texts]
        for text in filter(None, named):
            path = text if (self._folder / text).exists() else text.rpartition(":")[0]
            if path and (self._folder / path).exists():
                yield path
                yield from (f"{path}{end}" for end in (".data", "_data") if (self._folder / f"{path}{end}").exists())
        for pattern in further:
            matches = sorted(glob.glob(pattern, root_dir=self._folder, recursive=True))  # noqa: PTH207 - patterns may be absolute
            if not matches:
                raise UsageError(f"no file fits files = {pattern!r}")
            yield from matches


def _words(target: Any, value: Any) -> list[str]:
    """Return the words that give an option a value."""
    flag, option = target.flags[0], target.field
    if option.kind == "flag":
        return [flag if value else target.negative]
    if option.bare is not None and option.convert([[option.bare]]) == value:
        return [flag]
    return [word for texts in option.texts(value) for word in (flag, *texts)]


def settings_and_options(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the suite's own keys of a table, and the options of its command."""
    return {key: values[key] for key in values if key in OWN}, {key: values[key] for key in values if key not in OWN}

"""Cases of the settings in a suite file: their command lines, files, requirements and limits."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.command import BackendCommand, code_named, given_options
from polycmp.errors import PolycmpError, UsageError
from polycmp.model import Model
from polycmp.options import read_plain, words_of
from polycmp.plan import plan_backends, spec_texts
from polycmp_suite.suitefile.case import Case
from polycmp_suite.suitefile.keys import FORBIDDEN, SUITE_KEYS
from polycmp_suite.suitefile.permissions import Permissions, refuse_code, refuse_writing_outside
from polycmp_suite.suitefile.spread import CaseSettings
from polycmp_suite.suitefile.versions import Versions

if TYPE_CHECKING:
    from polycmp.options import FlagTable, Key, OptionValues
    from polycmp.plan import BackendPlan
    from polycmp.plugins import Registry

#: The command that looks for the first wrong tensor, and the number of backends that it compares.
_LOCATE = "locate"
#: The command that compares saved outputs, the option that saves them, and options of two backends, which have no
#: meaning where one is compared with itself.
_COMPARE, _SAVED, _OF_TWO = "compare", "save-outputs", frozenset({"reference", "map_output"})
_SIDES = 2


class Translator:
    """Makes cases of settings.

    Args:
        registry: The plugins.
        folder: Folder that paths are relative to.
        permissions: Permissions of the cases.
    """

    def __init__(self, registry: Registry, folder: Path, permissions: Permissions) -> None:
        self._registry, self._folder, self._permissions = registry, folder, permissions
        self._versions = Versions(registry)
        self._references: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, FlagTable] = {}

    def case(self, settings: CaseSettings, line: int) -> Case:
        """Return the case.

        Raises:
            UsageError: A key is no option of the command, a value cannot be one, or the permissions do not allow it.
            PluginError: Something that is named is not installed.
        """
        suite_values = {
            key: spec.read(settings.suite_values[key]) if key in settings.suite_values else spec.default
            for key, spec in SUITE_KEYS.items()
        }
        table = self._table(suite_values["command"])
        options = {**settings.options, **suite_values["options"]}
        if settings.model:
            options["model"] = settings.model
        for key in options:
            if key in FORBIDDEN:
                raise UsageError(f"{key!r} is not allowed in a case", why=FORBIDDEN[key])
        option_values = read_plain(options, table)
        if not option_values.backends:
            raise UsageError(
                "no backend given", why='a case needs backend = ["onnxrt", "onnx"], or takes it from [defaults]'
            )
        backends = plan_backends(option_values.backends, option_values.of_kind("runner"), self._registry)
        if not option_values.model and not all(item.model for item in backends):
            raise UsageError("no model given", why='model = "model.onnx", or a pattern: model = "models/*.onnx"')
        if settings.release:
            backends = (self._with_release(backends[0], settings.release), *backends[1:])
        case_options = list(given_options(option_values.values, table, backends))
        models = [model for model in (option_values.model, *(item.model for item in backends)) if model]
        code = next(iter(code_named(case_options, models, backends, self._registry)), None)
        if code and not self._permissions.scripts:
            refuse_code(*code)
        if not self._permissions.writes:
            refuse_writing_outside(self._folder, case_options)
        words = [*suite_values["command"].split(), *([option_values.model] if option_values.model else [])]
        words += [word for spec in spec_texts(backends) for word in ("-b", spec)]
        words += words_of(option_values.values, table)
        needs = suite_values["needs"]
        searched = (
            suite_values["locate"]
            and suite_values["command"] == SUITE_KEYS["command"].default
            and len(backends) == _SIDES
        )
        saves_outputs = any(option.name == _SAVED and option.written for option in case_options)
        return Case(
            id=settings.id,
            command=suite_values["command"],
            words=tuple(words),
            model=option_values.model,
            backends=tuple(item.label for item in backends),
            axes=settings.axes,
            tags=suite_values["tags"],
            needs=needs,
            files=tuple(dict.fromkeys(self._files(option_values, table, backends, suite_values["files"]))),
            written=tuple(dict.fromkeys(path for option in case_options for path in option.written)),
            series=settings.series,
            environments=tuple(dict.fromkeys((item.backend, item.version) for item in backends if item.version)),
            versions=tuple(dict.fromkeys(line for item in backends for line in self._versions.of(item))),
            timeout=suite_values["timeout"],
            locate=suite_values["locate"] if searched else 0.0,
            locating=tuple(self._locating(option_values, backends)) if searched else (),
            has_baseline=suite_values["command"] == SUITE_KEYS["command"].default and not saves_outputs,
            comparing=tuple(self._comparing(option_values)),
            retries=suite_values["retries"],
            memory=suite_values["memory"],
            gpus=suite_values["gpus"] or int("cuda" in needs),
            resources=suite_values["resources"],
            expected=suite_values["expected-failure"],
            names_code=code is not None,
            line=line,
        )

    def _with_release(self, backend: BackendPlan, release: str) -> BackendPlan:
        """Return a backend with a release of its runtime, called after it.

        Raises:
            UsageError: It has an environment already.
            PluginError: Nothing here makes environments.
        """
        self._registry.find_service("environments")
        if backend.elsewhere:
            raise UsageError(
                "'releases' are those of the first backend, which has an environment of its own",
                whose=f"-b {backend.label}",
                hint="leave python= or version= out",
            )
        is_bare = spec_texts([backend]) == [backend.label]
        versioned = replace(backend, version=release)
        bare = f"{backend.label}{',' if ':' in backend.label else ':'}version={release}"
        return replace(versioned, label=bare if is_bare else f"{backend.label} {release}")

    def _locating(self, option_values: OptionValues, backends: tuple[BackendPlan, ...]) -> Iterator[str]:
        """Yield the command of the search for the first wrong tensor, with the case's options that apply to it."""
        table = self._table(_LOCATE)
        yield from (_LOCATE, *([option_values.model] if option_values.model else []))
        yield from (word for spec in spec_texts(backends) for word in ("-b", spec))
        yield from words_of(dict(_applicable(option_values, table)), table)

    def _comparing(self, option_values: OptionValues) -> Iterator[str]:
        """Yield the options of comparing a case's outputs with those of its last pass."""
        table = self._table(_COMPARE)
        applicable = _applicable(option_values, table)
        yield from words_of({key: value for key, value in applicable if key.field not in _OF_TWO}, table)

    def _table(self, name: str) -> FlagTable:
        if name not in self._tables:
            contribution = self._registry.find_command(name)
            command = self._registry.load(contribution, contribution.spec.target)
            if not isinstance(command, BackendCommand):
                raise UsageError(f"the command {name!r} takes no backends", why="run, locate and invariants do")
            self._tables[name] = command.table_of(self._registry)
        return self._tables[name]

    def _files(
        self, option_values: OptionValues, table: FlagTable, backends: tuple[BackendPlan, ...], further: tuple[str, ...]
    ) -> Iterator[str]:
        """Yield the files that a case reads, existing or not, by its options and by its key `files`."""
        named = [option_values.model, *(item.model for item in backends)]
        for key, value in option_values.values.items():
            field = table.targets[key].field
            if field.is_path and (not field.writes or field.is_cache):
                named += [text for texts in field.texts(value) for text in texts]
        for text in filter(None, named):
            path = text if (self._folder / text).exists() else text.rpartition(":")[0]
            if path and (self._folder / path).exists():
                yield from self._with_contents(path)
            else:
                yield text  # another case may write it
        for pattern in further:
            matches = sorted(glob.glob(pattern, root_dir=self._folder, recursive=True))  # noqa: PTH207 - patterns may be absolute
            if not matches:
                raise UsageError(f"no file matches files = {pattern!r}")
            yield from matches

    def _with_contents(self, path: str) -> Iterator[str]:
        """Yield a path, the files in it if it is a folder, and the files that it refers to if it is a model."""
        yield path
        place = self._folder / path
        if place.is_dir():
            inside = (item for item in place.rglob("*") if item.is_file())
            yield from sorted(str(Path(path) / item.relative_to(place)) for item in inside)
            return
        if path not in self._references:
            self._references[path] = ()
            with suppress(PolycmpError):  # no model, or one that cannot be read: its command says so
                self._references[path] = Model(str(place), self._registry).files()
        yield from (os.path.relpath(item, self._folder) for item in self._references[path] if Path(item).exists())


def _applicable(option_values: OptionValues, table: FlagTable) -> Iterator[tuple[Key, Any]]:
    """Yield the options of a case that another command has, too, but for files that both would write."""
    for key, value in option_values.values.items():
        target = table.targets.get(key)
        if target is not None and (not target.field.writes or target.field.is_cache):
            yield key, value


def settings_and_options(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the suite's own keys of a table, and the options of its command."""
    suite_values = {key: values[key] for key in values if key in SUITE_KEYS}
    return suite_values, {key: values[key] for key in values if key not in SUITE_KEYS}

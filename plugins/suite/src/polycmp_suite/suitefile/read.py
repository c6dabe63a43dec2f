"""Reader of suite files: all mistakes are reported, each with its line, before anything starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError, PolycmpError, UsageError, describe_exception, did_you_mean
from polycmp.options import parse_toml
from polycmp_suite.suitefile.case import Case, Suite
from polycmp_suite.suitefile.keys import SUITE_KEYS, text
from polycmp_suite.suitefile.lines import Lines, Place, find_lines
from polycmp_suite.suitefile.mistakes import Mistakes
from polycmp_suite.suitefile.permissions import Permissions
from polycmp_suite.suitefile.spread import CaseSettings, canonical, spread
from polycmp_suite.suitefile.translate import Translator, settings_and_options

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_TOP_KEYS = ("name", "defaults", "case")
_SEPARATE = "give each case a file of its own"


def read_suite(path: str, registry: Registry, permissions: Permissions | None = None) -> Suite:
    """Return the suite of a file.

    Args:
        path: The file.
        registry: The plugins: options are checked as their commands do.
        permissions: Permissions of the file's cases; by default to run code, and to write below its folder.

    Raises:
        FileError: The file cannot be read.
        UsageError: It is no TOML, or there are mistakes in it: all of them.
    """
    source = _source(path)
    try:
        content = parse_toml(source)
    except ValueError as error:
        raise UsageError(
            f"{path} is not valid TOML", why=str(error), hint="see docs/suites.md for an example"
        ) from error
    reader = _Reader(path, source, registry, permissions or Permissions())
    cases = reader.cases(content)
    return Suite(content.get("name") or Path(path).stem, path, str(reader.folder), cases)


def read_folder(
    path: str,
    pattern: str,
    backends: Sequence[str | Mapping[str, Any]],
    settings: str,
    registry: Registry,
    permissions: Permissions | None = None,
) -> Suite:
    """Return a suite of a folder: a case for each model, in the order of their paths; none of them is read yet.

    Args:
        path: The folder.
        pattern: Pattern of the models' paths below it.
        backends: Backends of every case.
        settings: A run file with further options and keys of every case; empty for none.
        registry: As for `read_suite`.
        permissions: As for `read_suite`.

    Raises:
        FileError: There is no such folder, or the run file cannot be read.
        UsageError: No model fits, there is no backend, or an option is wrong.
    """
    if not backends:
        raise UsageError("no backend given", hint=f"polycmp suite {path} -b onnxrt -b onnx")
    try:
        models = sorted(item.as_posix() for item in Path(path).glob(pattern) if not item.is_dir())
    except (ValueError, NotImplementedError) as error:
        raise UsageError(f"--pattern: {describe_exception(error)}", hint="--pattern '**/*.onnx'") from error
    if not models:
        raise UsageError(f"no file in {path} fits --pattern {pattern!r}", hint=f"ls {path}")
    reader = _Reader(path, None, registry, permissions or Permissions())
    stems = Counter(PurePath(model).with_suffix("") for model in models)
    shared = {"backend": list(backends), **({"config": settings} if settings else {})}
    named = [{"name": model} if stems[PurePath(model).with_suffix("")] > 1 else {} for model in models]
    tables = [{"model": model, **shared, **name} for model, name in zip(models, named, strict=True)]
    cases = reader.cases({"case": tables})
    return Suite(Path(path).resolve().name, path, str(reader.folder), cases)


def _source(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8").replace("\r\n", "\n")
    except FileNotFoundError as error:
        raise FileError(f"no such suite file or folder: {path}", hint=f"ls {Path(path).parent}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read the suite {path}", why=describe_exception(error), hint=f"ls -l {path}") from error


class _Reader:
    """Reads the cases of a file, or, without a source, those that tables in memory describe, in the current folder."""

    def __init__(self, path: str, source: str | None, registry: Registry, permissions: Permissions) -> None:
        self.folder = Path.cwd() if source is None else Path(path).absolute().parent
        self.mistakes = Mistakes(path)
        self._lines = Lines(Place(0)) if source is None else find_lines(source)
        self._translator = Translator(registry, self.folder, permissions)

    def cases(self, content: Mapping[str, Any]) -> tuple[Case, ...]:
        """Return the cases.

        Raises:
            UsageError: There are mistakes: all of them.
        """
        cases = tuple(self._cases(content))
        self._refuse_shared_files(cases)
        self.mistakes.complain()
        return cases

    def _cases(self, content: Mapping[str, Any]) -> Iterator[Case]:
        """Yield the cases, and record mistakes."""
        self._check_top(content)
        tables = content.get("case", [])
        if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
            self.mistakes.add(self._lines.top.of("case"), "cases are written as [[case]]")
            return
        if not tables:
            self.mistakes.add(1, "there is no [[case]]")
        defaults = content.get("defaults", {})
        if not isinstance(defaults, dict):
            self.mistakes.add(self._lines.top.of("defaults"), "defaults are a table: [defaults]")
            return
        self._names: dict[str, int] = {}
        for number, table in enumerate(tables):
            yield from self._cases_of(table, defaults, self._place(number))

    def _refuse_shared_files(self, cases: Sequence[Case]) -> None:
        """Record as a mistake where a case writes a file that another case reads or writes."""
        writers: dict[Path, Case] = {}
        for case in cases:
            for path in case.written:
                other = writers.setdefault(self._real(path), case)
                if other is not case:
                    self.mistakes.add(case.line, f"{path} is written by the case {other.id!r}, too; {_SEPARATE}")
        for case in cases:
            for path in case.files:
                real = self._real(path)
                writer = next((writers[place] for place in chain([real], real.parents) if place in writers), case)
                if writer is not case:
                    why = f"{path} is read by it and written by the case {writer.id!r}, and cases run in any order"
                    self.mistakes.add(case.line, f"{why}; write it before the suite runs")

    def _real(self, path: str) -> Path:
        return (self.folder / path).resolve()

    def _place(self, number: int) -> Place:
        places = self._lines.arrays.get("case", [])
        return places[number] if number < len(places) else Place(self._lines.top.of("case"))

    def _check_top(self, content: Mapping[str, Any]) -> None:
        for key in content:
            if key not in _TOP_KEYS:
                line = self._lines.top.of(key)
                why = did_you_mean(key, _TOP_KEYS)
                if key in SUITE_KEYS:
                    why = "it belongs into [[case]] or [defaults]"
                self.mistakes.add(line, f"there is no key {key!r} outside of [[case]] and [defaults] ({why})")
        if "name" in content:
            self._try(self._lines.top.of("name"), "name", text, content["name"])

    def _try(self, line: int, key: str, read: Any, value: Any) -> None:
        try:
            read(value)
        except UsageError as error:
            why = f" ({error.why})" if error.why else ""
            self.mistakes.add(line, f"{key}: {error.what}{why}")

    def _cases_of(self, table: Mapping[str, Any], defaults: Mapping[str, Any], place: Place) -> Iterator[Case]:
        try:
            case_table, default_table = canonical(table), canonical(defaults)
            run_file = self._run_file(case_table)
            # The model in a run file is one of several keys; a case's own keys win.
            merged = {**default_table, **run_file, **case_table}
            suite_values, options = settings_and_options(merged)
            are_values_right = self._check_suite_values(suite_values, case_table, place)
            all_settings = list(spread(suite_values, options, self.folder)) if are_values_right else []
        except PolycmpError as error:
            self.mistakes.add_error(self._blame(error, table, place), error)
            return
        for settings in all_settings:
            case = self._case(settings, table, place)
            if case is not None:
                yield case

    def _check_suite_values(self, suite_values: Mapping[str, Any], case_table: Mapping[str, Any], place: Place) -> bool:
        before = len(self.mistakes)
        for key, value in suite_values.items():
            axes = value if key == "matrix" and isinstance(value, dict) else {}
            self._try(self._line_of(key, case_table, place), key, SUITE_KEYS[key].read, value)
            for axis, choices in canonical(axes).items():
                if axis not in SUITE_KEYS:
                    continue
                for choice in choices.values() if isinstance(choices, dict) else choices:
                    self._try(place.of("matrix", axis), axis, SUITE_KEYS[axis].read, choice)
        return len(self.mistakes) == before

    def _line_of(self, key: str, case_table: Mapping[str, Any], place: Place) -> int:
        """Return the line of a key, under any of its spellings: of a case, or of the defaults."""
        if key not in case_table:
            return _spelled(self._lines.top.tables.get("defaults", place), key)
        return _spelled(place, key)

    def _run_file(self, case_table: Mapping[str, Any]) -> dict[str, Any]:
        """Read the run file of a case, which has a case's keys."""
        if "config" not in case_table:
            return {}
        path = self.folder / text(case_table["config"])
        source = _source(str(path))
        try:
            content = parse_toml(source)
        except ValueError as error:
            raise UsageError(f"the run file {case_table['config']} is not valid TOML", why=str(error)) from error
        return {key: value for key, value in canonical(content).items() if key != "report"}

    def _case(self, settings: CaseSettings, table: Mapping[str, Any], place: Place) -> Case | None:
        try:
            case = self._translator.case(settings, place.line)
        except PolycmpError as error:
            self.mistakes.add_error(self._blame(error, table, place), error)
            return None
        if case.id in self._names:
            self.mistakes.add(
                place.line, f"the case {case.id!r} is already in line {self._names[case.id]}; give one of them a name"
            )
            return None
        self._names[case.id] = place.line
        return case

    def _blame(self, error: PolycmpError, table: Mapping[str, Any], place: Place) -> int:
        """Return the line of the key that an error names; the case's line if it names none."""
        message = f"{error.whose} {error.what}"
        keys = [*place.keys, *(key for inner in place.tables.values() for key in inner.keys)]
        named = [
            key for key in keys if f"{key!r}" in message or f"{error.whose}".endswith(key) or f"{key} = " in message
        ]
        named += [key for key in keys if _quotes(table.get(key), error)]
        if named:
            inner = next((name for name, tab in place.tables.items() if named[0] in tab.keys), "")
            return place.of(*filter(None, (inner, named[0])))
        defaults = self._lines.top.tables.get("defaults")
        if defaults is not None:
            named = [key for key in defaults.keys if f"{key!r}" in message or error.whose.endswith(key)]
            if named:
                return defaults.of(named[0])
        return place.line


def _quotes(value: Any, error: PolycmpError) -> bool:
    """Return whether an error quotes one of a value's texts, or the backend at its beginning."""
    items = value if isinstance(value, list) else [value]
    message = f"{error.whose} {error.what}"
    return any(
        isinstance(item, str)
        and (repr(item) in message or f"-b {item}" in message or repr(item.partition(":")[0]) in message)
        for item in items
    )


def _spelled(place: Place, key: str) -> int:
    for name in (key, key.replace("-", "_")):
        if name in place.keys or name in place.tables:
            return place.of(name)
    return place.line

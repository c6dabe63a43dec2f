"""The map of a dump: which file holds which tensor of the model, and how its numbers lie there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from polycmp.errors import DataError, FileError, UsageError, describe_exception, did_you_mean
from polycmp.options import parse_toml
from polycmp.precision import UNITS
from polycmp.tensors import as_dtype, dtype_name

#: What makes up a number: one for the whole tensor, one for each channel, or a file that holds them.
Numbers = float | tuple[float, ...] | str


@dataclass(frozen=True)
class TensorRule:
    """How one tensor lies in its file; what is None is as the rule for all tensors says, or as the file says.

    Attributes:
        name: Name of the tensor in the model, or a pattern; empty for all tensors.
        file: Pattern of the path in the folder; empty where the patterns for all tensors name it.
        dtype: Element type of a file that does not say it.
        shape: Shape of the tensor in the file.
        layout: Letters of the file's axes, as `NHWC`, or for each of the model's axes the one in the file.
        byte_order: `little` or `big`.
        scale: Step that codes are multiplied by.
        zero_point: Code of the number 0.
        axis: Axis, in the file, along which scale and zero point differ.
        line: Line in the map, for messages.
    """

    name: str = ""
    file: str | None = None
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    layout: str | tuple[int, ...] | None = None
    byte_order: str | None = None
    scale: Numbers | None = None
    zero_point: Numbers | None = None
    axis: int | None = None
    line: int = field(default=0, compare=False)

    def over(self, other: TensorRule) -> TensorRule:
        """Return this rule, with the values of another one where it says nothing."""
        named = [item.name for item in fields(self) if item.name not in {"name", "line"}]
        missing = {name: getattr(other, name) for name in named if getattr(self, name) is None}
        return replace(self, **missing)


@dataclass(frozen=True)
class DumpMap:
    """Description of a dump.

    Attributes:
        path: The map; empty where there is none.
        folder: The folder of the files.
        files: Patterns of their paths in it; none where names and folders tell.
        precision: The coarsest type that the map says the program calculated in; empty where it does not say.
        common: The rule for all tensors.
        rules: The rules for single tensors.
    """

    path: str
    folder: Path
    files: tuple[str, ...] = ()
    precision: str = ""
    common: TensorRule = TensorRule()
    rules: tuple[TensorRule, ...] = ()

    def rule_for(self, name: str) -> TensorRule:
        """Return the rule of a tensor.

        Raises:
            UsageError: Two patterns match its name.
        """
        matching = [rule for rule in self.rules if rule.name == name]
        matching = matching or [rule for rule in self.rules if fnmatchcase(name, rule.name)]
        if len(matching) > 1:
            first, second = matching[:2]
            raise UsageError(
                f"two patterns match {name!r}: {first.name!r} in line {first.line} and {second.name!r} in line "
                f"{second.line}",
                whose=self.path,
                hint=f'give it a table of its own: [tensors."{name}"]',
            )
        return matching[0].over(self.common) if matching else replace(self.common, name=name)


def read_map(folder: str, path: str) -> DumpMap:
    """Read the map of a dump.

    Args:
        folder: Folder of the files; empty for the one that the map names, or that holds the map.
        path: The map; empty for none.

    Raises:
        FileError: The map, or the folder, cannot be read.
        UsageError: The map says something that has no meaning.
    """
    dump_map = _read(Path(path), folder) if path else DumpMap("", Path(folder))
    if not dump_map.folder.is_dir():
        near = dump_map.folder.parent
        names = [item.name for item in near.iterdir() if item.is_dir()] if near.is_dir() else []
        raise FileError(
            f"no such folder: {dump_map.folder}", whose=path, why=did_you_mean(dump_map.folder.name, names),
            hint=f"ls {near}",
        )  # fmt: skip
    return dump_map


def _read(path: Path, folder: str) -> DumpMap:
    try:
        text = path.read_bytes().decode("utf-8-sig")
        content = parse_toml(text)
    except OSError as error:
        raise FileError(
            f"cannot read the map {path}", why=describe_exception(error), hint=f"ls {path.parent}"
        ) from error
    except ValueError as error:
        raise FileError(f"{path} is not valid TOML", why=str(error)) from error
    reader = _Reader(str(path), text)
    tables = content.pop("tensors", {})
    names = ("folder", "files", "precision")
    top = {key: content.pop(key) for key in names if key in content}
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise reader.error("tensors", 'tensors are tables: [tensors."NAME"]')
    common = reader.rule("", content, extra=(*names, "tensors"))
    rules = tuple(reader.rule(name, table) for name, table in tables.items())
    own_folder = reader.text(top, "folder") or "."
    files = top.get("files", [])
    files = [files] if isinstance(files, str) else files
    if not isinstance(files, list) or not all(isinstance(item, str) for item in files):
        raise reader.error("files", "files is a pattern, or a list of patterns")
    precision = reader.text(top, "precision") or ""
    if precision and precision not in UNITS:
        raise reader.error("precision", f"{precision!r} is no type to calculate in", did_you_mean(precision, UNITS))
    return DumpMap(
        str(path), Path(folder) if folder else path.parent / own_folder, tuple(files), precision, common, rules
    )


class _Reader:
    """Reads the values of a map, and says of wrong ones where they stand.

    Args:
        path: The map.
        text: Its content.
    """

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def line_of(self, key: str, table: str = "") -> int:
        """Return the line of a key, counted from 1, or that of its table's header."""
        start = 0
        if table:
            start = next((at for at, line in enumerate(self._lines) if _header_name(line) == table), 0)
        if not key:
            return start + 1
        for at, line in enumerate(self._lines[start + bool(table) :], start + bool(table)):
            if re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line) or line.startswith(f"[{key}"):
                return at + 1
            if line.lstrip().startswith("["):
                break
        return start + 1

    def error(self, key: str, what: str, why: str = "", table: str = "") -> UsageError:
        """Return the error of a value."""
        return UsageError(what, whose=f"{self._path}, line {self.line_of(key, table)}", why=why)

    def rule(self, name: str, table: Mapping[str, Any], extra: Sequence[str] = ()) -> TensorRule:
        """Return the rule that a table describes.

        Raises:
            UsageError: A key is unknown, or a value cannot be right.
        """
        known = [item.name for item in fields(TensorRule) if item.name not in {"name", "line"}]
        known = [key for key in known if key != "file"] if not name else known
        for key in table:
            if key not in known:
                where = f"the table of {name!r}" if name else "a map"
                raise self.error(key, f"{where} has no key {key!r}", did_you_mean(key, [*known, *extra]), name)
        dtype = self.text(table, "dtype", name)
        if dtype:
            try:
                dtype = dtype_name(as_dtype(dtype))
            except DataError as error:
                raise self.error("dtype", error.what, error.why, name) from None
        order = self.text(table, "byte_order", name)
        if order not in (None, "little", "big"):
            raise self.error("byte_order", f"byte_order is little or big, not {order!r}", table=name)
        rule = TensorRule(
            name,
            self.text(table, "file", name),
            dtype,
            self._whole_numbers(table, "shape", name),
            self._layout(table, name),
            order,
            self._numbers(table, "scale", name),
            self._numbers(table, "zero_point", name),
            table.get("axis"),
            self.line_of("", name),
        )
        if rule.axis is not None and type(rule.axis) is not int:
            raise self.error("axis", "axis is a whole number", table=name)
        return rule

    def text(self, table: Mapping[str, Any], key: str, name: str = "") -> str | None:
        """Return a text; None where there is none."""
        value = table.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self.error(key, f"{key} is a text that is not empty", table=name)
        return value

    def _whole_numbers(self, table: Mapping[str, Any], key: str, name: str) -> tuple[int, ...] | None:
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
            raise self.error(key, f"{key} is a list of whole numbers", table=name)
        return tuple(value)

    def _layout(self, table: Mapping[str, Any], name: str) -> str | tuple[int, ...] | None:
        value = table.get("layout")
        if isinstance(value, str):
            letters = value.upper()
            if not letters.isalpha() or len(set(letters)) != len(letters) or "C" not in letters:
                raise self.error("layout", f"{value!r} is no layout", "one letter for each axis: NHWC, NCHW, HWC", name)
            return letters
        order = self._whole_numbers(table, "layout", name)
        if order is not None and sorted(order) != list(range(len(order))):
            raise self.error("layout", f"{value} is no order of axes", "each axis once, from 0: [0, 3, 1, 2]", name)
        return order

    def _numbers(self, table: Mapping[str, Any], key: str, name: str) -> Numbers | None:
        value = table.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        items = value if isinstance(value, list) else [value]
        if not items or not all(type(item) in (int, float) for item in items):
            raise self.error(key, f"{key} is a number, a list of numbers, or the name of a file of them", table=name)
        if key == "scale" and not all(item > 0 for item in items):
            raise self.error(key, "a scale is above 0", table=name)
        return tuple(map(float, items)) if isinstance(value, list) else float(value)


def _header_name(line: str) -> str:
    """Return the name in the header of a tensor's table; empty for other lines."""
    line = line.strip()
    if not line.startswith("[tensors."):
        return ""
    try:
        content = parse_toml(line)
    except ValueError:
        return ""
    return str(next(iter(content["tensors"]), ""))

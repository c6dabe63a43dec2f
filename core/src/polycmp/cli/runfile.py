"""Run files: the options of `run` in TOML, under the names they have on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polycmp.cli.build import Given, Occurrences
from polycmp.cli.table import FlagTable, Key, Target
from polycmp.errors import FileError, UsageError, describe_exception, did_you_mean
from polycmp.files import atomic_write, to_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONFIG = Key("core", "result", "config")
_NOT_WRITTEN = {CONFIG, Key("core", "result", "write_config"), Key("core", "result", "gen_script")}


def read_run_file(path: str, table: FlagTable) -> Given:
    """Return what a run file asks for.

    `model` and `backend` stand for the arguments; every other key is a flag without its dashes. Several values are a
    list, values by tensor name may be a table, several groups are a list of lists.

    Raises:
        FileError: The file cannot be read or is no TOML.
        UsageError: A key is no option, or a value cannot be one.
    """
    try:
        with Path(path).open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise FileError(f"cannot read the run file {path}", why=describe_exception(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is no TOML", why=str(error)) from error
    model = content.pop("model", "")
    backends = content.pop("backend", [])
    backends = [backends] if isinstance(backends, str) else backends
    if not isinstance(model, str) or not all(isinstance(item, str) for item in backends):
        raise UsageError(
            "`model` is a text and `backend` a list of texts", whose=path, hint='backend = ["onnxrt", "onnx"]'
        )
    values: dict[Key, Occurrences] = {}
    for key, value in content.items():
        target = _target(key, table, path)
        if target.key in values:
            raise UsageError(f"{key!r} says again what another key of this file says", whose=path)
        values[target.key] = _occurrences(target, value, path)
    return Given(model, tuple(backends), values)


def _target(key: str, table: FlagTable, path: str) -> Target:
    target = table.by_flag.get("--" + key.replace("_", "-"))
    if target is None:
        known = [flag.removeprefix("--") for flag in table.by_flag]
        raise UsageError(f"there is no option {key!r}", whose=path, why=did_you_mean(key, [*known, "backend", "model"]))
    if target.key == CONFIG:
        raise UsageError(
            f"{key!r} has no place in a run file", whose=path, why="one run file does not read another", hint="copy it"
        )
    return target


def _occurrences(target: Target, value: Any, path: str) -> Occurrences:
    if isinstance(value, Mapping):
        return [[f"{name}:{_text(item)}" if name else _text(item) for name, item in value.items()]]
    if isinstance(value, list) and target.field.several:
        if value and all(isinstance(item, list) for item in value):
            return [[_text(item) for item in group] for group in value]
        return [[_text(item) for item in value]]
    if isinstance(value, list):
        raise UsageError(f"{target.flags[0].removeprefix('--')!r} takes one value", whose=path)
    return [[_text(value)]]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join(_text(item) for item in value) + "]"
    return str(value)


def merge(command_line: Given, run_file: Given) -> Given:
    """Return both together; where both say something, the command line wins."""
    return Given(
        model=command_line.model or run_file.model,
        backends=command_line.backends or run_file.backends,
        values={**run_file.values, **command_line.values},
        command=command_line.command,
    )


def write_run_file(given: Given, table: FlagTable, path: str) -> None:
    """Write the run file that repeats a run.

    Raises:
        FileError: The file cannot be written.
    """
    lines = [f"# polycmp run --config {Path(path).name}", ""]
    if given.model:
        lines.append(f"model = {_quote(given.model)}")
    lines.append(f"backend = [{', '.join(map(_quote, given.backends))}]")
    for key, occurrences in given.values.items():
        if key not in _NOT_WRITTEN:
            lines.append(_line(table.targets[key], occurrences))
    with atomic_write(path) as file:
        file.write(to_bytes("\n".join(lines) + "\n"))


def _line(target: Target, occurrences: Occurrences) -> str:
    name = target.flags[0].removeprefix("--")
    if target.field.kind == "flag":
        return f"{name} = {occurrences[-1][-1]}"
    if target.field.kind == "groups":
        return f"{name} = [{', '.join(_list(group) for group in occurrences)}]"
    if target.field.several:
        return f"{name} = {_list([text for group in occurrences for text in group])}"
    return f"{name} = {_quote(occurrences[-1][-1])}"


def _list(texts: Any) -> str:
    return f"[{', '.join(_quote(text) for text in texts)}]"


def _quote(text: str) -> str:
    # JSON's escapes are a subset of TOML's, except that TOML wants U+007F escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

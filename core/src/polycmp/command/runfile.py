"""Run files: a plan as plain values in TOML, its options under the names they have on the command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polycmp.errors import FileError, UsageError, describe_exception
from polycmp.files import atomic_write
from polycmp.plan.flags import FlagTable
from polycmp.plan.text import CONFIG, Asked, read_values

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["CONFIG", "read_run_file", "write_run_file"]


def read_run_file(path: str, table: FlagTable) -> Asked:
    """Return what a run file asks for.

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
    asked = read_values(content, table, path)
    for key, value in content.items():
        if key == "backend":
            continue
        target = table.by_flag.get("--" + key.replace("_", "-"))
        if _says_nothing(value) and not (value == [] and target is not None and target.field.bare == ""):
            raise UsageError(f"{key!r} needs a value", whose=path, hint="leave the key out to have the default")
    return asked


def _says_nothing(value: Any) -> bool:
    """Return whether a value, or one of several, is empty: not the same as one that was not given."""
    if isinstance(value, str):
        return not value.strip()
    if isinstance(value, (list, Mapping)):
        items = value if isinstance(value, list) else list(value.values())
        return not items or any(map(_says_nothing, items))
    return False


def write_run_file(values: Mapping[str, Any], path: str) -> None:
    """Write the run file that repeats a run.

    Args:
        values: The plan as plain values.
        path: The file.

    Raises:
        FileError: The file cannot be written, or TOML cannot hold one of the values.
    """
    import tomli_w

    name = Path(path).name
    head = f"# polycmp run --config {shlex.quote(name)}\n\n" if name.isprintable() else ""
    try:
        text = (head + tomli_w.dumps(values)).encode()
    except UnicodeEncodeError as error:  # a file of which a part is replaced would not repeat the run
        raise FileError(f"cannot write the run file {path}", why=f"{error.object!r} is no valid text") from error
    with atomic_write(path) as file:
        file.write(text)

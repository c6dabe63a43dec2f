"""Write files completely or not at all, and JSON that every reader accepts."""

from __future__ import annotations

import errno
import hashlib
import logging
import math
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from polycmp.errors import FileError, describe_exception

__all__ = [
    "atomic_write",
    "cannot_write",
    "digest_of",
    "located",
    "make_folder",
    "natural_order",
    "same_folder",
    "to_bytes",
    "write_document",
]

_log: logging.Logger = logging.getLogger("polycmp.files")

#: Temporary files that are being written, for a process that has to end without unwinding.
_unfinished: set[str] = set()

#: The folder in which the command that is running was started; None outside of commands.
_start: Path | None = None


@contextmanager
def starting_folder() -> Iterator[None]:
    """Make relative paths mean, for the length of a block, what they meant when it began.

    Backends and users' scripts may change the current folder. What was typed is shown as it was typed all the same.
    """
    global _start  # noqa: PLW0603 - the current folder is the process's, and so is the one that it began in
    before = _start
    with suppress(OSError):  # a folder that was removed: every path will say so itself
        _start = Path.cwd()
    try:
        yield
    finally:
        _start = before


def located(path: str | Path) -> Path:
    """Resolve a path against the folder in which the command was started."""
    return Path(path) if _start is None else _start / path


@contextmanager
def same_folder(whose: str) -> Iterator[None]:
    """Run a block of others' code in the folder in which the command was started, and go back there after it.

    Args:
        whose: Name of the code to blame if the block changed the folder.
    """
    start = _start
    if start is None:
        yield
        return
    _go_back(start)
    try:
        yield
    finally:
        if _go_back(start):
            _log.debug("%s changed the current folder, which was changed back", whose)


def _go_back(start: Path) -> bool:
    with suppress(OSError):
        if os.getcwd() == str(start):  # noqa: PTH109 - this stands in the way of every inference
            return False
    with suppress(OSError):
        os.chdir(start)
    return True


def refuse_pipe(path: Path) -> None:
    """Refuse what is neither a file nor a folder: reading a named pipe waits for a writer who may never come.

    Raises:
        FileError: It is a pipe, a socket or a device.
    """
    try:
        kind = path.stat().st_mode
    except OSError:
        return  # reading it says why
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        what = "a named pipe" if stat.S_ISFIFO(kind) else "a socket" if stat.S_ISSOCK(kind) else "a device"
        raise FileError(
            f"it is {what}, not a file",
            whose=str(path),
            why="it is read in any order, and more than once",
            hint=f"write what comes out of it to a file first: cat {path} > FILE{path.suffix}",
        )


def make_folder(path: str | Path) -> Path:
    """Make a folder and its missing parents, and return it.

    Raises:
        FileError: It cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error, "cannot make the folder") from error
    return folder


def cannot_write(path: Path, error: Exception, what: str = "cannot write") -> FileError:
    """Return the error of a path that was refused, with the command that shows why: the disk, a limit, or the rights.

    Args:
        path: The file or folder that was to be written.
        error: What the system, or a library, said.
        what: What was tried.
    """
    number = error.errno if isinstance(error, OSError) else None
    there = next((folder for folder in path.parents if located(folder).is_dir()), path.parent)
    place = shlex.quote(str(there))
    hint = "ulimit -f" if number == errno.EFBIG else f"ls -ld {place}"
    if number in {errno.ENOSPC, errno.EDQUOT}:
        hint = f"df -h {place}"
    return FileError(f"{what} {path}", why=describe_exception(error), hint=hint)


@contextmanager
def atomic_write(path: str | Path, *, lasting: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary neighbour of `path` for writing and rename it over `path` when the block ends well.

    A process that is killed in between leaves the old file, or none; never half a new one. Missing folders are made.

    Args:
        path: The file.
        lasting: Whether it is to be there after a loss of power, too; waiting for the disk takes milliseconds.

    Raises:
        FileError: The folder or the file cannot be written.
    """
    target, shown = located(path), Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        name = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
        with name.open("xb") as file:  # with the rights that any new file gets here
            temporary = str(name)
            _unfinished.add(temporary)
            yield cast(BinaryIO, file)
            file.flush()
            if lasting:
                os.fsync(file.fileno())
        name.replace(target)
        _unfinished.discard(temporary)
        temporary = ""
    except OSError as error:
        raise cannot_write(shown, error) from error
    finally:
        if temporary:
            _remove(temporary)


def discard_unfinished() -> None:
    """Remove every file that is half written; for a process that ends at once."""
    for temporary in list(_unfinished):
        _remove(temporary)


def _remove(temporary: str) -> None:
    with suppress(OSError):
        Path(temporary).unlink()
    _unfinished.discard(temporary)


def digest_of(*paths: Path) -> str:
    """Return the SHA-256 of the content of files, one after another.

    Raises:
        OSError: One cannot be read.
    """
    total = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                total.update(block)
    return total.hexdigest()


def natural_order(name: str) -> list[tuple[int, str]]:
    """Return the key that sorts names by the numbers in them, so that 2 comes before 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def to_bytes(text: str) -> bytes:
    r"""Return a text in UTF-8; half a surrogate pair, which UTF-8 cannot hold, is spelled out: `\udc80`."""
    return text.encode("utf-8", "backslashreplace")


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON; values that JSON lacks become text, as in `_plain`.

    Raises:
        FileError: The folder or the file cannot be written.
    """
    import json

    text = json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as file:
        file.write(to_bytes(text) + b"\n")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy scalars as Python's, keys as text, and "nan", "inf", "-inf" as text."""
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, str):
        return to_bytes(value).decode()  # escaped in JSON, half a surrogate pair would still be refused by many readers
    if value is None or isinstance(value, (bool, int)):
        return value
    if hasattr(value, "item"):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)

"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from polycmp.errors import FileError, describe_exception


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary neighbour of `path` for writing and rename it over `path` when the block ends well.

    Whoever is killed in between leaves the old file, or none; never half a new one. Missing folders are made.

    Raises:
        FileError: The folder or the file cannot be written.
    """
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            yield cast(BinaryIO, file)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
        temporary = ""
    except OSError as error:
        raise FileError(
            f"cannot write {target}",
            why=describe_exception(error),
            hint=f"ls -ld {target.parent}; df -h {target.parent}",
        ) from error
    finally:
        if temporary:
            with suppress(OSError):
                Path(temporary).unlink()


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value

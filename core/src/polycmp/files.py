"""Writing files whole or not at all, and JSON that every reader takes."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

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


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON; what that does not know becomes text, as in `plain`.

    Raises:
        FileError: The folder or the file cannot be written.
    """
    import json

    text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_write(path) as file:
        file.write(text.encode() + b"\n")


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy scalars as Python's, keys as text, and "nan", "inf", "-inf" as text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value

"""Any mixture of arrays, results and plain values as JSON, exchangeable with Polygraphy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from polycmp.builtin.formats import jsoncode
from polycmp.builtin.formats.run_results import RUN_CLASSES, read_all, write_json
from polycmp.errors import FileError, describe_exception
from polycmp.files import atomic_write

__all__ = ["from_json", "load_json", "save_json", "to_json"]

Classes = Mapping[str, Callable[[Mapping[str, Any]], Any]]


def to_json(obj: Any) -> str:
    """Return plain values, arrays and results, nested as you like, as JSON text.

    Raises:
        FileError: Something in it has no form in JSON.
    """
    return b"".join(jsoncode.encode(obj)).decode("ascii")


def from_json(src: str, classes: Classes = MappingProxyType({})) -> Any:
    """Decode JSON text written by polycmp or Polygraphy into the objects that it describes.

    Args:
        src: The text.
        classes: Functions that make objects of further classes out of their members, by the mark of the class.

    Raises:
        FileError: It is not JSON, is damaged, or holds a class that is unknown here.
    """
    return jsoncode.decode(src, {**RUN_CLASSES, **classes})


def save_json(obj: Any, dest: str | Path | IO[Any], description: str | None = None) -> None:
    """Save plain values, arrays and results, nested as you like, as JSON.

    Args:
        obj: The object to save.
        dest: A path, replaced only when everything has been written, or a file open for writing.
        description: Name of the content, for the error.

    Raises:
        FileError: It cannot be written, or something in it has no form in JSON.
    """
    if not isinstance(dest, str | Path):
        write_json(obj, dest)
        return
    try:
        with atomic_write(dest) as file:
            write_json(obj, file)
    except FileError as error:
        error.whose = error.whose or f"{description or 'JSON'} to {dest}"
        raise


def load_json(
    src: str | Path | IO[Any], description: str | None = None, classes: Classes = MappingProxyType({})
) -> Any:
    """Load the objects in a JSON file written by polycmp or Polygraphy.

    Inputs are a list of mappings from name to array. Arrays are writable. PyTorch tensors need PyTorch.

    Args:
        src: A path, or a file open for reading.
        description: Name of the content, for the error.
        classes: As for `from_json`.

    Raises:
        FileError: It cannot be read, is damaged, or holds a class that is unknown here.
    """
    whose = str(src) if isinstance(src, str | Path) else str(getattr(src, "name", "the open file"))
    try:
        if isinstance(src, str | Path):
            return jsoncode.decode_file(Path(src), {**RUN_CLASSES, **classes})
        return jsoncode.decode(read_all(src), {**RUN_CLASSES, **classes})
    except OSError as error:
        raise FileError(
            f"cannot read {description or 'JSON'}", whose=whose, why=describe_exception(error), hint=f"ls -l {whose}"
        ) from error
    except FileError as error:
        error.whose = whose
        raise

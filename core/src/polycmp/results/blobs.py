"""Inputs as bare bytes, for programs that know types and shapes from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polycmp.errors import DataError, FileError
from polycmp.files import atomic_write
from polycmp.tensors import is_low_bit, to_numpy


def save_input_blob(folder: str | Path, iteration: int, feed: Mapping[str, Any]) -> list[Path]:
    """Save each input as its bare little-endian bytes, as `FOLDER/ITERATION/NAME.bin`, for `trtexec` and the like.

    Args:
        folder: Where to save.
        iteration: The number that names the folder inside, with ten digits.
        feed: Arrays by input name.

    Returns:
        The files written.

    Raises:
        FileError: A name would leave the folder, an input is text, or a file cannot be written.
    """
    place = Path(folder) / f"{iteration:010d}"
    written = []
    for name, value in feed.items():
        path = place / f"{name}.bin"
        if "\0" in name or not path.resolve().is_relative_to(place.resolve()):
            raise FileError(
                f"the input {name!r} cannot be saved as a blob", why=f"its name leads out of the folder {place}"
            )
        array = to_numpy(value)
        if array.dtype.kind in "OUS":
            raise DataError(
                f"the input {name!r} holds text, which has no bare bytes", hint="leave out --save-input-blob"
            )
        if not is_low_bit(array.dtype):
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        with atomic_write(path) as file:
            file.write(array.tobytes())
        written.append(path)
    return written

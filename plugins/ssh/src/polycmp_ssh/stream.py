"""Messages with tensors and files over two pipes: a line of JSON, and after it the bytes that it announces."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from polycmp.tensors import array_of_texts, as_dtype, describe_array, native, to_numpy

Message = dict[str, Any]


class Stream:
    """One end of a connection.

    Args:
        reading: Where messages come from.
        writing: Where they go.
    """

    def __init__(self, reading: BinaryIO, writing: BinaryIO) -> None:
        self._reading = reading
        self._writing = writing

    def send(
        self,
        message: Mapping[str, Any],
        tensors: Mapping[str, Any] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Write a message.

        Args:
            message: What JSON can hold.
            tensors: Arrays by name.
            files: Files by the path that they get on the other side.

        Raises:
            OSError: The other side is gone, or a file cannot be read.
        """
        arrays = {name: native(to_numpy(array)) for name, array in (tensors or {}).items()}
        sizes = {name: path.stat().st_size for name, path in (files or {}).items()}
        line = {**message, "tensors": [describe_array(name, array) for name, array in arrays.items()], "files": sizes}
        self._writing.write(json.dumps(line).encode() + b"\n")
        for array in arrays.values():
            if array.dtype.kind not in "OUS":
                self._writing.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        for path in (files or {}).values():
            with path.open("rb") as file:
                shutil.copyfileobj(file, self._writing, 1 << 20)
        self._writing.flush()

    def receive(self, folder: Path | None = None) -> tuple[Message, dict[str, Any]] | None:
        """Return the next message and its tensors; None if the other side wants no more.

        Args:
            folder: Where files are written to.

        Raises:
            EOFError: The other side is gone in the middle of a message.
        """
        line = self._reading.readline()
        if not line:
            return None
        if not line.endswith(b"\n"):
            raise EOFError
        message: Message = json.loads(line)
        tensors = {place["name"]: self._tensor(place) for place in message.pop("tensors")}
        for name, size in message.pop("files").items():
            assert folder is not None
            self._file(folder / name, size)
        return message, tensors

    def _tensor(self, place: Mapping[str, Any]) -> Any:
        if "strings" in place:
            return array_of_texts(place)
        dtype = as_dtype(place["dtype"])
        array = np.empty(place["shape"], dtype)
        self._fill(array.reshape(-1).view(np.uint8).data)
        return array

    def _file(self, path: Path, size: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            while size:
                data = self._reading.read(min(size, 1 << 20))
                if not data:
                    raise EOFError
                file.write(data)
                size -= len(data)

    def _fill(self, memory: memoryview) -> None:
        filled = 0
        while filled < len(memory):
            count = self._reading.readinto(memory[filled:])  # type: ignore[attr-defined]
            if not count:
                raise EOFError
            filled += count

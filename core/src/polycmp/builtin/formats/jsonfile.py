"""`.json` files of inputs and outputs, exchangeable with Polygraphy, written as a stream."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, BinaryIO

from polycmp.builtin.formats.jsoncode import decode_file, encode
from polycmp.builtin.formats.run_results import RUN_CLASSES, RunResults
from polycmp.errors import FileError
from polycmp.results import INPUTS, OUTPUTS, FormatWriter, IterationResult, Stored, StoredRun
from polycmp.tensors import to_numpy


def read(path: Path) -> Stored:
    """Read the results or feeds in a JSON file.

    Raises:
        FileError: It is damaged or holds something else.
        OSError: It cannot be read.
    """
    return stored_from_json(decode_file(path, RUN_CLASSES))


def make_writer(file: BinaryIO, kind: str, path: Path) -> FormatWriter:
    """Make the writer of inputs or outputs into a file."""
    return JsonInputsWriter(file) if kind == INPUTS else JsonOutputsWriter(file, path.parent)


class JsonInputsWriter:
    """Writes feeds into a JSON list as they come."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._opening = b"["

    def add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        """Write one feed."""
        del label, runtime
        self._file.write(self._opening)
        self._file.writelines(encode({name: to_numpy(array) for name, array in arrays.items()}))
        self._opening = b",\n"

    def finish(self) -> None:
        """Close the list."""
        self._file.write(b"]" if self._opening != b"[" else b"[]")

    def discard(self) -> None:
        """Do nothing: all that was taken is in the file."""


class JsonOutputsWriter:
    """Writes outputs as run results, which list each runner's iterations together.

    The first label goes straight into the file. Iterations of the others wait in nameless temporary files next to it,
    because runners take turns and the file cannot.

    Args:
        file: The file to write to.
        folder: Folder for the temporary files.
    """

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._runs: dict[str, IO[bytes]] = {}
        self._resources = ExitStack()
        file.write(b'{"lst": [')

    def add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        """Write one iteration."""
        stream = self._runs.get(label)
        if stream is None:
            stream = self._start(label)
        else:
            stream.write(b",\n")
        iteration = IterationResult(arrays, runtime, label)
        if isinstance(arrays, IterationResult):
            iteration.insensitive, iteration.environment = arrays.insensitive, arrays.environment
        stream.writelines(encode(iteration))

    def _start(self, label: str) -> IO[bytes]:
        stream: IO[bytes] = self._file
        if self._runs:
            stream = self._resources.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
            stream.write(b"]],\n")
        self._runs[label] = stream
        stream.write(b"[" + json.dumps(label).encode("ascii") + b", [")
        return stream

    def finish(self) -> None:
        """Join the runs and close the object."""
        for stream in self._runs.values():
            if stream is not self._file:
                stream.seek(0)
                shutil.copyfileobj(stream, self._file, 1 << 20)
        closing = b"]]" if self._runs else b""
        self._file.write(closing + b'],\n"polygraphy_class": "RunResults"}')

    def discard(self) -> None:
        """Delete the temporary files."""
        self._resources.close()


def stored_from_json(value: Any) -> Stored:
    """Classify a decoded JSON file: run results, a list of feeds, or one feed.

    Raises:
        FileError: It is something else.
    """
    if isinstance(value, RunResults):
        return Stored(OUTPUTS, [StoredRun(label, [_given(it) for it in its]) for label, its in value.items()])
    feeds = [value] if isinstance(value, dict) and value else value
    if not isinstance(feeds, list) or not all(isinstance(feed, dict) for feed in feeds):
        raise FileError("it holds neither inputs (a list of feeds) nor run results", why=_outline(value))
    for feed in feeds:
        for name, array in feed.items():
            if not hasattr(array, "dtype"):
                raise FileError("it holds no inputs", why=f"{name!r} is {_outline(array)}, not an array")
    return Stored(INPUTS, [StoredRun("", [_given(IterationResult(_as_arrays(feed))) for feed in feeds])])


def _as_arrays(feed: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_numpy(array) for name, array in feed.items()}


def _given(iteration: IterationResult) -> Callable[[], IterationResult]:
    return lambda: iteration.holding(_as_arrays(iteration))


def _outline(value: Any) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, dict) else f"an object with {list(value)[:5]}"

"""Inputs and outputs saved as they come, to a file that appears whole or a folder that fills up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from polycmp.errors import FileError, UsageError
from polycmp.files import atomic_write, located
from polycmp.results.container import INPUTS, OUTPUTS, Sink
from polycmp.results.jsonfile import JsonInputsSink, JsonOutputsSink
from polycmp.results.npzfile import NpzSink
from polycmp.results.reading import SUFFIXES, read_file, unknown_suffix
from polycmp.results.safetensorsfile import SafetensorsSink

_OURS = re.compile(r"\d{10}(\.\d+)?\.npz")
_LEFT_OVER = re.compile(r"\.\d{10}(\.\d+)?\.npz\..+\.part")  # of a run that was killed while it wrote


class _Writer:
    """What both writers share: a single file that appears at the end, or a folder that fills up."""

    def __init__(self, path: str | Path, kind: str) -> None:
        self.path = Path(path)
        self._kind = kind
        self._outdated: list[Path] = []
        self._written: dict[str, int] = {}
        self._file: AbstractContextManager[BinaryIO] | None = None
        self._sink: Sink | None = None
        if self.path.suffix not in ("", *SUFFIXES):
            raise UsageError(unknown_suffix(self.path), whose=str(self.path))

    def _enter(self) -> None:
        if not self.path.suffix:
            self._outdated = _outdated(located(self.path), self._kind)
            return
        if self.path.is_dir():
            raise FileError("this is a folder", whose=str(self.path), hint="name a file, or a folder without a suffix")
        self._file = atomic_write(self.path)
        file = self._file.__enter__()
        try:
            self._sink = self._sink_for(file)
        except BaseException as error:
            self._file.__exit__(type(error), error, error.__traceback__)
            raise

    def _sink_for(self, file: BinaryIO) -> Sink:
        if self.path.suffix == ".safetensors":
            return SafetensorsSink(file, self._kind)
        if self.path.suffix == ".json":
            return JsonInputsSink(file) if self._kind == INPUTS else JsonOutputsSink(file, self.path.parent)
        return NpzSink(file, self._kind)

    def _add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        try:
            if self._sink is not None:
                self._sink.add(label, arrays, runtime)
            elif not self.path.suffix:
                self._add_to_folder(label, arrays, runtime)
            else:
                raise FileError("is not open for writing", hint="use the writer in a with block")
        except FileError as error:
            error.whose = error.whose or str(self.path)
            raise

    def _add_to_folder(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        for old in self._outdated:
            old.unlink(missing_ok=True)
        self._outdated = []
        index = self._written.setdefault(label, 0)
        run = f".{list(self._written).index(label)}" if self._kind == OUTPUTS else ""
        with atomic_write(self.path / f"{index:010d}{run}.npz") as file:
            sink = NpzSink(file, self._kind)
            try:
                sink.add(label, arrays, runtime)
                sink.finish()
            finally:
                sink.discard()
        self._written[label] = index + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None or self._sink is None:
            return
        file, sink, self._file, self._sink = self._file, self._sink, None, None
        try:
            if error is None:
                sink.finish()
        except BaseException as failure:
            file.__exit__(type(failure), failure, failure.__traceback__)
            raise
        else:
            file.__exit__(kind, error, trace)
        finally:
            sink.discard()


class InputsWriter(_Writer):
    """Saves feeds as they come; a single file appears, whole, only when the block ends well.

    Args:
        path: A file (`.json`, `.npz`, `.safetensors`) or a folder without a suffix.

    Raises:
        UsageError: The suffix is unknown.
        FileError: On entering: the path cannot be written, or is a folder with other things in it.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, INPUTS)

    def __enter__(self) -> InputsWriter:
        self._enter()
        return self

    def add(self, feed: Mapping[str, Any]) -> None:
        """Save one feed; its arrays may be overwritten afterwards."""
        self._add("", feed, None)


class OutputsWriter(_Writer):
    """Saves outputs as they come; a single file appears, whole, only when the block ends well.

    Args:
        path: A file (`.json`, `.npz`, `.safetensors`) or a folder without a suffix.

    Raises:
        UsageError: The suffix is unknown.
        FileError: On entering: the path cannot be written, or is a folder with other things in it.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, OUTPUTS)

    def __enter__(self) -> OutputsWriter:
        self._enter()
        return self

    def add(self, label: str, outputs: Mapping[str, Any], runtime: float | None = None) -> None:
        """Save one runner's outputs of one iteration; the arrays may be overwritten afterwards.

        Args:
            label: The runner's label.
            outputs: Arrays by output name.
            runtime: What the inference took, in seconds.
        """
        self._add(label, outputs, runtime)


def _outdated(folder: Path, kind: str) -> list[Path]:
    """Return the files of an earlier run in a folder, which the new run replaces.

    Raises:
        FileError: Something else is in the folder.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise FileError(
            "a file is in the way of the folder to save to", whose=str(folder), hint=f"rm {folder}, or add a suffix"
        )
    present = sorted(folder.iterdir())
    saved = [file for file in present if _OURS.fullmatch(file.name)]
    strangers = [file for file in present if file not in saved and not _LEFT_OVER.fullmatch(file.name)]
    if strangers or (saved and read_file(saved[0]).kind != kind):
        odd = (strangers or saved)[0].name
        raise FileError(
            f"this folder holds other things than {kind} saved earlier, such as {odd!r}",
            whose=str(folder),
            hint="name another folder, or empty this one",
        )
    return present

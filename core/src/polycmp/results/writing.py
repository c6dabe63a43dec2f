"""Inputs and outputs saved as they come: to a file that appears whole, a folder that fills up, or as bare bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from polycmp.errors import DataError, FileError
from polycmp.files import atomic_write, cannot_write, located
from polycmp.results.formats import INPUTS, OUTPUTS, Formats, FormatWriter, format_code
from polycmp.results.runs import IterationResult
from polycmp.tensors import is_low_bit, native, to_numpy

if TYPE_CHECKING:
    from typing_extensions import Self

    from polycmp.plugins import Registry


#: Digits of an iteration's number in the name of its file.
_DIGITS = 10


class _Writer:
    """Shared part of both writers: a single file that appears at the end, or a folder that fills up.

    Attributes:
        added: Number of iterations saved, by label; that of inputs is empty.
    """

    _kind: str

    def __init__(
        self, path: str | Path, registry: Registry | None = None, *, lasting: bool = True, first: int = 0
    ) -> None:
        self.path: Path = Path(path)
        self._lasting, self._first = lasting, first
        self._outdated: list[Path] = []
        self.added: dict[str, int] = {}
        self._file: AbstractContextManager[BinaryIO] | None = None
        self._writer: FormatWriter | None = None
        self._formats = Formats(registry)
        self._format = self._formats.find_for_writing(self.path)

    def __enter__(self) -> Self:
        if not self.path.suffix:
            self._outdated = self._find_outdated(located(self.path))
            return self
        if self.path.is_dir():
            raise FileError("this is a folder", whose=str(self.path), hint="name a file, or a folder without a suffix")
        self._file = atomic_write(self.path, lasting=self._lasting)
        file = self._file.__enter__()
        try:
            self._writer = self._writer_of(file)
        except BaseException as error:
            self._file.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def _writer_of(self, file: BinaryIO) -> FormatWriter:
        return self._formats.writer(self._format, file, self._kind, located(self.path))

    def _add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        plain = {
            name: native(array) if isinstance(array, np.ndarray) else array  # formats have no place for the byte order
            for name, array in arrays.items()
        }
        arrays = arrays.holding(plain) if isinstance(arrays, IterationResult) else plain
        self.added.setdefault(label, 0)
        try:
            with format_code("cannot save to it", self._format.label, self.path):
                if self._writer is not None:
                    self._writer.add(label, arrays, runtime)
                elif not self.path.suffix:
                    self._add_to_folder(label, arrays, runtime)
                else:
                    raise FileError("is not open for writing", hint="use the writer in a with block")
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self.added[label] += 1

    def _add_to_folder(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        for old in self._outdated:
            old.unlink(missing_ok=True)
        self._outdated = []
        index = self._first + self.added[label]
        run = f".{list(self.added).index(label)}" if self._kind == OUTPUTS else ""
        name = f"{index:0{_DIGITS}d}{run}{self._format.spec.suffix}"
        with atomic_write(self.path / name, lasting=self._lasting) as file:
            writer = self._writer_of(file)
            try:
                writer.add(label, arrays, runtime)
                writer.finish()
            finally:
                writer.discard()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None or self._writer is None:
            return
        file, writer, self._file, self._writer = self._file, self._writer, None, None
        if error is None and not self.added:  # a file that holds nothing would look complete
            error = FileError("nothing was saved", whose=str(self.path))
            kind = FileError
        try:
            if error is None:
                with format_code("cannot save to it", self._format.label, self.path):
                    writer.finish()
        except BaseException as failure:
            file.__exit__(type(failure), failure, failure.__traceback__)
            raise
        else:
            file.__exit__(kind, error, trace)
        finally:
            writer.discard()

    def _find_outdated(self, folder: Path) -> list[Path]:
        """Return the files of an earlier run in a folder, which this one replaces: all from its first iteration on.

        Raises:
            FileError: Something else is in the folder.
        """
        if not folder.exists():
            return []
        if not folder.is_dir():
            raise FileError("the folder to save to is a file", whose=str(folder), hint=f"rm {folder}, or add a suffix")
        present = sorted(folder.iterdir())
        iteration_name = re.compile(rf"\d{{{_DIGITS}}}(\.\d+)?" + re.escape(self._format.spec.suffix))
        left_over = re.compile(rf"\.{iteration_name.pattern}\..+\.part")  # of a run that was killed while it wrote
        saved = [file for file in present if iteration_name.fullmatch(file.name)]
        strangers = [file for file in present if file not in saved and not left_over.fullmatch(file.name)]
        if strangers or (saved and self._formats.read(saved[0]).kind != self._kind):
            odd = (strangers or saved)[0].name
            raise FileError(
                f"this folder holds other things than {self._kind} saved earlier, such as {odd!r}",
                whose=str(folder),
                hint="name another folder, or empty this one",
            )
        return [file for file in present if file not in saved or int(file.name[:_DIGITS]) >= self._first]


class InputsWriter(_Writer):
    """Saves feeds as they come; a single file appears, whole, only when the block ends well and there were feeds.

    Args:
        path: A file with the suffix of a format, or a folder without a suffix.
        registry: The plugins that bring the formats; by default those that are installed.
        lasting: Whether it is to be there after a loss of power, too.
        first: Number of the first iteration, in a folder that holds those before it.

    Raises:
        UsageError: The suffix is unknown.
        PluginError: The package that brings the format is not installed, broken, or lacks a module.
        FileError: On entering: the path cannot be written, or is a folder with other things in it.
    """

    _kind = INPUTS

    def add(self, feed: Mapping[str, Any]) -> None:
        """Save one feed; its arrays may be overwritten afterwards."""
        self._add("", feed, None)


class OutputsWriter(_Writer):
    """Saves outputs as they come, as `InputsWriter` saves feeds, with the same arguments and errors."""

    _kind = OUTPUTS

    def add(self, label: str, outputs: Mapping[str, Any], runtime: float | None = None) -> None:
        """Save one runner's outputs of one iteration; the arrays may be overwritten afterwards.

        Args:
            label: The runner's label.
            outputs: Arrays by output name.
            runtime: Duration of the inference in seconds; None if it was not measured.
        """
        self._add(label, outputs, runtime)


def save_input_blob(folder: str | Path, iteration: int, feed: Mapping[str, Any]) -> list[Path]:
    """Save each input as its bare little-endian bytes, as `FOLDER/ITERATION/NAME.bin`, for `trtexec` and the like.

    Args:
        folder: Folder to write to.
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
                f"the input {name!r} holds text, which has no raw bytes", hint="leave out --save-input-blob"
            )
        if not is_low_bit(array.dtype):
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        with atomic_write(path) as file:
            file.write(array.tobytes())
        written.append(path)
    return written

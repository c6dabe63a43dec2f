"""Inputs and outputs on disk: one face for all formats, chosen by the path's suffix.

`.json` is exchangeable with Polygraphy, `.npz` and `.safetensors` are binary. A path without a suffix is a folder with
one file an iteration, read and written one by one: `0000000000.npz`, or `0000000000.0.npz`, `0000000000.1.npz` for
the runners of one iteration of outputs. Folders of Polygraphy's `0000000000.json` are read too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from polycmp.errors import DataError, FileError, UsageError, describe_exception, did_you_mean
from polycmp.files import atomic_write
from polycmp.results import jsoncode
from polycmp.results.container import INPUTS, OUTPUTS, Sink, Stored
from polycmp.results.jsonfile import JsonInputsSink, JsonOutputsSink, stored_from_json
from polycmp.results.npzfile import NpzSink, read_npz
from polycmp.results.runs import RUN_CLASSES, IterationResult
from polycmp.results.safetensorsfile import SafetensorsSink, read_safetensors
from polycmp.tensors import is_low_bit, to_numpy

SUFFIXES = (".json", ".npz", ".safetensors")
_OURS = re.compile(r"\d{10}(\.\d+)?\.npz")
_FLAG = {INPUTS: "--load-inputs", OUTPUTS: "--load-outputs"}


@dataclass
class SavedRun:
    """The iterations of one runner, as they were saved.

    Attributes:
        label: The runner's label.
        path: The file or folder.
        count: How many iterations there are, or None if that is known only after reading.
    """

    label: str
    path: Path
    count: int | None
    _source: _Source = field(repr=False)
    _position: int = field(repr=False)

    @property
    def iterations(self) -> Iterator[IterationResult]:
        """A new pass over the iterations, each read when its turn comes.

        Raises:
            FileError: A file is damaged.
        """
        return self._source.iterations(self._position)


class SavedInputs:
    """The feeds of one or more files in order, read as they are needed; can be passed over again.

    Args:
        sources: The files.
    """

    def __init__(self, sources: Sequence[_Source]) -> None:
        self._sources = sources

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for source in self._sources:
            for position in range(len(source.labels)):
                for iteration in source.iterations(position):
                    yield dict(iteration)


class _Source:
    """One path to read: a file, or the files of a folder."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self._kind = kind
        self._last: tuple[Path, Stored] | None = None
        self._files = _files_of(path)
        firsts = self._files if path.is_dir() and self._files[0].suffix != ".json" else self._files[:1]
        self.labels: list[str] = []
        self.counts: dict[str, int] = {}
        for file in firsts:
            for run in self._open(file).runs:
                label = self._label(run.label)
                self.counts[label] = self.counts.get(label, 0) + len(run.iterations)
        self.labels = list(self.counts)
        self.complete = len(firsts) == len(self._files)

    def iterations(self, position: int) -> Iterator[IterationResult]:
        label = self.labels[position]
        for file in self._files:
            stored = self._open(file)
            unknown = next((run.label for run in stored.runs if self._label(run.label) not in self.counts), None)
            if unknown is not None:
                raise FileError(
                    f"it holds a run {unknown!r} that the first file of the folder lacks",
                    whose=str(file),
                    why=did_you_mean(unknown, self.labels),
                )
            for run in stored.runs:
                if self._label(run.label) == label:
                    for read in run.iterations:
                        yield read()

    def _label(self, label: str) -> str:
        return "" if self._kind == INPUTS else label

    def _open(self, file: Path) -> Stored:
        if self._last is None or self._last[0] != file:
            stored = _read(file)
            if stored.kind in _FLAG and stored.kind != self._kind:
                raise FileError(
                    f"this holds {stored.kind}, and {self._kind} are wanted here",
                    whose=str(file),
                    hint=f"pass it to {_FLAG[stored.kind]}",
                )
            self._last = (file, stored)
        return self._last[1]


def open_inputs(paths: Sequence[str | Path]) -> SavedInputs:
    """Open saved inputs, one path after the other.

    Args:
        paths: Files or folders. Archives of plain arrays that somebody else saved count as one feed each.

    Raises:
        FileError: A path is missing, damaged, or holds outputs. Damage inside shows when the feed is read.
    """
    return SavedInputs([_Source(Path(path), INPUTS) for path in paths])


def open_runs(path: str | Path) -> list[SavedRun]:
    """Open saved outputs: one run for each runner, labelled as it was when saved.

    Args:
        path: A file or folder. An archive of plain arrays that somebody else saved is one run of one iteration, with
            the file's name as its label.

    Raises:
        FileError: The path is missing, damaged, or holds inputs. Damage inside shows when the iteration is read.
    """
    source = _Source(Path(path), OUTPUTS)
    return [
        SavedRun(label, source.path, source.counts[label] if source.complete else None, source, position)
        for position, label in enumerate(source.labels)
    ]


def _files_of(path: Path) -> list[Path]:
    if not path.exists():
        near = did_you_mean(path.name, (p.name for p in path.parent.iterdir())) if path.parent.is_dir() else ""
        raise FileError("there is no such file or folder", whose=str(path), why=near, hint=f"ls {path.parent}")
    if not path.is_dir():
        return [path]
    files = sorted((file for file in path.iterdir() if _is_visible(file)), key=_turn)
    if not files:
        raise FileError(
            "this folder holds no saved iterations", whose=str(path), why=f"no file ends in {', '.join(SUFFIXES)}"
        )
    return files


def _is_visible(file: Path) -> bool:
    return file.suffix in SUFFIXES and not file.name.startswith(".")


def _turn(file: Path) -> tuple[str, int, str]:
    iteration, _, run = file.stem.partition(".")
    return iteration, int(run) if run.isdecimal() else -1, file.name


def _read(path: Path) -> Stored:
    try:
        if path.suffix == ".json":
            return stored_from_json(jsoncode.decode(path.read_bytes(), RUN_CLASSES))
        if path.suffix == ".npz":
            return read_npz(path)
        if path.suffix == ".safetensors":
            return read_safetensors(path)
    except OSError as error:
        raise FileError(
            "cannot be read", whose=str(path), why=describe_exception(error), hint=f"ls -l {path}"
        ) from error
    except FileError as error:
        error.whose = error.whose or str(path)
        raise
    raise FileError(_unknown_suffix(path), whose=str(path))


def _unknown_suffix(path: Path) -> str:
    return f"unknown type of file {path.suffix!r}; known are {', '.join(SUFFIXES)}, and a folder without a suffix"


class _Writer:
    """What both writers share: a single file that appears at the end, or a folder that fills up."""

    def __init__(self, path: str | Path, kind: str) -> None:
        self.path = Path(path)
        self._kind = kind
        self._written: dict[str, int] = {}
        self._file: AbstractContextManager[BinaryIO] | None = None
        self._sink: Sink | None = None
        if self.path.suffix not in ("", *SUFFIXES):
            raise UsageError(_unknown_suffix(self.path), whose=str(self.path))

    def _enter(self) -> None:
        if not self.path.suffix:
            self._outdated = _outdated(self.path, self._kind)
            return
        if self.path.is_dir():
            raise FileError("this is a folder", whose=str(self.path), hint="name a file, or a folder without a suffix")
        self._file = atomic_write(self.path)
        self._sink = self._sink_for(self._file.__enter__())

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
            else:
                self._add_to_folder(label, arrays, runtime)
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
            sink.add(label, arrays, runtime)
            sink.finish()
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
    strangers = [file for file in present if not _OURS.fullmatch(file.name)]
    if strangers or (present and _read(present[0]).kind != kind):
        odd = (strangers or present)[0].name
        raise FileError(
            f"this folder holds other things than {kind} saved earlier, such as {odd!r}",
            whose=str(folder),
            hint="name another folder, or empty this one",
        )
    return present


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

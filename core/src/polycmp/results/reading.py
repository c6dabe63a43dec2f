"""Saved inputs and outputs, opened lazily from files and folders of any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import FileError, did_you_mean
from polycmp.files import refuse_pipe
from polycmp.results.formats import INPUTS, OUTPUTS, Formats, Stored, StoredRun, format_code
from polycmp.results.runs import IterationResult

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_FLAGS = {INPUTS: "--load-inputs", OUTPUTS: "--load-outputs"}
_RunKey = tuple[str, int]  # a label, and its how many-th run in the file


@dataclass
class SavedRun:
    """The iterations of one runner, as they were saved.

    Attributes:
        label: The runner's label.
        path: The file or folder.
        count: Number of iterations; None if that is known only after reading.
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

    def __init__(self, path: Path, kind: str, formats: Formats) -> None:
        self.path = path
        self._kind = kind
        self._formats = formats
        self._last: tuple[Path, Stored] | None = None
        self._files = _files_of(path, formats)
        # To count what is read whole would be to read everything twice.
        counted = path.is_dir() and self._open(self._files[0]).keeps_file_open
        firsts = self._files if counted else self._files[:1]
        self._counts: dict[_RunKey, int] = {}
        for file in firsts:
            for key, run in self._runs(file):
                self._counts[key] = self._counts.get(key, 0) + len(run.iterations)
        self.labels = [label for label, _ in self._counts]
        self._complete = len(firsts) == len(self._files)

    def count(self, position: int) -> int | None:
        return list(self._counts.values())[position] if self._complete else None

    def iterations(self, position: int) -> Iterator[IterationResult]:
        wanted = list(self._counts)[position]
        read = 0
        for file in self._files:
            for key, run in self._runs(file):
                if key not in self._counts:
                    raise FileError(
                        f"it holds a run {run.label!r} that the first file of the folder lacks",
                        whose=str(file),
                        why=did_you_mean(run.label, self.labels),
                    )
                for read_one in run.iterations if key == wanted else ():
                    with format_code("cannot read it", str(file), file):
                        iteration = read_one()
                    read += 1
                    yield iteration
        expected = self.count(position)
        if expected is not None and read != expected:
            raise FileError(
                f"it was changed while it was in use: {expected} iterations were to be read, {read} are there",
                whose=str(self.path),
                hint="run the command again",
            )

    def _runs(self, file: Path) -> Iterator[tuple[_RunKey, StoredRun]]:
        seen: Counter[str] = Counter()
        for run in self._open(file).runs:
            if self._kind == INPUTS:
                yield ("", 0), run
                continue
            yield (run.label, seen[run.label]), run
            seen[run.label] += 1

    def _open(self, file: Path) -> Stored:
        if self._last is None or self._last[0] != file:
            refuse_pipe(file)
            stored = self._formats.read(file)
            if stored.kind in _FLAGS and stored.kind != self._kind:
                raise FileError(
                    f"this holds {stored.kind}, not {self._kind}",
                    whose=str(file),
                    hint=f"pass it to {_FLAGS[stored.kind]}",
                )
            if stored.keeps_file_open:  # only while it is read: a process may have few files open at once
                return stored
            self._last = (file, stored)
        return self._last[1]


def open_inputs(paths: Sequence[str | Path], registry: Registry | None = None) -> SavedInputs:
    """Open saved inputs, one path after the other.

    Args:
        paths: Files or folders. Archives of plain arrays that other programs saved count as one feed each.
        registry: The plugins that bring the formats; by default those that are installed.

    Raises:
        FileError: A path is missing, damaged, or holds outputs. Damage inside shows when the feed is read.
        PluginError: The package that reads a format is not installed.
    """
    formats = Formats(registry)
    return SavedInputs([_Source(Path(path), INPUTS, formats) for path in paths])


def open_runs(path: str | Path, registry: Registry | None = None) -> list[SavedRun]:
    """Open saved outputs: one run for each runner, labelled as it was when saved.

    Args:
        path: A file or folder. An archive of plain arrays that another program saved is one run of one iteration, with
            the file's name as its label.
        registry: The plugins that bring the formats; by default those that are installed.

    Raises:
        FileError: The path is missing, damaged, or holds inputs. Damage inside shows when the iteration is read.
        PluginError: The package that reads the format is not installed.
    """
    source = _Source(Path(path), OUTPUTS, Formats(registry))
    return [
        SavedRun(label, source.path, source.count(position), source, position)
        for position, label in enumerate(source.labels)
    ]


def _files_of(path: Path, formats: Formats) -> list[Path]:
    if not path.exists():
        near = did_you_mean(path.name, (p.name for p in path.parent.iterdir())) if path.parent.is_dir() else ""
        raise FileError("no such file or folder", whose=str(path), why=near, hint=f"ls {path.parent}")
    if not path.is_dir():
        return [path]
    suffixes = formats.suffixes()
    iterations = (file for file in path.iterdir() if file.suffix in suffixes and not file.name.startswith("."))
    files = sorted(iterations, key=_turn)
    if not files:
        raise FileError(
            "this folder holds no saved iterations", whose=str(path), why=f"no file ends in {', '.join(suffixes)}"
        )
    return files


def _turn(file: Path) -> tuple[str, int, str]:
    iteration, _, run = file.stem.partition(".")
    return iteration, int(run) if run.isdecimal() else -1, file.name

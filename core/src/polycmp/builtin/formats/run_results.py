"""Results of runners in memory: the iterations of several runners, saved and loaded in every format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar

from polycmp.builtin.formats import jsoncode
from polycmp.errors import DataError, FileError, did_you_mean
from polycmp.files import atomic_write
from polycmp.results import IterationResult
from polycmp.results.files import OutputsWriter, open_inputs, open_runs


class RunResults:
    """The iterations of several runners: a list of (label, iterations) that can also be used by label.

    A label may occur twice; access by label then means the first.

    Args:
        lst: Pairs of label and iterations.

    Attributes:
        lst: The pairs.
    """

    def __init__(self, lst: Iterable[tuple[str, list[IterationResult]]] | None = None) -> None:
        self.lst: list[tuple[str, list[IterationResult]]] = list(lst or ())

    def items(self) -> Iterator[tuple[str, list[IterationResult]]]:
        """Give label and iterations of each runner."""
        yield from self.lst

    def keys(self) -> Iterator[str]:
        """Give the runners' labels."""
        yield from (name for name, _ in self.lst)

    def values(self) -> Iterator[list[IterationResult]]:
        """Give each runner's iterations."""
        yield from (iterations for _, iterations in self.lst)

    def append(self, elem: tuple[str, list[IterationResult]]) -> None:
        """Add a pair at the end, even if its label is there already."""
        self.lst.append(elem)

    def extend(self, elems: Iterable[tuple[str, list[IterationResult]]]) -> None:
        """Add pairs at the end."""
        self.lst.extend(elems)

    def add(
        self,
        out_list: Iterable[Mapping[str, Any]],
        runtime: float | None = None,
        runner_name: str | None = None,
    ) -> None:
        """Set the iterations of one runner from plain mappings.

        Args:
            out_list: Arrays by output name, one mapping an iteration.
            runtime: Duration of each iteration in seconds.
            runner_name: The runner's label.
        """
        iterations = [IterationResult(outputs, runtime, runner_name) for outputs in out_list]
        self[runner_name or IterationResult().runner_name] = iterations

    def update(self, other: RunResults | Mapping[str, list[IterationResult]]) -> RunResults:
        """Set the iterations of every runner in `other`, and return self."""
        for name, iterations in other.items():
            self[name] = iterations
        return self

    def split(self) -> Iterator[RunResults]:
        """Give one `RunResults` an iteration, without the runners that have fewer."""
        longest = max((len(iterations) for iterations in self.values()), default=0)
        for index in range(longest):
            yield RunResults((name, [its[index]]) for name, its in self.items() if index < len(its))

    @staticmethod
    def concat(runs: Iterable[RunResults]) -> RunResults:
        """Join the iterations of runners with the same label; the inverse of `split`."""
        joined = RunResults()
        for run in runs:
            for name, iterations in run.items():
                if name in joined:
                    joined[name].extend(iterations)
                else:
                    joined.append((name, list(iterations)))
        return joined

    def __getitem__(self, key: int | slice | str) -> Any:
        if not isinstance(key, str):
            return self.lst[key]
        for name, iterations in self.lst:
            if name == key:
                return iterations
        raise DataError(f"no results of a runner {key!r}", why=did_you_mean(key, self.keys()))

    def __setitem__(self, key: int | str, value: Any) -> None:
        if isinstance(key, int):
            self.lst[key] = value
            return
        for index, (name, _) in enumerate(self.lst):
            if name == key:
                self.lst[index] = (key, value)
                return
        self.lst.append((key, value))

    def __contains__(self, key: object) -> bool:
        return key in self.keys() if isinstance(key, str) else key in self.lst

    def __iter__(self) -> Iterator[tuple[str, list[IterationResult]]]:
        return iter(self.lst)

    def __len__(self) -> int:
        return len(self.lst)

    def __eq__(self, other: object) -> bool:
        return self.lst == other.lst if isinstance(other, RunResults) else NotImplemented

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"RunResults({', '.join(f'{name}: {len(its)} iterations' for name, its in self.lst)})"

    def to_json_object(self) -> dict[str, Any]:
        """Return the members that Polygraphy's readers expect."""
        return {"lst": self.lst, jsoncode.CLASS: "RunResults"}

    @classmethod
    def from_json_object(cls, members: Mapping[str, Any]) -> RunResults:
        """Make one from decoded members.

        Raises:
            TypeError: A member is of the wrong kind.
        """
        results = cls()
        for name, iterations in members["lst"]:
            if not isinstance(name, str) or not _are_iterations(iterations):
                raise TypeError("it is not a list of labels and iterations")
            results.append((name, iterations))
        return results

    def to_json(self) -> str:
        """Return JSON text, as `save` writes it."""
        return b"".join(jsoncode.encode(self)).decode("ascii")

    @classmethod
    def from_json(cls, src: str) -> RunResults:
        """Make one from JSON text.

        Raises:
            FileError: The text holds something else.
        """
        return cls._checked(jsoncode.decode(src, RUN_CLASSES))

    def save(self, dest: str | Path | IO[Any]) -> None:
        """Save to a file in the format of its suffix, or as JSON to an open file.

        Args:
            dest: A path (with the suffix of a format, or a folder without one), or a file open for writing.

        Raises:
            FileError: It cannot be written, or there are no iterations.
        """
        if not any(self.values()):
            raise FileError("there are no iterations to save", whose=str(getattr(dest, "name", dest)))
        if not isinstance(dest, str | Path):
            write_json(self, dest)
            return
        if Path(dest).suffix == ".json":
            with atomic_write(dest) as file:
                write_json(self, file)
            return
        if len(set(self.keys())) < len(self):
            raise FileError("two runs have the same label", whose=str(dest), hint="save as .json, which can hold that")
        with OutputsWriter(dest) as writer:
            for label, iterations in self.items():
                for iteration in iterations:
                    writer.add(label, iteration, iteration.runtime)

    @classmethod
    def load(cls, src: str | Path | IO[Any]) -> RunResults:
        """Load all iterations from a path of any known format, or from an open JSON file.

        Raises:
            FileError: It cannot be read or holds something else.
        """
        if isinstance(src, str | Path):
            return cls((run.label, list(run.iterations)) for run in open_runs(src))
        return cls._checked(jsoncode.decode(read_all(src), RUN_CLASSES))

    @classmethod
    def load_streaming(cls, path: str | Path | Sequence[str | Path], allow_dirs: bool = True) -> Iterator[RunResults]:
        """Give one `RunResults` an iteration, read when it is asked for where the format allows that.

        Args:
            path: A path of any known format, or several, whose iterations follow each other.
            allow_dirs: Whether a path may be a folder.

        Raises:
            FileError: One cannot be read, or is a folder although none may be.
        """
        for place in [path] if isinstance(path, str | Path) else path:
            if not allow_dirs and Path(place).is_dir():
                raise FileError("this is a folder", whose=str(place), hint="pass allow_dirs=True, or a file")
            runs = open_runs(place)
            for iterations in zip(*(iter(run.iterations) for run in runs), strict=False):
                yield cls((run.label, [one]) for run, one in zip(runs, iterations, strict=True))

    @classmethod
    def _checked(cls, value: Any) -> RunResults:
        if not isinstance(value, cls):
            raise FileError("the JSON holds no run results", hint="load it with polycmp.json.load_json")
        return value


class StreamingDataLoader:
    """Saved inputs as a source of data, each read when its turn comes.

    Args:
        paths: A file or folder of any known format, or several, one after the other.
        allow_dirs: Whether a path may be a folder.

    Raises:
        FileError: A path is missing, damaged, holds outputs, or is a folder although none may be.
    """

    def __init__(self, paths: str | Path | Sequence[str | Path], allow_dirs: bool = True) -> None:
        self.paths: list[str | Path] = [paths] if isinstance(paths, str | Path) else list(paths)
        for path in self.paths:
            if not allow_dirs and Path(path).is_dir():
                raise FileError("this is a folder", whose=str(path), hint="pass allow_dirs=True, or files")
        self._saved = open_inputs(self.paths)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._saved)


def _are_iterations(value: object) -> bool:
    return isinstance(value, Sequence) and all(isinstance(item, IterationResult) for item in value)


def read_all(file: IO[Any]) -> Any:
    """Return the whole content of an open file from any position: it may be the handle just written through."""
    if not file.seekable():
        return file.read()
    place = file.tell()
    file.seek(0)
    content = file.read()
    file.seek(place)
    return content


def write_json(value: Any, file: IO[Any]) -> None:
    """Write a value as JSON to an open file, whether it takes text or bytes."""
    pieces = jsoncode.encode(value)
    if hasattr(file, "encoding"):  # only text files have one
        file.writelines(piece.decode("ascii") for piece in pieces)
    else:
        file.writelines(pieces)


#: Constructors of the classes of results from their members in a JSON file.
RUN_CLASSES: dict[str, jsoncode.Decoder] = {
    "IterationResult": jsoncode.decode_iteration,
    "RunResults": RunResults.from_json_object,
}

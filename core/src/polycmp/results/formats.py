"""Types of files for inputs and outputs: what one holds, who takes what goes into one, and who reads and writes which.

A format, contributed through the hook `polycmp_formats`, needs nothing but this module and
`polycmp.results.runs.IterationResult`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from polycmp.errors import FileError, PluginError, PolycmpError, UsageError, describe_exception, is_users_failure
from polycmp.results.runs import IterationResult

if TYPE_CHECKING:
    from polycmp.plugins import Contributed, Registry
    from polycmp.spec import FormatSpec

INPUTS = "inputs"
OUTPUTS = "outputs"
#: Arrays by name that another program saved, without saying what they are.
ARRAYS = "arrays"

#: The format of files whose names do not tell what they hold.
TEXT_SUFFIX = ".json"
#: Suffixes of other things: who types one may expect such a file, and is told that it holds JSON.
_OF_OTHERS = tuple(
    f".{name}"
    for names in (
        "bin gz npy pickle pkl pt pth zip",
        "csv h5 hdf5 parquet toml yaml yml",
    )
    for name in names.split()
)
_OF_MODELS = (".engine", ".onnx", ".pb", ".plan", ".py")
#: Similarity of suffixes from which one is taken for a typing mistake.
_SLIP = 0.75


class FormatWriter(Protocol):
    """Takes the iterations of one file; see `FormatSpec.writer`."""

    def add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> None:
        """Take one iteration; the arrays belong to the caller again afterwards.

        Outputs may come as an `IterationResult`, whose `insensitive` and `environment` are to be kept where the format
        has a place for them.
        """

    def finish(self) -> None:
        """Write what is left; the file is whole after this."""

    def discard(self) -> None:
        """Give up what was taken besides the file; called in any case, at the end."""


@dataclass
class StoredRun:
    """The iterations of one label in one file, each read when it is asked for.

    Attributes:
        label: The runner's label; "" in a file of inputs.
        iterations: Functions that read one iteration each.
    """

    label: str
    iterations: list[Callable[[], IterationResult]] = field(default_factory=list)


@dataclass
class Stored:
    """Content of one file.

    Attributes:
        kind: `inputs`, `outputs`, or `arrays` if the file does not say.
        runs: The iterations by label.
        keeps_file_open: Whether the file stays open for as long as this object, or a function that reads, lives.
    """

    kind: str
    runs: list[StoredRun]
    keeps_file_open: bool = False


class Formats:
    """The formats that are installed, looked up when they are first needed.

    Args:
        registry: The plugins; by default those that are found then.
    """

    def __init__(self, registry: Registry | None = None) -> None:
        self._known = registry

    @property
    def _registry(self) -> Registry:
        if self._known is None:
            from polycmp.plugins import Registry

            self._known = Registry.discover()
        return self._known

    def find(self, path: Path) -> Contributed[FormatSpec]:
        """Return the format of a path: its suffix's, or that of the files in a folder if it has none.

        Raises:
            UsageError: There is none for this suffix.
            PluginError: The package that brings it is not installed, broken, or lacks a module.
        """
        from polycmp.plugins.known import FOLDER_SUFFIX

        return self._find(path, path.suffix or FOLDER_SUFFIX)

    def find_for_writing(self, path: Path) -> Contributed[FormatSpec]:
        """Return the format to write a path in: JSON for a suffix that is no format's, as other tools write it.

        Raises:
            UsageError: The suffix is that of a model or a report, or a slip of the fingers for another format.
            PluginError: As in `find`.
        """
        from polycmp.plugins.known import known_names

        suffix = path.suffix.lower()
        if suffix == TEXT_SUFFIX:
            return self._find(path, TEXT_SUFFIX)
        contribution = self._registry.formats.get(suffix.removeprefix("."))
        only_read = contribution is not None and not contribution.spec.writer
        try:
            if not only_read:
                return self.find(path)
        except UsageError:
            from difflib import get_close_matches  # not needed but for slips

            others = {*_OF_MODELS, *(f".{name}" for name in known_names().brought["report"])}
            meant = get_close_matches(suffix, self.suffixes(), n=1, cutoff=_SLIP)
            if suffix in others or (meant and meant != [TEXT_SUFFIX]):
                raise
        if only_read or suffix in _OF_OTHERS:
            logging.getLogger("polycmp.results").warning("%s holds JSON, not what its suffix says", path)
        return self._find(path, TEXT_SUFFIX)

    def _find_for_reading(self, path: Path) -> Contributed[FormatSpec]:
        """Return the format that reads a file: JSON where the suffix does not tell and the content is JSON."""
        try:
            return self.find(path)
        except PolycmpError:  # Polygraphy writes JSON under any suffix
            if not _holds_json(path):
                raise
        return self._find(path, TEXT_SUFFIX)

    def _find(self, path: Path, suffix: str) -> Contributed[FormatSpec]:
        try:
            contribution = self._registry.find_format(suffix)
            self._registry.require(contribution)
        except PolycmpError as error:
            error.whose = str(path) + (f": {error.whose}" if error.whose else "")
            raise
        return contribution

    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of all formats."""
        return tuple(f".{name}" for name in self._registry.formats)

    def read(self, path: Path) -> Stored:
        """Read one file; binary formats read their arrays later.

        Raises:
            FileError: It is damaged, foreign, or of an unknown type.
            PluginError: The package that reads it is not installed, broken, or fails.
        """
        try:
            contribution = self._find_for_reading(path)
        except PluginError:
            raise
        except PolycmpError as error:
            raise FileError(error.what, whose=error.whose, why=error.why, hint=error.hint) from None
        try:
            return self._read(path, contribution)
        except FileError:
            if contribution.spec.suffix == TEXT_SUFFIX or not _holds_json(path):
                raise
        return self._read(path, self._find(path, TEXT_SUFFIX))

    def _read(self, path: Path, contribution: Contributed[FormatSpec]) -> Stored:
        read = self._registry.load(contribution, contribution.spec.reader)
        try:
            with format_code("cannot read it", contribution.label, path):
                stored: Stored = read(path)
        except OSError as error:
            raise FileError(
                "cannot be read", whose=str(path), why=describe_exception(error), hint=f"ls -l {path}"
            ) from error
        return stored

    def writer(self, contribution: Contributed[FormatSpec], file: BinaryIO, kind: str, path: Path) -> FormatWriter:
        """Make the writer into an open file.

        Args:
            contribution: The format.
            file: The file to write to.
            kind: `inputs` or `outputs`.
            path: Final path of the file; temporary files may be written beside it.

        Raises:
            PluginError: The format's code cannot be loaded, or fails.
        """
        make = self._registry.load(contribution, contribution.spec.writer)
        with format_code("cannot write it", contribution.label, path):
            writer: FormatWriter = make(file, kind, path)
        return writer


def _holds_json(path: Path) -> bool:
    """Return whether a file begins as JSON does; binary files have zero bytes where JSON has text."""
    try:
        with path.open("rb") as file:
            beginning = file.read(512)
    except OSError:
        return False  # reading it says why
    return b"\0" not in beginning and beginning.lstrip()[:1] in {b"[", b"{"}


@contextmanager
def format_code(what: str, label: str, path: Path) -> Iterator[None]:
    """Run a format's code: its errors get the file's name, and any other exception is an error of its plugin.

    Errors of the system pass: a full disk is no fault of the format, and the code that opened the file says what to do.

    Raises:
        PolycmpError: The code failed.
    """
    try:
        yield
    except FileError as error:
        error.whose = error.whose or str(path)
        raise
    except (PolycmpError, OSError):
        raise
    except BaseException as error:
        if not is_users_failure(error):
            raise
        raise PluginError(f"{what}: {path}", whose=label, why=describe_exception(error)) from error

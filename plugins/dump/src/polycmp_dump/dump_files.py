"""The files of a dump: what each is called, which iteration it belongs to, and the arrays in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import FileError, PluginError, PolycmpError, UsageError, describe_exception
from polycmp.files import natural_order
from polycmp.results import Formats
from polycmp.tensors import as_dtype, native

if TYPE_CHECKING:
    from polycmp.plugins import Registry

Array = NDArray[Any]
#: Suffixes of files that hold numbers and nothing else, of texts, and of ONNX's tensors.
_RAW = frozenset({".raw", ".bin", ".dat", ".data"})
_TEXT = frozenset({".txt", ".csv", ".tsv"})
_ONNX = frozenset({".pb", ".tensorproto"})
_TELLING = _ONNX | {".npy"}
#: Formats of the core whose files hold several arrays by name.
_ARCHIVES = frozenset({".npz", ".safetensors", ".json"})
#: Suffixes of files that are looked at where no pattern names them.
_KNOWN = _TELLING | _RAW | _TEXT | _ARCHIVES
_PLACEHOLDER = re.compile(r"\{(tensor|node|iteration)\}|(\*)")
_ITERATION = "{iteration}"
_EXPRESSIONS = {"tensor": "(?P<tensor>.+)", "node": "(?P<node>.+)", "iteration": r"(?P<iteration>\d+)"}


@dataclass(frozen=True)
class DumpFile:
    """One array of a dump.

    Attributes:
        path: The file.
        name: Name that the other program gave the tensor, as the file has it.
        iteration: Iteration that the array belongs to; None where it is the same in all.
        member: Name of the array in a file of several; empty for a file of one.
        is_node: Whether the name is that of the operator that made the tensor.
        pattern: Path in the folder, with `{iteration}` in place of its number.
    """

    path: Path
    name: str
    iteration: int | None = None
    member: str = ""
    is_node: bool = False
    pattern: str = ""

    @property
    def tells_shape(self) -> bool:
        """Whether the file says the type and shape of what it holds."""
        return bool(self.member) or self.path.suffix.lower() in _TELLING

    def __str__(self) -> str:
        return f"{self.path}[{self.member}]" if self.member else str(self.path)


class FilePattern:
    """A pattern of paths: `Result_{iteration}/{tensor}.raw`, with `*` for anything within a folder's name.

    Args:
        text: The pattern.
        whose: The map that it stands in.

    Raises:
        UsageError: A name in braces is none of those known.
    """

    def __init__(self, text: str, whose: str) -> None:
        parts, end = [], 0
        for match in _PLACEHOLDER.finditer(text):
            parts += [re.escape(text[end : match.start()]), "[^/]*?" if match[2] else _EXPRESSIONS[match[1]]]
            end = match.end()
        names = [match[1] for match in _PLACEHOLDER.finditer(text) if match[1]]
        if "{" in _PLACEHOLDER.sub("", text) or len(set(names)) < len(names):
            raise UsageError(
                f"{text!r} is no pattern of files",
                whose=whose,
                why="it may hold {tensor}, {node} and {iteration}, each once, and *",
            )
        self._expression = re.compile("".join([*parts, re.escape(text[end:])]))

    def match(self, path: str) -> Mapping[str, str] | None:
        """Return what the names in braces stand for in a path, and the path without its number; None if it is other."""
        found = self._expression.fullmatch(path)
        if found is None:
            return None
        named = {key: value for key, value in found.groupdict().items() if value}
        start, end = found.span("iteration") if "iteration" in named else (0, 0)
        return {**named, "pattern": f"{path[:start]}{_ITERATION}{path[end:]}" if end else path}


class DumpFolder:
    """The files in a folder.

    Args:
        folder: The folder.
        registry: The plugins, for the formats of archives.

    Raises:
        FileError: It holds no file.
    """

    def __init__(self, folder: Path, registry: Registry | None = None) -> None:
        self.folder = folder
        self._formats = Formats(registry)
        self._read_archives: dict[Path, dict[str, Callable[[], Array]]] = {}

    @cached_property
    def paths(self) -> dict[str, Path]:
        """The files by their paths in the folder, hidden ones left out, numbers in their order."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        named = {path.relative_to(self.folder).as_posix(): path for path in files}
        return {
            name: named[name]
            for name in sorted(named, key=natural_order)
            if not any(part.startswith(".") for part in name.split("/"))
        }

    def find(self, patterns: Sequence[FilePattern]) -> Iterator[DumpFile]:
        """Yield the arrays in the files that one of the patterns matches, or of all files where there is no pattern."""
        if patterns:
            matches = ((path, _first_match(patterns, name)) for name, path in self.paths.items())
            found = [(path, match) for path, match in matches if match is not None]
        else:
            known = {name: path for name, path in self.paths.items() if path.suffix.lower() in _KNOWN}
            found = [(known[name], match) for name, match in _by_folders(list(known)).items()]
        for path, match in found:
            iteration = int(match["iteration"]) if "iteration" in match else None
            name = match.get("tensor") or match.get("node") or ""
            if path.suffix.lower() in _ARCHIVES:
                for member in self._members(path):
                    yield DumpFile(path, member, iteration, member, pattern=match["pattern"])
            elif name:
                yield DumpFile(path, name, iteration, is_node="node" in match, pattern=match["pattern"])

    def find_named(self, pattern: FilePattern, name: str) -> list[DumpFile]:
        """Return the files of one tensor."""
        found = []
        for path_name, path in self.paths.items():
            match = pattern.match(path_name)
            if match is not None:
                iteration = int(match["iteration"]) if "iteration" in match else None
                found.append(DumpFile(path, name, iteration, pattern=match["pattern"]))
        return found

    def _members(self, path: Path) -> dict[str, Callable[[], Array]]:
        if path not in self._read_archives:
            stored = self._formats.read(path)
            iterations = [read for run in stored.runs for read in run.iterations]
            if len(iterations) != 1:
                raise FileError(
                    f"{path} holds {len(iterations)} iterations, and a dump has one in a file",
                    hint=f"files that polycmp saved need no map: --load-outputs {path}",
                )
            self._read_archives[path] = {
                name: lambda name=name, read=iterations[0]: np.asarray(read()[name])  # type: ignore[misc]
                for name in iterations[0]()
            }
        return self._read_archives[path]

    def read(self, file: DumpFile, dtype: str, byte_order: str) -> Array:
        """Return an array as its file has it: with its shape where the file tells it, else flat.

        Args:
            file: The file.
            dtype: Element type of files that do not say it.
            byte_order: `little` or `big`, of files that do not say it.

        Raises:
            FileError: It is damaged, or holds something else.
        """
        suffix = file.path.suffix.lower()
        try:
            if file.member:
                return self._members(file.path)[file.member]()
            if suffix == ".npy":
                return native(np.asarray(np.load(file.path, mmap_mode="r", allow_pickle=False)))
            if suffix in _TEXT:
                return _read_text(file.path, as_dtype(dtype))
            if suffix in _ONNX:
                return _read_onnx(file.path)
            return _read_raw(file.path, as_dtype(dtype), byte_order)
        except PolycmpError:
            raise
        except Exception as error:
            raise FileError(f"cannot read {file}", why=describe_exception(error)) from error


def _read_raw(path: Path, dtype: np.dtype[Any], byte_order: str) -> Array:
    size = path.stat().st_size
    if size % dtype.itemsize:
        raise FileError(
            f"{path} has {size} bytes, which is no whole number of {dtype.name}, of {dtype.itemsize} bytes each",
            hint="give the type that it holds in the map: dtype = …",
        )
    if not size:
        return np.zeros(0, dtype)
    if dtype.itemsize == 1 or byte_order == "little":
        return native(np.memmap(path, np.uint8, "r").view(dtype))
    width = np.dtype(f">u{dtype.itemsize}")
    return np.fromfile(path, width).astype(width.newbyteorder("=")).view(dtype)


def _read_text(path: Path, dtype: np.dtype[Any]) -> Array:
    """Return the numbers of a text, with its lines as rows; numbers are parted by blanks, commas or semicolons."""
    words = re.sub(r"[,;\[\]()]", " ", path.read_text(encoding="utf-8-sig")).split()
    return np.array([float(word) for word in words]).astype(dtype)


def _read_onnx(path: Path) -> Array:
    try:
        from onnx import TensorProto, numpy_helper
    except ImportError as error:
        raise PluginError(
            f"reading {path} needs ONNX", whose="dump", why=str(error), hint="pip install 'polycmp-dump[onnx]'"
        ) from error
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    if not tensor.data_type:
        raise FileError(f"{path} holds no tensor of ONNX")
    return np.asarray(numpy_helper.to_array(tensor))


def _first_match(patterns: Iterable[FilePattern], name: str) -> Mapping[str, str] | None:
    return next((match for pattern in patterns if (match := pattern.match(name)) is not None), None)


def _by_folders(names: Sequence[str]) -> dict[str, Mapping[str, str]]:
    """Return the name of the tensor, and the iteration, of each file by its path.

    Folders with numbers at their ends that hold files of the same names are iterations. Other folders are part of the
    tensors' names, as they are where these have slashes in them.
    """
    for depth in range(max((_depth(name) for name in names), default=0)):
        numbers = {name.split("/")[depth] for name in names if _depth(name) > depth}
        held = {
            folder: {name.split("/", depth + 1)[-1] for name in names if name.split("/")[depth : depth + 1] == [folder]}
            for folder in numbers
        }
        is_counted = all(re.search(r"\d$", folder) for folder in numbers) and min(map(_depth, names)) > depth
        if is_counted and frozenset.intersection(*map(frozenset, held.values())):
            return {name: _named(name, depth) for name in names}
    return {name: _named(name, None) for name in names}


def _depth(name: str) -> int:
    return name.count("/")


def _named(name: str, depth: int | None) -> dict[str, str]:
    parts = name.split("/")
    last = Path(parts[-1])
    parts[-1] = last.stem if last.suffix.lower() in _KNOWN else last.name
    if depth is None:
        return {"tensor": "/".join(parts), "pattern": name}
    number = re.findall(r"\d+", parts[depth])[-1]
    whole = name.split("/")
    whole[depth] = f"{whole[depth][: -len(number)]}{_ITERATION}"
    return {"iteration": number, "tensor": "/".join(parts[depth + 1 :]), "pattern": "/".join(whole)}

"""The list of contents that binary files carry, which the containers themselves cannot say."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from polycmp.builtin.formats.jsoncode import members_beside, read_beside
from polycmp.errors import FileError
from polycmp.options import parse_json
from polycmp.results import ARRAYS, OUTPUTS, IterationResult, Stored, StoredRun, pack, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

_VERSION = 1
T = TypeVar("T")


class Manifest:
    """The list of what a binary container holds, which the container itself cannot say.

    Tensor names, labels and element types are free text there, so any of them survives. Arrays are stored under
    `ITERATION/NAME` (inputs) or `RUN/ITERATION/NAME` (outputs), with a number for a name that no archive could hold.

    Args:
        kind: `inputs` or `outputs`.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._runs: dict[str, list[dict[str, Any]]] = {}
        self._last: list[dict[str, Any]] = []

    def add(self, label: str, arrays: Mapping[str, Any], runtime: float | None) -> list[tuple[str, NDArray[Any]]]:
        """List one iteration.

        Returns:
            The name and plain array of each entry that has to be stored.

        Raises:
            FileError: An element type cannot be stored.
        """
        iterations = self._runs.setdefault(label, [])
        place = f"{len(iterations)}"
        if self.kind == OUTPUTS:
            place = f"{list(self._runs).index(label)}/{place}"
        tensors: list[dict[str, Any]] = []
        entries = []
        for index, (name, value) in enumerate(arrays.items()):
            plain, dtype = pack(name, value)
            entry = f"{place}/{name if _is_plain(name) else f'#{index}'}"
            shape = list(getattr(value, "shape", plain.shape))
            tensors.append({"name": name, "entry": entry, **({"dtype": dtype, "shape": shape} if dtype else {})})
            entries.append((entry, plain))
        self._last = tensors
        runtime = None if runtime is None else float(runtime)
        iterations.append({"runtime": runtime, **members_beside(arrays), "tensors": tensors})
        return entries

    def last_tensors(self) -> list[dict[str, Any]]:
        """Return the entries that the last call of `add` listed."""
        return self._last

    def to_json(self) -> str:
        """Return it as JSON text in ASCII."""
        runs = [{"label": label, "iterations": iterations} for label, iterations in self._runs.items()]
        return json.dumps({"polycmp": self.kind, "version": _VERSION, "runs": runs})


def stored_from_manifest(text: str | bytes, read: Callable[[str], NDArray[Any]]) -> Stored:
    """Read the tensors that a container's manifest lists.

    Args:
        text: The manifest.
        read: Returns the plain array of an entry.

    Raises:
        FileError: The manifest is damaged or of a later version.
    """
    try:
        listed = parse_json(text)
        kind, version = _checked(listed["polycmp"], str), _checked(listed["version"], int)
        if version > _VERSION:
            raise FileError(
                f"it was written by a later polycmp (version {version} of the format, this one reads {_VERSION})",
                hint="pip install -U polycmp",
            )
        runs = [
            StoredRun(label, [_reader(label, it, read) for it in _checked(run["iterations"], list)])
            for run in _checked(listed["runs"], list)
            for label in [_checked(run["label"], str)]
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError("its list of contents is damaged", why=repr(error)) from error
    return Stored(kind, runs, keeps_file_open=True)


def stored_from_arrays(names: Sequence[str], label: str, read: Callable[[str], NDArray[Any]]) -> Stored:
    """Return one iteration made of all arrays in a container that another program wrote."""

    def iteration() -> IterationResult:
        return IterationResult({name: unpack(read(name), "", ()) for name in names}, None, label)

    return Stored(ARRAYS, [StoredRun(label, [iteration])], keeps_file_open=True)


def _reader(
    label: str, listed: Mapping[str, Any], read: Callable[[str], NDArray[Any]]
) -> Callable[[], IterationResult]:
    runtime = None if listed["runtime"] is None else float(listed["runtime"])
    tensors = [
        (
            _checked(tensor["name"], str),
            _checked(tensor["entry"], str),
            _checked(tensor.get("dtype", ""), str),
            [_checked(size, int) for size in _checked(tensor.get("shape", []), list)],
        )
        for tensor in _checked(listed["tensors"], list)
    ]

    beside = read_beside(IterationResult(dict.fromkeys(name for name, *_ in tensors), runtime, label), listed)

    def iteration() -> IterationResult:
        return beside.holding({name: unpack(read(entry), dtype, shape) for name, entry, dtype, shape in tensors})

    return iteration


def _checked(value: Any, kind: type[T]) -> T:
    """Return a value of the kind that it has to be.

    Raises:
        TypeError: It is of another.
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{value!r} instead of a {kind.__name__}")
    return value


def _is_plain(name: str) -> bool:
    return name.isprintable() and 0 < len(name) <= 200 and "\\" not in name and name.isascii() and name[0] != "#"

"""What the processes of a recorded program keep: one file for each call, until `polycmp record` takes them over.

The folder belongs to all processes of the program. They agree by a file of claims to which each only appends: its order
decides which calls are the first `--max-calls`, which one repeats another, and where `--max-size` is reached.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

CLAIMS, EVENTS, DESCRIPTION = "claims", "events", "model.json"
#: Kinds of events: a library was imported, a call could not be kept, a call was too large for what is left to keep.
LIBRARY, FAILURE, TOO_LARGE = "library", "failure", "too large"
_DIGEST = 16
#: A claim: the model, the inputs, who claims, and the size of the call in bytes.
_CLAIM = struct.Struct(f"<{_DIGEST}s{_DIGEST}s{_DIGEST}sQ")
#: Characters of a library's message that are shown.
_LONGEST = 1000


class RecordingSettings(NamedTuple):
    """What to keep.

    Attributes:
        folder: Folder for it, which exists.
        every: Every how many-th call of a model is looked at.
        max_calls: How many calls of one model are kept.
        max_size: How many bytes are kept in all.
        duplicates: Whether calls are kept whose inputs were kept already.
    """

    folder: str
    every: int
    max_calls: int
    max_size: int
    duplicates: bool

    @classmethod
    def from_text(cls, text: str) -> list[RecordingSettings]:
        """Return the settings of all recordings that `to_text` has put into a text."""
        return [cls(**fields) for fields in json.loads(text)]

    def to_text(self, others: str = "[]") -> str:
        """Return the settings as a text for the environment.

        Args:
            others: The text of the recordings that this one runs in.
        """
        return json.dumps([*json.loads(others), self._asdict()])


class Model:
    """A model that the program has made ready to run.

    Args:
        backend: polycmp's name for the library.
        library: The library and its version.
        options: What the library was asked for.
        path: The file, None where the program had none.
        content: The file's content, where the program had nothing else.
        all_outputs: Names of all outputs, where a call may ask for some of them.

    Attributes:
        outputs: The same names in the model's order.
    """

    def __init__(
        self,
        backend: str,
        library: str,
        options: Mapping[str, Any],
        path: Any = None,
        content: bytes | None = None,
        all_outputs: Sequence[str] | None = None,
    ) -> None:
        self.facts: dict[str, Any] = {"backend": backend, "library": library, "options": dict(options)}
        self.outputs = list(all_outputs or ())
        self.facts["all_outputs"] = None if all_outputs is None else sorted(all_outputs)
        if path is not None:
            file = Path(os.fsdecode(path)).absolute()
            state = file.stat()
            self.facts.update(path=str(file), size=state.st_size, mtime_ns=state.st_mtime_ns)
        self.content = content
        if content is not None:
            self.facts.update(content=hashlib.sha256(content).hexdigest(), size=len(content))
        self.identity = hashlib.blake2b(_json(self.facts), digest_size=_DIGEST).digest()
        self.calls = itertools.count()
        self._orders: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[list[str], list[str], bytes]] = {}

    @property
    def name(self) -> str:
        """The name of the model's file."""
        return os.path.basename(self.facts.get("path", "")) or "a model without a file"  # noqa: PTH119 - as above

    def order(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> tuple[list[str], list[str], bytes]:
        """Return the sorted names of a call's inputs and outputs, and both as bytes; calls of one kind share them."""
        key = (tuple(inputs), tuple(outputs))
        order = self._orders.get(key)
        if order is None:
            input_names, output_names = sorted(inputs), sorted(outputs)
            order = self._orders[key] = (input_names, output_names, _json([input_names, output_names]))
        return order


class Spool:
    """Keeps calls of this process.

    Args:
        settings: What to keep.
    """

    def __init__(self, settings: RecordingSettings) -> None:
        self._settings = settings
        self._folder = Path(settings.folder)
        self._renew()
        if hasattr(os, "register_at_fork"):  # in the child the lock may be held by a thread that is not there
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._claims = _Claims(self._folder / CLAIMS, self._settings)
        self._noted_kinds: set[str] = set()
        self._described: set[Path] = set()

    def careful(self, function: Callable[..., Any], *first: Any) -> Callable[..., Any]:
        """Return a function of ours for the program to call: whatever goes wrong in it is told, and no more."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*first, *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - the program goes on whatever happens here
                self._tell(error)
                return None

        return call

    def saw(self, library: str) -> None:
        """Note that the program has imported a library whose calls are watched."""
        self._note(LIBRARY, library)

    def due(self, model: Model) -> bool:
        """Return whether the call that is being made may be kept; asked once for each call."""
        return next(model.calls) % self._settings.every == 0 and not self._claims.full(model.identity)

    def keep(self, model: Model, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Keep a call, unless its inputs are known or there are enough.

        Raises:
            Exception: It cannot be kept.
        """
        input_names, output_names, names = model.order(inputs, outputs)
        arrays = [as_array(inputs[name], name) for name in input_names]
        digest = _digest(names, arrays)
        if self._claims.knows(model.identity, digest):  # most calls of a loop that warms up or measures
            return
        arrays += [as_array(outputs[name], name) for name in output_names]
        size = sum(array.nbytes for array in arrays)
        with self._lock:
            number = self._claims.claim(model.identity, digest, size)
        if number is None:
            if self._claims.stopped:
                limit = f"--max-size {self._settings.max_size} leaves {self._claims.remaining} bytes"
                self._note_once(TOO_LARGE, f"a call of {model.name} takes {size} bytes, and {limit}")
            return
        folder = self._folder / hashlib.blake2b(model.identity + names, digest_size=_DIGEST).hexdigest()
        if folder not in self._described:
            self._describe(folder, model, {**model.facts, "inputs": input_names, "outputs": output_names})
            self._described.add(folder)
        _write_whole(folder / f"{number:010d}.npy", functools.partial(_write_arrays, arrays))

    def _describe(self, folder: Path, model: Model, facts: Mapping[str, Any]) -> None:
        folder.mkdir(exist_ok=True)
        content = model.content
        if content is not None and len(content) <= self._settings.max_size:
            _write_whole(self._folder / facts["content"], lambda file: file.write(content))
        _write_whole(folder / DESCRIPTION, lambda file: file.write(_json(facts)))

    def _tell(self, error: Exception) -> None:
        if FAILURE in self._noted_kinds:
            return
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        with suppress(OSError, ValueError, AttributeError):  # standard error may be closed
            sys.stderr.write(f"polycmp record: not all calls can be recorded: {reason}\n")
        with suppress(OSError):  # the disk may be full, which was the reason
            self._note_once(FAILURE, reason)

    def _note_once(self, kind: str, text: str) -> None:
        if kind not in self._noted_kinds:
            self._noted_kinds.add(kind)
            self._note(kind, text)

    def _note(self, kind: str, text: str) -> None:
        _append(self._folder / EVENTS, _json({kind: text}) + b"\n")


class _Claims:
    """Which calls are kept, as all processes of the program agree on it.

    Args:
        path: The file of claims.
        settings: What to keep.

    Attributes:
        stopped: Whether nothing more is kept, since a call was larger than what is left.
    """

    def __init__(self, path: Path, settings: RecordingSettings) -> None:
        self._path = path
        self._settings = settings
        self._read = 0
        self._size = 0
        self.stopped = False
        self._counts: Counter[bytes] = Counter()
        self._seen: set[tuple[bytes, bytes]] = set()

    def full(self, model: bytes) -> bool:
        """Return whether nothing more of a model is kept."""
        return self.stopped or self._counts[model] >= self._settings.max_calls

    def knows(self, model: bytes, inputs: bytes) -> bool:
        """Return whether a call is known to be no new one, without a look at what other processes have claimed."""
        return not self._settings.duplicates and (model, inputs) in self._seen

    @property
    def remaining(self) -> int:
        """Bytes that may still be kept."""
        return self._settings.max_size - self._size

    def claim(self, model: bytes, inputs: bytes, size: int) -> int | None:
        """Return the how many-th call of a model this one is; None if it is not to be kept."""
        self._catch_up(b"")
        if not self._admits(model, inputs, size):
            return None
        token = os.urandom(_DIGEST)
        _append(self._path, _CLAIM.pack(model, inputs, token, size))
        return self._catch_up(token)

    def _admits(self, model: bytes, inputs: bytes, size: int) -> bool:
        if self.full(model) or self.knows(model, inputs):
            return False
        self.stopped = size > self.remaining
        return not self.stopped

    def _catch_up(self, token: bytes) -> int | None:
        """Take in what other processes have claimed, and return the number of one's own claim if it is admitted."""
        number = None
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._read)
            text = file.read()
            whole = len(text) // _CLAIM.size * _CLAIM.size
            self._read += whole
            for model, inputs, who, size in _CLAIM.iter_unpack(text[:whole]):
                if not self._admits(model, inputs, size):
                    continue
                if who == token:
                    number = self._counts[model]
                self._counts[model] += 1
                self._seen.add((model, inputs))
                self._size += size
        return number


def as_array(value: Any, name: str) -> Any:
    """Return a value that goes into or comes out of a model as an array that can be saved.

    Raises:
        TypeError: It is none.
    """
    import numpy as np

    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.flat):
        array = array.astype(str)
    if array.dtype.kind not in "biufcUS":
        raise TypeError(f"{name!r} is no array of numbers or text but {type(value).__name__} of {array.dtype}")
    return array


def _digest(names: bytes, arrays: list[Any]) -> bytes:
    import numpy as np

    total = hashlib.blake2b(names, digest_size=_DIGEST)
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return total.digest()


class _Plain:
    """A file that NumPy takes for no real one: writing by C it cannot tell why it stopped, such as a full disk."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write


def _write_arrays(arrays: list[Any], file: BinaryIO) -> None:
    import numpy as np

    for array in arrays:
        np.save(_Plain(file), array, allow_pickle=False)


def _write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = path.with_name(f"{path.name}.{os.urandom(4).hex()}.part")
    try:
        with temporary.open("xb") as file:
            write(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _append(path: Path, record: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(record)


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()

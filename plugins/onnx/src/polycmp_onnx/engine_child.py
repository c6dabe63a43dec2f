"""The process of an engine that prints and that ends where a model surprises it; its runner is `EngineRunner`."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polycmp.errors import describe_exception
from polycmp.process import Connection
from polycmp.tensors import as_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LOG", "ONNX", "EngineSession", "serve"]

#: Files of the folder that runner and process share: the model, and what the engine prints.
ONNX, LOG = "model.onnx", "log.txt"
#: Bytes of a file that a converter may write: a choice. Converters hold the weights once or twice, in float32 at most,
#: and a converter that goes wrong has filled a disk (34 GB for a model of a few MB).
_MODELS, _BYTES = 8, 1 << 30


class EngineSession(Protocol):
    """A model in an engine. The current folder holds the model, and may hold what the engine makes of it."""

    def open(self, message: Mapping[str, Any]) -> None:
        """Convert the model, in place of one that was open.

        Args:
            message: The settings that the runner sent.

        Raises:
            Exception: The engine cannot take the model; the runner is told why.
        """

    def run(self, inputs: Sequence[NDArray[Any]], outputs: int) -> Sequence[NDArray[Any]]:
        """Return the outputs for one feed.

        Args:
            inputs: The arrays, in the model's order.
            outputs: Number of outputs that the model has.

        Raises:
            Exception: The engine fails; the runner is told why.
        """


def serve(session: EngineSession, arguments: Sequence[str]) -> None:
    """Answer the requests of a runner until it wants no more, and end the process.

    Args:
        session: Converts and runs.
        arguments: The process's arguments: the parent's number.
    """
    connection = Connection(int(arguments[0]))
    while (message := connection.receive()) is not None:
        answer: dict[str, Any] = {}
        try:
            _answer(session, message)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is an answer
            answer = {"error": _in_words(error)}
        with suppress(OSError, TypeError, AttributeError):
            ctypes.CDLL(None).fflush(None)  # what C has kept of what it printed
        connection.send(answer)
    os._exit(0)  # an engine may crash while it is unloaded, which says nothing of the model


def _in_words(error: Exception) -> str:
    """Return what an error says in one line; a single word, as of a KeyError, says nothing without the type."""
    text = " ".join(f"{error}".split())
    return text if " " in text else describe_exception(error)


def _answer(session: EngineSession, message: Mapping[str, Any]) -> None:
    if message["command"] == "open":
        os.chdir(message["folder"])
        _print_to(LOG)
        with _files_end_at(largest_file(".")):
            session.open(message)
        return
    inputs = [np.load(f"input{number}.npy").view(as_dtype(name)) for number, name in enumerate(message["inputs"])]
    results = session.run(inputs, message["outputs"])
    if len(results) != message["outputs"]:
        raise RuntimeError(f"the engine gives {len(results)} of {message['outputs']} outputs")
    for number, array in enumerate(results):
        np.save(f"output{number}.npy", array if is_plain(array) else array.astype(np.float32))


def is_plain(array: NDArray[Any]) -> bool:
    """Return whether a file of NumPy can hold an array: of the types of ml_dtypes it knows none."""
    return array.dtype.isbuiltin == 1


def largest_file(folder: str) -> int:
    """Return how many bytes a file may have that an engine makes of a model.

    Args:
        folder: Where the model is, with what was made of it before.
    """
    with os.scandir(folder) as entries:
        return _BYTES + _MODELS * sum(entry.stat().st_size for entry in entries if entry.name.startswith(ONNX))


@contextmanager
def _files_end_at(size: int) -> Iterator[None]:
    """End this process, and what it starts, where it writes a longer file meanwhile; Python goes on unless told."""
    try:
        import resource
    except ImportError:  # a system without such limits
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    hard = before[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def _print_to(name: str) -> None:
    """Have what is printed go into a new file, also what C and other programs print."""
    log = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)

"""The process of an engine that prints and that ends where a model surprises it; its runner is `EngineRunner`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polycmp.process import Connection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LOG", "ONNX", "EngineSession", "serve"]

#: Files of the folder that runner and process share: the model, and what the engine prints.
ONNX, LOG = "model.onnx", "log.txt"


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
            answer = {"error": f"{error}" or type(error).__name__}
        with suppress(OSError, TypeError, AttributeError):
            ctypes.CDLL(None).fflush(None)  # what C has kept of what it printed
        connection.send(answer)
    os._exit(0)  # an engine may crash while it is unloaded, which says nothing of the model


def _answer(session: EngineSession, message: Mapping[str, Any]) -> None:
    if message["command"] == "open":
        os.chdir(message["folder"])
        _print_to(LOG)
        session.open(message)
        return
    inputs = [np.load(f"input{number}.npy") for number in range(message["inputs"])]
    results = session.run(inputs, message["outputs"])
    if len(results) != message["outputs"]:
        raise RuntimeError(f"the engine gives {len(results)} of {message['outputs']} outputs")
    for number, array in enumerate(results):
        np.save(f"output{number}.npy", array)


def _print_to(name: str) -> None:
    """Have what is printed go into a new file, also what C and other programs print."""
    log = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)

"""The process that converts a model and runs it: MNN prints to standard output, and ends where a model surprises it."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.process import Connection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOG = "log.txt"
#: MNN's number of the hint that chooses sizes of tiles for Winograd's method; level 0 takes the least.
_WINOGRAD_MEMORY_LEVEL = 3
ONNX, CONVERTED = "model.onnx", "model.mnn"


class Session:
    """A model in MNN; files of the current folder hold it, and the arrays that go in and come out."""

    def __init__(self) -> None:
        self._module: Any = None

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        return {"open": self._open, "run": self._run}[message["command"]](message)

    def _open(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._module = None
        # The converter keeps weights in the current folder for a while, in a file whose name is always the same: of two
        # that converted in one folder at once, one took zeros for its weights, without a word (MNN 3.6.1).
        os.chdir(message["folder"])
        _print_to(LOG)
        # MNN's own command and MNN.tools have pip install a package for logging, and report each conversion.
        import _tools

        words = ["-f", "ONNX", "--modelFile", ONNX, "--MNNModel", CONVERTED]
        _tools.mnnconvert(["mnnconvert", *words, "--bizCode", "polycmp", *message["words"]])
        if not Path(CONVERTED).exists():
            raise RuntimeError("MNN does not convert the model")
        from MNN import expr, nn

        chosen: dict[str, Any] = {"precision_mode": getattr(expr.PrecisionMode, message["precision"].capitalize())}
        chosen["thread_num"] = message["threads"]
        if not message["winograd"]:
            config = {"backend": "CPU", "precision": message["precision"], "numThread": message["threads"]}
            manager = nn.create_runtime_manager((config,))
            manager.set_hint(_WINOGRAD_MEMORY_LEVEL, 0)
            chosen = {"runtime_manager": manager}
        inputs, outputs = list(message["inputs"]), list(message["outputs"])
        self._module = nn.load_module_from_file(CONVERTED, inputs, outputs, **chosen)
        return {}

    def _run(self, message: Mapping[str, Any]) -> dict[str, Any]:
        from MNN import expr

        inputs = [np.load(f"input{number}.npy") for number in range(message["inputs"])]
        kinds = {"f": expr.float, "i": expr.int, "u": expr.uint8}
        variables = [expr.const(array, list(array.shape), expr.NCHW, kinds[array.dtype.kind]) for array in inputs]
        results = self._module.onForward(variables)
        if len(results) != message["outputs"]:
            raise RuntimeError(f"MNN gives {len(results)} of {message['outputs']} outputs")
        for number, result in enumerate(results):
            plain = expr.convert(result, expr.NCHW) if result.data_format == expr.NC4HW4 else result
            array = plain.read()
            if array is None:
                raise RuntimeError("MNN gives an output without numbers")
            np.save(f"output{number}.npy", np.asarray(array).reshape(result.shape))
        return {}


def main(arguments: Sequence[str]) -> None:
    """Answer the requests of this process's parent.

    Args:
        arguments: The parent's number.
    """
    connection = Connection(int(arguments[0]))
    session = Session()
    while (message := connection.receive()) is not None:
        try:
            answer = session.answer(message)
        except Exception as error:  # noqa: BLE001 - whatever MNN raises is an answer
            answer = {"error": str(error)}
        _flush()
        connection.send(answer)
    os._exit(0)  # MNN may crash while it is unloaded, which says nothing of the model


def _print_to(name: str) -> None:
    """Have what is printed go into a file, also what C prints."""
    log = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


def _flush() -> None:
    """Write what C has kept of the output."""
    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).fflush(None)

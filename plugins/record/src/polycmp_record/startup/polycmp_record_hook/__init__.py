"""The part that runs inside the recorded program: it watches calls of models, and keeps some of them.

Whatever goes wrong here is a line on standard error, and the program goes on.
"""

from __future__ import annotations

import os
import sys

from .imports import after_import

TYPE_CHECKING = False  # as `typing` has it, which the program may not need
if TYPE_CHECKING:
    from types import ModuleType

    from .spool import Spool

#: The variable that holds the settings, and by which a process knows that it is to be recorded.
VARIABLE = "POLYCMP_RECORD"
#: Modules whose calls are watched, and who watches them.
WATCHED = {
    "onnxruntime": "ort_sessions",
    "openvino": "openvino_requests",
    "ai_edge_litert.interpreter": "litert",
    "tflite_runtime.interpreter": "litert",
    "tensorflow.lite.python.interpreter": "litert",
}


def start() -> None:
    """Have the calls of every library that this process is going to import watched."""
    text = os.environ.get(VARIABLE)
    if text is not None:
        hook = _Hook(text)
        for name in WATCHED:
            after_import(name, hook.watch)


class _Hook:
    """Watches libraries once they are imported; what that takes is imported then, too.

    Args:
        settings: The settings of the recordings as text; a program that records may be recorded itself.
    """

    def __init__(self, settings: str) -> None:
        self._settings = settings
        self._spools: list[Spool] = []

    def watch(self, module: ModuleType) -> None:
        """Watch the calls of a library."""
        writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            from importlib import import_module

            from .spool import RecordingSettings, Spool

            self._spools = self._spools or [Spool(settings) for settings in RecordingSettings.from_text(self._settings)]
            watcher = import_module(f".{WATCHED[module.__name__]}", __name__)
            for spool in self._spools:
                watcher.watch(spool, module)
        except Exception as error:  # noqa: BLE001 - the program goes on whatever happens here
            sys.stderr.write(f"polycmp record: {module.__name__} is not recorded: {type(error).__name__}: {error}\n")
        finally:
            sys.dont_write_bytecode = writes

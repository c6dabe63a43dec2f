"""ONNX Runtime as a polycmp backend: the loader of sessions and the runner.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor ONNX
Runtime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx, session_from_onnx

__all__ = ["OnnxrtRunner", "SessionFromOnnx", "session_from_onnx"]

_HOME = {"OnnxrtRunner": "runner", "SessionFromOnnx": "session", "session_from_onnx": "session"}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""ONNX Runtime as a polycmp backend: the loader of sessions and the runner.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor ONNX
Runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_onnxrt.runner import OnnxrtRunner
    from polycmp_onnxrt.session import SessionFromOnnx, session_from_onnx

__all__ = ["OnnxrtRunner", "SessionFromOnnx", "session_from_onnx"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        __name__, {"runner": ["OnnxrtRunner"], "session": ["SessionFromOnnx", "session_from_onnx"]}
    )

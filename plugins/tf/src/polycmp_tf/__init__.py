"""TensorFlow 2 and LiteRT as a polycmp backend: the loader of models and the runner.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor TensorFlow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polycmp_tf.model import TfFromFile
    from polycmp_tf.runner import TfRunner

__all__ = ["TfFromFile", "TfRunner"]

_HOME = {"TfFromFile": "model", "TfRunner": "runner"}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

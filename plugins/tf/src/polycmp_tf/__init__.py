"""TensorFlow 2 and LiteRT as a polycmp backend: the loader of models and the runner.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor TensorFlow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_tf.model import TfFromFile
    from polycmp_tf.runner import TfRunner

__all__ = ["TfFromFile", "TfRunner"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(__name__, {"model": ["TfFromFile"], "runner": ["TfRunner"]})

"""OpenVINO as a polycmp backend: the loader of models and the runner.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor OpenVINO.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_openvino.model import OpenvinoModel, openvino_model
    from polycmp_openvino.runner import OpenvinoRunner

__all__ = ["OpenvinoModel", "OpenvinoRunner", "openvino_model"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        __name__, {"model": ["OpenvinoModel", "openvino_model"], "runner": ["OpenvinoRunner"]}
    )

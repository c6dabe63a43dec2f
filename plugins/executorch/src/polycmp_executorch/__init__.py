"""ExecuTorch as a backend of polycmp.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_executorch.model import PteFromFile, PteFromTorch, PteModel
    from polycmp_executorch.runner import ExecuTorchRunner

__all__ = ["ExecuTorchRunner", "PteFromFile", "PteFromTorch", "PteModel"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        __name__, {"model": ["PteFromFile", "PteFromTorch", "PteModel"], "runner": ["ExecuTorchRunner"]}
    )

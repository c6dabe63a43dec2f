"""PyTorch as a polycmp backend: loaders of modules and the runner.

The names below are imported when they are first used, so that describing the plugin costs neither NumPy nor PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polycmp.spec import lazy_names

if TYPE_CHECKING:
    from polycmp_torch.model import TorchFromFile, TorchFromOnnx, TorchFromScript, TorchModel
    from polycmp_torch.runner import TorchRunner

__all__ = ["TorchFromFile", "TorchFromOnnx", "TorchFromScript", "TorchModel", "TorchRunner"]

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        __name__,
        {"model": ["TorchFromFile", "TorchFromOnnx", "TorchFromScript", "TorchModel"], "runner": ["TorchRunner"]},
    )

"""The process that converts a model for MNN and runs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp_onnx.engine_child import ONNX, serve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

#: MNN's number of the hint that chooses sizes of tiles for Winograd's method; level 0 takes the least.
_WINOGRAD_MEMORY_LEVEL = 3
_CONVERTED = "model.mnn"


class MnnSession:
    """A model in MNN."""

    def __init__(self) -> None:
        self._module: Any = None

    def open(self, message: Mapping[str, Any]) -> None:
        """Convert the model and load it.

        The converter keeps weights in the current folder for a while, in a file whose name is always the same: of two
        that converted in one folder at once, one took zeros for its weights, without a word (MNN 3.6.1). A runner has
        a folder of its own.
        """
        self._module = None
        # MNN's own command and MNN.tools have pip install a package for logging, and report each conversion.
        import _tools

        words = ["-f", "ONNX", "--modelFile", ONNX, "--MNNModel", _CONVERTED]
        _tools.mnnconvert(["mnnconvert", *words, "--bizCode", "polycmp", *message["words"]])
        if not Path(_CONVERTED).exists():
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
        self._module = nn.load_module_from_file(_CONVERTED, inputs, outputs, **chosen)

    def run(self, inputs: Sequence[NDArray[Any]], outputs: int) -> list[NDArray[Any]]:
        """Return the outputs for one feed."""
        from MNN import expr

        del outputs
        kinds = {"f": expr.float, "i": expr.int, "u": expr.uint8}
        variables = [expr.const(array, list(array.shape), expr.NCHW, kinds[array.dtype.kind]) for array in inputs]
        return [_array(result) for result in self._module.onForward(variables)]


def _array(result: Any) -> NDArray[Any]:
    from MNN import expr

    plain = expr.convert(result, expr.NCHW) if result.data_format == expr.NC4HW4 else result
    numbers = plain.read()
    if numbers is None:
        raise RuntimeError("MNN gives an output without numbers")
    array: NDArray[Any] = np.asarray(numbers).reshape(result.shape)
    return array


def main(arguments: Sequence[str]) -> None:
    """Answer the requests of this process's parent.

    Args:
        arguments: The parent's number.
    """
    serve(MnnSession(), arguments)

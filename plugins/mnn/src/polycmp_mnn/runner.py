"""The runner for models that MNN runs."""

from __future__ import annotations

import re
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, PluginError
from polycmp.tensors import dtype_name
from polycmp_mnn.plugin import Options
from polycmp_onnx.engine_runner import EngineRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polycmp.spec import ModelHandle

#: MNN holds each type as one of these three.
_HELD = {"f": np.float32, "V": np.float32, "i": np.int32, "b": np.int32, "u": np.int32}
_REASONS = r"error|fail|not support|can't|unsupport|don't|invalid|not onnx"


class MnnRunner(EngineRunner):
    """Converts an ONNX model for MNN, and runs it in a process of its own.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Precision, weights and threads; by default as MNN chooses them, on one core.
        start: Gives the process that MNN runs in; by default one of its own.
    """

    engine = "MNN"
    child = "polycmp_mnn.child"
    options: Options = Options()
    reasons = re.compile(_REASONS, re.IGNORECASE)

    def installed_version(self) -> str:
        """Return MNN's version.

        Raises:
            PluginError: MNN is not installed.
        """
        if find_spec("MNN") is None:
            raise PluginError(
                "needs MNN, which is not installed here", whose=self.name, hint="pip install 'polycmp-mnn[mnn]'"
            )
        return version("MNN")

    def prepare(self, feed_dict: Mapping[str, NDArray[Any]] | None) -> None:
        """Have the model converted once: MNN leaves sizes open.

        Raises:
            ModelError: MNN cannot take the model.
        """
        if feed_dict is not None:
            return
        options = self.options
        words = ["--fp16"] if options.fp16 else []
        words += ["--weightQuantBits", str(options.weight_bits)] if options.weight_bits else []
        chosen = {name: getattr(options, name) for name in ("precision", "winograd", "threads")}
        self.convert(words=words, inputs=[*self._inputs], outputs=[*self._outputs], **chosen)

    def held(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an input as MNN holds its type.

        Raises:
            BackendError: It has no such type.
        """
        kind = _HELD.get(array.dtype.kind)
        if kind is None or (array.dtype.kind == "V" and dtype_name(array.dtype) in ("int4", "uint4", "int2", "uint2")):
            raise BackendError(f"MNN takes no {dtype_name(array.dtype)}: input {name!r}", whose=self.name)
        held: NDArray[Any] = array.astype(kind)
        if array.dtype.kind in "iu" and not np.array_equal(held, array):
            raise BackendError(f"MNN has no whole numbers beyond 32 bits: input {name!r}", whose=self.name)
        return held


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> MnnRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return MnnRunner(model.load("onnx"), name, options)

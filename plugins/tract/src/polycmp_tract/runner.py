"""The runner for models that tract runs."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, ModelError, PluginError
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, native, to_numpy
from polycmp_onnx import save_onnx
from polycmp_onnx.graph import graph_inputs, tensor_metadata
from polycmp_onnx.load import given_model
from polycmp_tract.plugin import Options

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle

#: Types that tract's interface passes on.
_PASSED = frozenset("?bBhHiIlLqQefd")


class TractRunner(Runner):
    """Runs an ONNX model in tract.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: The type to calculate in; by default the model's own.
    """

    outputs_stay_valid = True

    def __init__(self, model: Any, name: str = "", options: Options | None = None) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._runnable: Any = None

    def activate_impl(self) -> None:
        """Read and compile the model.

        Raises:
            PluginError: tract is not installed.
            ModelError: tract cannot take the model.
        """
        try:
            import tract
        except ImportError as error:
            raise PluginError(
                "needs tract, which is not installed here", whose="tract", why=str(error),
                hint="pip install 'polycmp-tract[tract]'",
            ) from error  # fmt: skip
        model = given_model(self._source)
        self._inputs = tensor_metadata(graph_inputs(model.graph))
        self._outputs = tensor_metadata(model.graph.output)
        self._error, self._int64 = tract.TractError, tract.DatumType.I64
        with tempfile.TemporaryDirectory(prefix="polycmp-tract-", ignore_cleanup_errors=True) as folder:
            path = Path(folder, "model.onnx")
            save_onnx(model, path)
            try:
                loaded = tract.onnx().load(str(path))
                self._order = [loaded.input_name(number) for number in range(loaded.input_count())]
                compiled = loaded.into_model()
                if self._options.fp16:
                    compiled.transform("f32_to_f16")
                self._runnable = compiled.into_runnable()
            except tract.TractError as error:
                raise ModelError("tract cannot take the model", whose=self.name, why=_causes(error)) from error
        self.backend_version = version("tract")

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self._inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: tract fails, or takes no arrays of an input's type.
        """
        arrays = [np.asarray(native(to_numpy(feed_dict[name])), order="C") for name in self._order]
        for name, array in zip(self._order, arrays, strict=True):
            if array.dtype.char not in _PASSED:
                raise BackendError(f"tract takes no {array.dtype.name} through Python: input {name!r}", whose=self.name)
        if self._options.fp16:
            arrays = [array.astype(np.float16) if array.dtype == np.float32 else array for array in arrays]
        try:
            tensors = self._runnable.run(arrays)
            return {name: self._array(name, tensor) for name, tensor in zip(self._outputs, tensors, strict=True)}
        except self._error as error:
            raise BackendError("inference failed", whose=self.name, why=_causes(error)) from error

    def deactivate_impl(self) -> None:
        """Let the compiled model go."""
        self._runnable = None

    def _array(self, name: str, tensor: Any) -> Any:
        """Return an output in the type that the model declares: tract has one of its own for sizes of tensors."""
        dtype = self._outputs[name].dtype
        if dtype == np.int64:
            tensor = tensor.convert_to(self._int64)
        array = tensor.to_numpy()
        return array if dtype is None else array.astype(dtype, copy=False)


def _causes(error: Exception) -> str:
    """Return tract's message with its causes in one line."""
    told = str(error).partition("Stack backtrace:")[0]
    return " ".join(told.replace("Caused by:", "because of").split())


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> TractRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return TractRunner(model.load("onnx"), name, options)

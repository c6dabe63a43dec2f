"""The runner for models that MNN runs."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, ModelError, PluginError, PolycmpError
from polycmp.process import ChildProcess
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, dtype_name, native, to_numpy
from polycmp_mnn.child import LOG, ONNX
from polycmp_mnn.plugin import Options
from polycmp_onnx import save_onnx
from polycmp_onnx.graph import graph_inputs, tensor_metadata
from polycmp_onnx.load import given_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from polycmp.spec import ModelHandle

#: MNN holds each type as one of these three.
_HELD = {"f": np.float32, "V": np.float32, "i": np.int32, "b": np.int32, "u": np.int32}
#: Words of MNN's messages that say why it gives up, as against those that it always prints.
_REASONS = ("error", "fail", "not support", "can't", "unsupport", "don't", "invalid", "not onnx")


class MnnRunner(Runner):
    """Converts an ONNX model for MNN, and runs it in a process of its own.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Precision, weights and threads; by default as MNN chooses them, on one core.
        start: Gives the process that MNN runs in; by default one of its own.
    """

    outputs_stay_valid = True

    def __init__(
        self,
        model: Any,
        name: str = "",
        options: Options | None = None,
        start: Callable[[], ChildProcess] | None = None,
    ) -> None:
        super().__init__(name)
        self._source = model
        self._options = options or Options()
        self._start = start or start_child
        self._child: ChildProcess | None = None

    def activate_impl(self) -> None:
        """Convert the model and load what came of it.

        Raises:
            PluginError: MNN is not installed.
            ModelError: MNN cannot take the model.
        """
        if find_spec("MNN") is None:
            raise PluginError(
                "needs MNN, which is not installed here", whose=self.name, hint="pip install 'polycmp-mnn[mnn]'"
            )
        model = given_model(self._source)
        self._inputs = tensor_metadata(graph_inputs(model.graph))
        self._outputs = tensor_metadata(model.graph.output)
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-mnn-", ignore_cleanup_errors=True)
        try:
            save_onnx(model, Path(self._folder.name, ONNX))
            self._child = self._start()
            self._ask(ModelError, "MNN cannot take the model", **self._settings())
        except BaseException:
            self.deactivate_impl()
            raise
        self.backend_version = version("MNN")

    def _settings(self) -> dict[str, Any]:
        options = self._options
        words = ["--fp16"] if options.fp16 else []
        words += ["--weightQuantBits", str(options.weight_bits)] if options.weight_bits else []
        return {
            "command": "open",
            "folder": self._folder.name,
            "words": words,
            "inputs": [*self._inputs],
            "outputs": [*self._outputs],
            "precision": options.precision,
            "winograd": options.winograd,
            "threads": options.threads,
        }

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self._inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: MNN fails, ends, or takes no arrays of an input's type.
        """
        for number, name in enumerate(self._inputs):
            np.save(self._path(f"input{number}.npy"), self._held(name, native(to_numpy(feed_dict[name]))))
        self._ask(BackendError, "inference failed", command="run", inputs=len(self._inputs), outputs=len(self._outputs))
        return {
            name: self._declared(name, np.load(self._path(f"output{number}.npy")))
            for number, name in enumerate(self._outputs)
        }

    def deactivate_impl(self) -> None:
        """End the process and remove the converted model."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.close()
        self._folder.cleanup()

    def _held(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an input as MNN holds its type."""
        kind = _HELD.get(array.dtype.kind)
        if kind is None or (array.dtype.kind == "V" and dtype_name(array.dtype) in ("int4", "uint4", "int2", "uint2")):
            raise BackendError(f"MNN takes no {dtype_name(array.dtype)}: input {name!r}", whose=self.name)
        held = array.astype(kind)
        if array.dtype.kind in "iu" and not np.array_equal(held, array):
            raise BackendError(f"MNN has no whole numbers beyond 32 bits: input {name!r}", whose=self.name)
        return held

    def _declared(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an output in the type that the model declares."""
        dtype = self._outputs[name].dtype
        return array if dtype is None else array.astype(dtype, copy=False)

    def _ask(self, kind: type[PolycmpError], what: str, **request: Any) -> None:
        assert self._child is not None
        try:
            self._child.send(request)
            answer = self._child.receive()
        except BrokenPipeError:
            answer = None
        if answer is None:
            reason = f"its process {self._child.ending()}"
        elif "error" in answer:
            reason = answer["error"]
        else:
            return
        raise kind(what, whose=self.name, why="; ".join([reason, *self._reasons()]))

    def _reasons(self) -> list[str]:
        """Return what MNN printed of its reasons, the first few lines."""
        log = Path(self._path(LOG))
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        told = [" ".join(line.split()) for line in lines if any(word in line.lower() for word in _REASONS)]
        return [line[:200] for line in dict.fromkeys(told)][:3]

    def _path(self, name: str) -> str:
        return str(Path(self._folder.name, name))


def start_child() -> ChildProcess:
    """Return a process for MNN."""
    return ChildProcess("polycmp_mnn.child")


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> MnnRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return MnnRunner(model.load("onnx"), name, options)

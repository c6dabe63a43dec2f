"""The runner: each inference is a process of the script."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from polycmp.errors import BackendError
from polycmp.model import Model
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp_onnx.graph import graph_inputs, tensor_metadata

if TYPE_CHECKING:
    from polycmp_script.plugin import ScriptOptions

_SECONDS = 120


class ScriptRunner(Runner):
    """Runs a script in another interpreter.

    Args:
        load: Gives the model.
        options: Interpreter and script.
        name: The label in reports.
    """

    def __init__(self, load: Callable[[], Any], options: ScriptOptions, name: str = "") -> None:
        super().__init__(name)
        self._load = load
        self._command = [options.interpreter, options.script]

    def activate_impl(self) -> None:
        """Write the model where the script finds it."""
        self._model = self._load()
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-script-")
        onnx.save(self._model, str(Path(self._folder.name) / "model.onnx"))

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs as the file declares them."""
        return tensor_metadata(graph_inputs(self._model.graph))

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return what the script writes.

        Raises:
            BackendError: The script failed, or took too long.
        """
        model, inputs, outputs = (Path(self._folder.name) / name for name in ("model.onnx", "x.npz", "y.npz"))
        np.savez(inputs, allow_pickle=False, **{name: to_numpy(value) for name, value in feed_dict.items()})
        outputs.unlink(missing_ok=True)
        words = [*self._command, *map(str, (model, inputs, outputs))]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired as error:
            raise BackendError(f"no answer within {_SECONDS} s", whose=self.name) from error
        if done.returncode or not outputs.is_file():
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            raise BackendError("the script failed", whose=self.name, why=" ".join(lines[-4:]) or str(done.returncode))
        with np.load(outputs) as arrays:
            return {value.name: arrays[value.name] for value in self._model.graph.output}

    def deactivate_impl(self) -> None:
        """Remove the files."""
        self._folder.cleanup()
        del self._model


def make_runner(model: Model, options: ScriptOptions, *, name: str) -> ScriptRunner:
    """Return the backend `script`."""
    return ScriptRunner(model.load("onnx"), options, name)

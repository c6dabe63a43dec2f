"""The runner of engines that convert an ONNX model for themselves, print and crash: in a process of its own."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polycmp.errors import BackendError, ModelError, PolycmpError
from polycmp.process import ChildProcess, Ending
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, dtype_name, native, to_numpy
from polycmp_onnx.engine_child import LOG, ONNX, is_plain, largest_file
from polycmp_onnx.graph import graph_inputs, tensor_metadata
from polycmp_onnx.load import given_model
from polycmp_onnx.save import save_onnx

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EngineRunner"]

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
#: Lines of what an engine printed that an error shows, and characters of each.
_SHOWN, _LENGTH = 3, 200


class EngineRunner(Runner):
    """Runs an ONNX model in the process of an engine; a subclass says what is asked of that process.

    Arrays travel as files in a folder that both know. The process answers by `polycmp_onnx.engine_child.serve`.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: The backend's options; by default those of the class.
        start: Gives the process; by default a new one, of the module `child`.

    Attributes:
        engine: Name of the engine, for errors.
        child: Module of the process, with a function `main`.
        options: The backend's options; a subclass gives the defaults.
        reasons: Lines of what the engine prints that say why it gives up, as against those that it always prints.
    """

    outputs_stay_valid = True
    engine: ClassVar[str]
    child: ClassVar[str]
    options: Any
    reasons: ClassVar[re.Pattern[str]]

    def __init__(
        self, model: Any, name: str = "", options: Any = None, start: Callable[[], ChildProcess] | None = None
    ) -> None:
        super().__init__(name)
        self._source = model
        self.options = self.options if options is None else options
        self._start = start or (lambda: ChildProcess(self.child))
        self._child: ChildProcess | None = None

    def installed_version(self) -> str:
        """Return the engine's version.

        Raises:
            PluginError: The engine is not installed.
        """
        raise NotImplementedError

    def prepare(self, feed_dict: Mapping[str, NDArray[Any]] | None) -> None:
        """Have the model converted by `convert`, where it is not.

        Args:
            feed_dict: The arrays that it has to run with; None while nothing is known of them.

        Raises:
            ModelError: The engine cannot take the model.
            BackendError: It takes no arrays of an input's type.
        """
        raise NotImplementedError

    def held(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an input in the type in which the engine holds it.

        Raises:
            BackendError: It has no such type.
        """
        raise NotImplementedError

    def activate_impl(self) -> None:
        """Write the model and start the process.

        Raises:
            PluginError: The engine is not installed.
            ModelError: It cannot take the model.
        """
        release = self.installed_version()
        model = given_model(self._source)
        self._inputs = tensor_metadata(graph_inputs(model.graph))
        self._outputs = tensor_metadata(model.graph.output)
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-engine-", ignore_cleanup_errors=True)
        try:
            save_onnx(model, self._path(ONNX))
            self._child = self._start()
            self.prepare(None)
        except BaseException:
            self.deactivate_impl()
            raise
        self.backend_version = release

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self._inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed, in the types that the model declares.

        Raises:
            ModelError: The engine cannot take the model with these inputs.
            BackendError: It fails, ends, or takes no arrays of an input's type.
        """
        arrays = {name: np.asarray(native(to_numpy(feed_dict[name]))) for name in self._inputs}
        self.prepare(arrays)
        held = [self.held(name, array) for name, array in arrays.items()]
        for number, array in enumerate(held):
            np.save(self._path(f"input{number}.npy"), array if is_plain(array) else array.view(f"u{array.itemsize}"))
        types = [dtype_name(array.dtype) for array in held]
        self._ask(BackendError, "inference failed", command="run", inputs=types, outputs=len(self._outputs))
        outputs = {}
        for number, (name, entry) in enumerate(self._outputs.items()):
            array = np.load(self._path(f"output{number}.npy"))
            outputs[name] = array if entry.dtype is None else array.astype(entry.dtype, copy=False)
        return outputs

    def deactivate_impl(self) -> None:
        """End the process and remove the converted model."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.close()
        self._folder.cleanup()

    def convert(self, **settings: Any) -> None:
        """Have the process convert the model.

        Args:
            settings: What the process's session is to know.

        Raises:
            ModelError: The engine cannot take the model.
        """
        what = f"{self.engine} cannot take the model"
        self._ask(ModelError, what, command="open", folder=self._folder.name, **settings)

    def _ask(self, kind: type[PolycmpError], what: str, **request: Any) -> None:
        assert self._child is not None
        try:
            self._child.send(request)
            answer = self._child.receive()
        except BrokenPipeError:
            answer = None
        if answer is None:
            reason = self._reason(self._child.ending())
        elif "error" in answer:
            reason = answer["error"]
        else:
            return
        raise kind(what, whose=self.name, why="; ".join([reason, *self._printed_reasons()]))

    def _reason(self, ending: Ending) -> str:
        if ending.status == -getattr(signal, "SIGXFSZ", 0):
            return f"it wrote a file of more than {largest_file(self._folder.name) / 1e9:.1f} GB and was ended"
        return f"its process {ending}"

    def _printed_reasons(self) -> list[str]:
        """Return what the engine printed of its reasons, the first few lines."""
        log = Path(self._path(LOG))
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        told = [" ".join(_COLOURS.sub("", line).split()) for line in lines if self.reasons.search(line)]
        return [line[:_LENGTH] for line in dict.fromkeys(told)][:_SHOWN]

    def _path(self, name: str) -> str:
        return str(Path(self._folder.name, name))

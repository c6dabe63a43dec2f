"""The runner for models that ncnn runs."""

from __future__ import annotations

import re
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
from polycmp_ncnn.child import LOG, ONNX
from polycmp_ncnn.plugin import Options
from polycmp_onnx import save_onnx
from polycmp_onnx.graph import graph_inputs, tensor_metadata
from polycmp_onnx.load import given_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from polycmp.spec import ModelHandle

#: Types that pnnx takes, by its names for them.
_TAKEN = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8"}
#: Words of messages that say why pnnx and ncnn give up, as against those that they always print.
_REASONS = re.compile(
    r"^(?!.*\[W:).*(fail|error|unsupported|not support|not exist|unknown|unexpected|expect)", re.IGNORECASE
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class NcnnRunner(Runner):
    """Converts an ONNX model with pnnx for the sizes of its inputs, and runs it in ncnn, in a process of its own.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Types, methods and threads; by default float32 on one core.
        start: Gives the process that ncnn runs in; by default one of its own.
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
        """Write the model, and convert it where it fixes all sizes.

        Raises:
            PluginError: ncnn or pnnx is not installed.
            ModelError: pnnx or ncnn cannot take the model.
        """
        self._pnnx = _pnnx(self.name)
        model = given_model(self._source)
        self._inputs = tensor_metadata(graph_inputs(model.graph))
        self._outputs = tensor_metadata(model.graph.output)
        self._shapes = ""
        self._folder = tempfile.TemporaryDirectory(prefix="polycmp-ncnn-", ignore_cleanup_errors=True)
        try:
            save_onnx(model, Path(self._folder.name, ONNX))
            self._child = self._start()
            if not any(entry.is_dynamic() or entry.dtype is None for entry in self._inputs.values()):
                self._open({name: np.empty(entry.shape or (), entry.dtype) for name, entry in self._inputs.items()})
        except BaseException:
            self.deactivate_impl()
            raise
        self.backend_version = version("ncnn")

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self._inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed, for whose sizes the model is converted if it was not.

        Raises:
            ModelError: pnnx or ncnn cannot take the model for these sizes.
            BackendError: ncnn fails, ends, or takes no arrays of an input's type.
        """
        arrays = {name: np.asarray(native(to_numpy(feed_dict[name]))) for name in self._inputs}
        self._open(arrays)
        for number, array in enumerate(arrays.values()):
            np.save(self._path(f"input{number}.npy"), np.ascontiguousarray(array, np.float32).reshape(array.shape))
        self._ask(BackendError, "inference failed", command="run", inputs=len(self._inputs), outputs=len(self._outputs))
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

    def _open(self, arrays: dict[str, Any]) -> None:
        """Convert the model for inputs of these types and sizes, unless it is."""
        for name, array in arrays.items():
            if dtype_name(array.dtype) not in _TAKEN:
                raise BackendError(f"pnnx takes no {dtype_name(array.dtype)}: input {name!r}", whose=self.name)
        shapes = ",".join(
            f"[{','.join(map(str, array.shape))}]{_TAKEN[dtype_name(array.dtype)]}" for array in arrays.values()
        )
        if shapes != self._shapes or not shapes:
            options = self._options
            chosen = {name: getattr(options, name) for name in ("fp16", "bf16", "winograd", "threads")}
            self._shapes = ""
            self._ask(
                ModelError, "ncnn cannot take the model", command="open", folder=self._folder.name, pnnx=self._pnnx,
                shapes=shapes, **chosen,
            )  # fmt: skip
            self._shapes = shapes

    def _ask(self, kind: type[PolycmpError], what: str, **request: Any) -> None:
        assert self._child is not None
        try:
            self._child.send(request)
            answer = self._child.receive()
        except BrokenPipeError:
            answer = None
        if answer is None:
            reason = f"its process {self._child.ending()}"
            self._shapes = ""
        elif "error" in answer:
            reason = answer["error"]
        else:
            return
        raise kind(what, whose=self.name, why="; ".join([reason, *self._reasons()]))

    def _reasons(self) -> list[str]:
        """Return what was printed of the reasons, the first few lines."""
        log = Path(self._path(LOG))
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        told = [" ".join(_COLOURS.sub("", line).split()) for line in lines if _REASONS.search(line)]
        return [line[:200] for line in dict.fromkeys(told)][:2]

    def _path(self, name: str) -> str:
        return str(Path(self._folder.name, name))


def _pnnx(whose: str) -> str:
    """Return the path of the converter, which lies in a package that imports torch: only the program is used.

    Raises:
        PluginError: ncnn or pnnx is not installed.
    """
    if find_spec("ncnn") is None:
        raise PluginError(
            "needs ncnn, which is not installed here", whose=whose, hint="pip install 'polycmp-ncnn[ncnn]'"
        )
    spec = find_spec("pnnx")
    folders = [] if spec is None else [Path(item) for item in spec.submodule_search_locations or ()]
    for path in (folder / name for folder in folders for name in ("pnnx", "pnnx.exe")):
        if path.is_file():
            return str(path)
    raise PluginError(
        "needs pnnx, ncnn's converter, which is not installed here", whose=whose, hint="pip install --no-deps pnnx"
    )


def start_child() -> ChildProcess:
    """Return a process for ncnn."""
    return ChildProcess("polycmp_ncnn.child")


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> NcnnRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return NcnnRunner(model.load("onnx"), name, options)

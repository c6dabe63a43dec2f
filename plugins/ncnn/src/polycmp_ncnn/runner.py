"""The runner for models that ncnn runs."""

from __future__ import annotations

import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, PluginError
from polycmp.tensors import dtype_name
from polycmp_ncnn.plugin import Options
from polycmp_onnx.engine_runner import EngineRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polycmp.spec import ModelHandle
    from polycmp.tensors import TensorEntry

#: Types that pnnx takes, by its names for them.
_TAKEN = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8"}
_REASONS = r"^(?!.*\[W:).*(fail|error|unsupported|not support|not exist|unknown|unexpected|expect)"


class NcnnRunner(EngineRunner):
    """Converts an ONNX model with pnnx for the sizes of its inputs, and runs it in ncnn, in a process of its own.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Types, methods and threads; by default float32 on one core.
        start: Gives the process that ncnn runs in; by default one of its own.
    """

    engine = "ncnn"
    child = "polycmp_ncnn.child"
    options: Options = Options()
    reasons = re.compile(_REASONS, re.IGNORECASE)
    _shapes = ""

    def installed_version(self) -> str:
        """Return ncnn's version.

        Raises:
            PluginError: ncnn or pnnx is not installed.
        """
        self._pnnx = _pnnx(self.name)
        return version("ncnn")

    def prepare(self, feed_dict: Mapping[str, NDArray[Any]] | None) -> None:
        """Have the model converted for inputs of these types and sizes, unless it is.

        Before the first feed it is converted where it fixes them itself.

        Raises:
            ModelError: pnnx or ncnn cannot take the model for these sizes.
            BackendError: pnnx takes no arrays of an input's type.
        """
        if feed_dict is None:
            self._shapes = ""
            if any(entry.is_dynamic() or entry.dtype is None for entry in self._inputs.values()):
                return
            feed_dict = {name: _empty(entry) for name, entry in self._inputs.items()}
        for name, array in feed_dict.items():
            if dtype_name(array.dtype) not in _TAKEN:
                raise BackendError(f"pnnx takes no {dtype_name(array.dtype)}: input {name!r}", whose=self.name)
        shapes = ",".join(
            f"[{','.join(map(str, array.shape))}]{_TAKEN[dtype_name(array.dtype)]}" for array in feed_dict.values()
        )
        if shapes != self._shapes or not shapes:
            chosen = {name: getattr(self.options, name) for name in ("fp16", "bf16", "winograd", "threads")}
            self._shapes = ""
            self.convert(pnnx=self._pnnx, shapes=shapes, **chosen)
            self._shapes = shapes

    def held(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an input in float32, which ncnn calculates in."""
        del name
        return np.ascontiguousarray(array, np.float32).reshape(array.shape)


def _empty(entry: TensorEntry) -> NDArray[Any]:
    """Return an array of an input's type and sizes, which the model fixes."""
    return np.empty([int(size) for size in entry.shape or ()], entry.dtype)


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


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> NcnnRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return NcnnRunner(model.load("onnx"), name, options)

"""The runner for models that TVM compiles."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, ModelError, PluginError
from polycmp.tensors import dtype_name, is_size
from polycmp_onnx.engine_runner import EngineRunner
from polycmp_tvm.plugin import Options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from polycmp.spec import ModelHandle

#: Kinds of NumPy's own types that TVM's runtime takes, and types besides.
_KINDS = "fiub"
_TYPES = ("bfloat16", "float8", "float4")
_LIBRARY = "apache-tvm"


class TvmRunner(EngineRunner):
    """Compiles an ONNX model for a processor and runs it, in a process of its own.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Target and passes; by default as `tvm.compile(module, target="llvm")` has them.
        start: Gives the process that TVM runs in; by default one of its own.
    """

    engine = "TVM"
    child = "polycmp_tvm.child"
    options: Options = Options()
    reasons = re.compile(r"(?!)")  # what it says is in its exceptions; it prints warnings alone

    def installed_version(self) -> str:
        """Return TVM's version.

        Raises:
            PluginError: TVM is not installed.
        """
        try:
            return version(_LIBRARY)
        except PackageNotFoundError as error:
            raise PluginError(
                f"needs {_LIBRARY}, which is not installed here", whose=self.name, hint="pip install 'polycmp-tvm[tvm]'"
            ) from error

    def prepare(self, feed_dict: Mapping[str, NDArray[Any]] | None) -> None:
        """Have the model compiled once with open sizes, or for the sizes of each feed where TVM has to know them.

        Raises:
            ModelError: TVM cannot take the model.
        """
        if feed_dict is None:
            self._shapes: dict[str, list[int]] = {}
            self._needs_sizes = False
            try:
                self._compile()
            except ModelError:
                self._needs_sizes = any(_is_open(entry.shape) for entry in self._inputs.values())
                if not self._needs_sizes:
                    raise
        elif self._needs_sizes:
            shapes = {name: list(array.shape) for name, array in feed_dict.items()}
            if shapes != self._shapes:
                self._shapes = {}
                self._compile(shapes)
                self._shapes = shapes

    def _compile(self, shapes: Mapping[str, list[int]] = MappingProxyType({})) -> None:
        chosen = self.options
        self.convert(
            shapes=dict(shapes),
            target=chosen.target,
            cpu=chosen.cpu,
            attributes=target_attributes(chosen),
            opt_level=chosen.opt_level,
            disable_passes=chosen.disable_passes,
            config={} if chosen.vectorize else {"tirx.disable_vectorize": True},
        )

    def held(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an input as it is.

        Raises:
            BackendError: It is of text, or of integers that share a byte.
        """
        kind = dtype_name(array.dtype)
        own = array.dtype.isbuiltin == 1 and array.dtype.kind in _KINDS
        if not own and not kind.startswith(_TYPES):
            raise BackendError(f"TVM takes no {kind}: input {name!r}", whose=self.name)
        return array


def _is_open(shape: Sequence[Any] | None) -> bool:
    return shape is None or not all(is_size(size) for size in shape)


def target_attributes(options: Options) -> dict[str, Any]:
    """Return the attributes of the target `llvm` that options ask for; those with its defaults are left out.

    Args:
        options: The backend's options.
    """
    attributes: dict[str, Any] = {}
    if options.llvm_level != Options.llvm_level:
        attributes["opt-level"] = options.llvm_level
    if options.fast_math:
        attributes["fast-math"] = True
    return attributes


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> TvmRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return TvmRunner(model.load("onnx"), name, options)

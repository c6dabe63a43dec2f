"""The runner for models that IREE compiles."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, PluginError
from polycmp.tensors import dtype_name
from polycmp_iree.plugin import Options
from polycmp_onnx.engine_runner import EngineRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polycmp.spec import ModelHandle

#: Kinds of NumPy's own types that IREE's runtime hands to a model.
_KINDS = "fiub"


class IreeRunner(EngineRunner):
    """Compiles an ONNX model for this processor and runs it, in a process of its own.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        options: Passes, types and threads; by default as iree-compile has them, for this processor.
        start: Gives the process that IREE runs in; by default one of its own.
    """

    engine = "IREE"
    child = "polycmp_iree.child"
    options: Options = Options()
    reasons = re.compile(r"error: |^Unknown|^iree-compile: ", re.MULTILINE)

    def installed_version(self) -> str:
        """Return the compiler's version.

        Raises:
            PluginError: IREE is not installed.
        """
        try:
            version("iree-base-runtime")
            return version("iree-base-compiler")
        except PackageNotFoundError as error:
            raise PluginError(
                f"needs {error.name}, which is not installed here",
                whose=self.name,
                hint="pip install 'polycmp-iree[iree]'",
            ) from error

    def prepare(self, feed_dict: Mapping[str, NDArray[Any]] | None) -> None:
        """Have the model compiled once: IREE leaves sizes open.

        Raises:
            ModelError: IREE cannot take the model.
        """
        if feed_dict is None:
            self.convert(flags=compiler_flags(self.options), threads=self.options.threads)

    def held(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return an input as it is.

        Raises:
            BackendError: IREE's runtime for Python has no such type.
        """
        if array.dtype.isbuiltin != 1 or array.dtype.kind not in _KINDS:
            raise BackendError(f"IREE takes no {dtype_name(array.dtype)}: input {name!r}", whose=self.name)
        return array


def compiler_flags(options: Options) -> list[str]:
    """Return the words for iree-compile.

    Args:
        options: The backend's options.
    """
    flags = {
        "hal-target-backends": options.target,
        "opt-level": options.optimization,
        "opt-data-tiling": _word(options.data_tiling),
        "opt-const-eval": _word(options.const_eval),
        "llvmcpu-enable-ukernels": "default" if options.microkernels else "none",
        "llvmcpu-target-cpu": options.cpu,
        # By default float64 becomes float32, but not in the declared outputs, which are then too small (IREE 3.13).
        "input-demote-f64-to-f32": _word(False),
    }
    return [*(f"--iree-{name}={word}" for name, word in flags.items()), *options.flags]


def _word(flag: bool) -> str:
    return str(flag).lower()


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> IreeRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options.
        name: The label in reports.
    """
    return IreeRunner(model.load("onnx"), name, options)

"""The process that compiles a model with TVM and runs it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from polycmp_onnx.engine_child import ONNX, serve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_MAIN = "main"
_HOST = "host"


class TvmSession:
    """A model compiled by TVM."""

    def __init__(self) -> None:
        self._function: Any = None

    def open(self, message: Mapping[str, Any]) -> None:
        """Compile the model and load it."""
        self._function = None
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        target = tvm.target.Target(target_of(message["target"], message["cpu"], message["attributes"]))
        with tvm.transform.PassContext(
            opt_level=message["opt_level"], disabled_pass=message["disable_passes"], config=message["config"]
        ):
            module = relax.transform.DecomposeOpsForInference()(from_onnx(onnx.load(ONNX), message["shapes"] or None))
            executable = tvm.compile(module, target=target)
        self._function = relax.VirtualMachine(executable, tvm.cpu())[_MAIN]

    def run(self, inputs: Sequence[NDArray[Any]], outputs: int) -> list[NDArray[Any]]:
        """Return the outputs for one feed."""
        import tvm

        results = self._function(*map(tvm.runtime.tensor, inputs))
        return [_array(result) for result in ([results] if outputs == 1 else results)]


def target_of(text: str, cpu: str | None, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a target.

    Args:
        text: The target as a user types it: a kind, a tag, or JSON.
        cpu: The processor in place of the target's; `host` is this one.
        attributes: Attributes of the kind `llvm` that are not its defaults.

    Raises:
        ValueError: LLVM knows no such processor; it would take another one and only print that.
    """
    import tvm
    from tvm.target import codegen

    named = tvm.target.Target(json.loads(text) if text.startswith("{") else text)
    config = {**json.loads(str(named)), **attributes}
    if cpu is not None:
        config["mcpu"] = codegen.llvm_get_system_cpu() if cpu == _HOST else cpu
    chosen = config.get("mcpu")
    if chosen is not None and chosen not in codegen.llvm_get_cpu_archlist(named):
        raise ValueError(f"LLVM knows no processor {chosen!r}")
    return config


def _array(result: Any) -> NDArray[Any]:
    """Return an output as an array: a shape is one of TVM's values, too."""
    array: NDArray[Any] = result.numpy() if hasattr(result, "numpy") else np.array(result, np.int64)
    return array


def main(arguments: Sequence[str]) -> None:
    """Answer the requests of this process's parent.

    Args:
        arguments: The parent's number.
    """
    serve(TvmSession(), arguments)

"""The process that compiles a model with IREE and runs it."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from polycmp_onnx import infer_shapes
from polycmp_onnx.engine_child import LOG, ONNX, serve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_MAIN = "main"
#: What the compiler says of an operator of ONNX that it has no rule for.
_ILLEGAL = re.compile(r"failed to legalize operation 'torch\.operator'.*?\"onnx\.(\w+)\"")


class IreeSession:
    """A model compiled by IREE."""

    def __init__(self) -> None:
        self._function: Any = None

    def open(self, message: Mapping[str, Any]) -> None:
        """Compile the model and load it."""
        self._function = None
        program = compiled(imported(onnx.load(ONNX)), message["flags"])
        import iree.runtime as rt

        if message["threads"] > 1:
            rt.flags.parse_flags(f"--task_topology_group_count={message['threads']}")
        config = rt.Config("local-task" if message["threads"] > 1 else "local-sync")
        module = rt.VmModule.copy_buffer(config.vm_instance, program)
        self._function = rt.load_vm_module(module, config)[_MAIN]

    def run(self, inputs: Sequence[NDArray[Any]], outputs: int) -> list[NDArray[Any]]:
        """Return the outputs for one feed."""
        results = self._function(*inputs)
        return [result.to_host() for result in ([results] if outputs == 1 else results)]


def imported(model: onnx.ModelProto) -> bytes:
    """Return a model in MLIR, as bytecode.

    Args:
        model: The model.
    """
    from iree.compiler.extras import onnx_importer
    from iree.compiler.ir import Context

    typed = infer_shapes(model, allow_onnxruntime=False)
    typed.graph.name = _MAIN
    info = onnx_importer.ModelInfo(typed)
    with Context() as context:
        module = info.create_module(context=context)
        onnx_importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
        code = io.BytesIO()
        module.operation.write_bytecode(code)
    return code.getvalue()


def compiled(code: bytes, flags: Sequence[str]) -> bytes:
    """Return a program of the virtual machine.

    Args:
        code: MLIR, as bytecode.
        flags: Words for iree-compile.

    Raises:
        RuntimeError: The compiler cannot take the model; the reasons are in the log.
    """
    from iree.compiler.api import Output, Session, Source

    session = Session()
    session.set_flags("--iree-input-type=onnx", *flags)
    invocation = session.invocation()
    invocation.enable_console_diagnostics()
    if not invocation.parse_source(Source.wrap_buffer(session, code)) or not invocation.execute():
        refused = _ILLEGAL.search(Path(LOG).read_text("utf-8", "replace"))
        raise RuntimeError(f"it has no {refused[1]}" if refused else "it does not compile the model")
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    return bytes(output.map_memory())


def main(arguments: Sequence[str]) -> None:
    """Answer the requests of this process's parent.

    Args:
        arguments: The parent's number.
    """
    serve(IreeSession(), arguments)

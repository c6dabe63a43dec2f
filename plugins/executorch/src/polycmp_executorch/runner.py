"""The runner for ExecuTorch's programs."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from polycmp.errors import BackendError, ModelError, PluginError, describe_exception
from polycmp.loader import Loader, resolve
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, to_numpy
from polycmp_executorch.graph import PtePart
from polycmp_executorch.model import PteFromFile, PteModel

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle
    from polycmp_executorch.plugin import Options


class ExecuTorchRunner(Runner):
    """Runs a program in ExecuTorch's runtime.

    Args:
        model: A `PteModel`, or a callable that returns one, such as `PteFromFile`.
        name: The label in reports.
    """

    outputs_stay_valid = True

    def __init__(self, model: Any, name: str = "") -> None:
        super().__init__(name)
        self._source = model

    def activate_impl(self) -> None:
        """Load the method.

        Raises:
            PluginError: ExecuTorch is not installed.
            ModelError: The program needs an operator or a delegate that the runtime has not.
        """
        try:
            import torch
            from executorch.runtime import Runtime
        except ImportError as error:
            raise PluginError(
                "needs ExecuTorch, which is not installed here", whose="executorch", why=str(error),
                hint="pip install 'polycmp-executorch[executorch]'",
            ) from error  # fmt: skip
        self._torch = torch
        self._model: PteModel = resolve(self._source)
        program, runtime = self._model.program, Runtime.get()
        lacking = program.lacking(runtime.operator_registry.operator_names, runtime.backend_registry.is_available)
        if lacking:
            raise ModelError(
                f"ExecuTorch cannot run {program.path} here", whose=self.name, why=f"its runtime has no {lacking}"
            )
        try:
            self._loaded = runtime.load_program(program.file.write())
            self._method = self._loaded.load_method(program.method)
        except Exception as error:
            raise ModelError(f"ExecuTorch cannot load {program.path}", whose=self.name, why=_reason(error)) from error
        self.backend_version = version("executorch")

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs."""
        return self._model.inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed.

        Raises:
            BackendError: The program fails, or takes no such array.
        """
        program = self._model.program
        try:
            tensors = [
                self._tensor(to_numpy(feed_dict[name]), place)
                for name, place in zip(self._model.inputs, program.inputs, strict=True)
            ]
            results = self._method.execute(tensors)
        except Exception as error:
            raise BackendError("inference failed", whose=self.name, why=_reason(error)) from error
        arrays = (to_numpy(item if hasattr(item, "detach") else self._torch.tensor(item)) for item in results)
        outputs, shapes = dict(zip(self._model.outputs, arrays, strict=True)), self._model.shapes
        return {name: array.reshape(shapes[name]) if name in shapes else array for name, array in outputs.items()}

    def _tensor(self, array: Any, place: int) -> Any:
        """Return an array as the tensor that the program reads: in its shape, and its order of dimensions in memory."""
        program = self._model.program
        order, shape = program.order(place), program.entry(place)[1]
        tensor = self._torch.from_numpy(array.copy(order="C"))
        if shape is not None and -1 not in shape and tensor.numel() == math.prod(shape):
            tensor = tensor.reshape(shape)
        if order == sorted(order):
            return tensor
        return tensor.permute(order).contiguous().permute(sorted(range(len(order)), key=order.__getitem__))

    def deactivate_impl(self) -> None:
        """Let the program go."""
        del self._model, self._method, self._loaded


def _reason(error: Exception) -> str:
    return describe_exception(error).splitlines()[0]


def make_runner(model: ModelHandle, options: Options | None, *, name: str) -> ExecuTorchRunner:
    """Return the runner for a model of the command line.

    Args:
        model: The model handle.
        options: The backend's options; those of an export are its loader's.
        name: The label in reports.
    """
    return ExecuTorchRunner(program_of(model, options), name)


def program_of(model: ModelHandle, options: Options | None) -> Loader[PteModel]:
    """Return the loader of the program that runs.

    Args:
        model: The model handle.
        options: The backend's options.
    """
    source = model.load(model.kind)
    if isinstance(source, PtePart):
        return source
    if options is not None and options.program is not None:
        return PteFromFile(options.program, source)
    return model.load("executorch")

"""The heavy half of the backend, imported when somebody runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from polycmp.errors import BackendError
from polycmp.loader import resolve
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_onnx.reference import make_evaluator

from polycmp_pluginref.operators import operators_for
from polycmp_pluginref.registry import collect_references

if TYPE_CHECKING:
    from polycmp_pluginref.plugin import Options


class PluginRefRunner(Runner):
    """Runs an ONNX model on the CPU, plugin operators by their NumPy references.

    Args:
        model: An `onnx.ModelProto`, or a callable that returns one.
        name: The label in reports.
        dtype: `float64`, `float16` or `bfloat16` to calculate in that type; empty means the model's own.
        ops: Python files that register references of their own.
    """

    def __init__(self, model: Any, name: str = "", dtype: str = "", ops: tuple[str, ...] = ()) -> None:
        super().__init__(name)
        self.model = model
        self.dtype = dtype
        self.ops = ops
        self.evaluator: Any = None

    def activate_impl(self) -> None:
        """Load the model and find a reference for each of its operators."""
        model = resolve(self.model)
        references, failures = collect_references(self.ops)
        self.evaluator = make_evaluator(model, operators_for(model, references, failures, self.name), self.dtype)

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return what the model declares; an input with an initializer is a weight."""
        graph = self.evaluator.proto_.graph
        weights = {weight.name for weight in graph.initializer}
        inputs = TensorMetadata()
        for value in graph.input:
            if value.name not in weights:
                _add_input(inputs, value)
        return inputs

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs by name."""
        outputs = dict(zip(self.evaluator.output_names, self.evaluator.run(None, feed_dict), strict=True))
        for name, value in outputs.items():
            if not isinstance(value, np.ndarray):
                raise BackendError(
                    f"output {name!r} is no tensor but a {type(value).__name__}",
                    whose=self.name,
                    hint="compare the tensors that it is made of: polycmp run MODEL --onnx-outputs NAME",
                )
        return outputs

    def deactivate_impl(self) -> None:
        """Let go of the model."""
        self.evaluator = None


def _add_input(inputs: TensorMetadata, value: Any) -> None:
    tensor = value.type.tensor_type
    shape = [dim.dim_param or (dim.dim_value if dim.HasField("dim_value") else -1) for dim in tensor.shape.dim]
    dtype = onnx.TensorProto.DataType.Name(tensor.elem_type) if tensor.elem_type else None
    inputs.add(value.name, dtype, shape if tensor.HasField("shape") else None)


def make_runner(model: Any, options: Options, *, name: str) -> PluginRefRunner:
    """Return the runner for a model, as the core asks for it."""
    return PluginRefRunner(model.load("onnx"), name, options.dtype, options.ops)

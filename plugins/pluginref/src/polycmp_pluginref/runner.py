"""The part of the backend with heavy imports, loaded when a runner is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polycmp.loader import keyword_aliases
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata
from polycmp_onnx.load import given_model
from polycmp_onnx.runner import ReferenceRunner
from polycmp_pluginref.collect import collect_references
from polycmp_pluginref.operators import operators_for

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle
    from polycmp_pluginref.plugin import Options


@keyword_aliases(graph="model")
class PluginRefRunner(Runner):
    """Runs an ONNX model on the CPU: plugin operators by NumPy references, the rest as the backend `onnx` does.

    Args:
        model: A model in any form that the loaders of polycmp-onnx take, or a callable that returns one.
        name: The label in reports.
        dtype: `float64`, `float16` or `bfloat16` to calculate in that type; empty means the model's own.
        ops: Python files that register references of their own.
    """

    def __init__(self, model: Any, name: str = "", dtype: str = "", ops: tuple[str, ...] = ()) -> None:
        super().__init__(name)
        self.model = model
        self.dtype = dtype
        self.ops = ops

    def activate_impl(self) -> None:
        """Load the model and find a reference for each of its plugin operators.

        Raises:
            BackendError: There is none; the text names the operator and says how to add one.
            DataError: A file of references fails to import.
        """
        model = given_model(self.model)
        references, failures = collect_references(self.ops)
        operators = operators_for(model, references, failures, self.name)
        self.evaluator = ReferenceRunner(model, self.dtype, operators, self.name)
        self.evaluator.activate()

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares."""
        return self.evaluator.get_input_metadata()

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs for one feed, which `infer` has checked already."""
        return self.evaluator.infer(feed_dict, check_inputs=False)

    def deactivate_impl(self) -> None:
        """Let go of the model."""
        del self.evaluator


def make_runner(model: ModelHandle, options: Options, *, name: str) -> PluginRefRunner:
    """Return the runner for a model; the core calls this with the options given on the command line."""
    return PluginRefRunner(model.load("onnx"), name, options.dtype, options.ops)

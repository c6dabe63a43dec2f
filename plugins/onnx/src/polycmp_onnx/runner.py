"""The backend `onnx`: ONNX's reference evaluator as a runner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import BackendError, UsageError
from polycmp.loader import load_script
from polycmp.options import split_script
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, dtype_class, to_numpy
from polycmp_onnx.graph import graph_inputs, tensor_metadata, unfed_input

if TYPE_CHECKING:
    from polycmp.spec import ModelHandle
    from polycmp_onnx.load import ModelSource
    from polycmp_onnx.plugin import RunnerOptions

__all__ = ["ReferenceRunner"]


class ReferenceRunner(Runner):
    """Runs a model on ONNX's reference operators, in the model's own precision or in another.

    Inputs are always of the types that the model declares. In `float64` real-valued outputs are float64; otherwise
    outputs have the types that the model declares.

    Args:
        model: A model, or a callable that returns one.
        dtype: "" for the model's own types, else "float64", "float16" or "bfloat16".
        new_ops: `OpRun` classes for operators that ONNX lacks, or to replace its own.
        name: The label in reports.
    """

    outputs_stay_valid = True

    def __init__(self, model: ModelSource, dtype: str = "", new_ops: Sequence[type[Any]] = (), name: str = "") -> None:
        super().__init__(name)
        self._source = model
        self._dtype = dtype
        self._new_ops = tuple(new_ops)
        self._evaluator: Any = None

    def activate_impl(self) -> None:
        """Load the model and find an implementation for each of its operators.

        Raises:
            BackendError: There is none; the text names operator, domain and node. Or an input is no tensor.
            ModelError: The model cannot be loaded.
        """
        from polycmp_onnx.load import OnnxLoader, given_model
        from polycmp_onnx.reference import make_evaluator

        external = self._source.external() if isinstance(self._source, OnnxLoader) else None
        model = given_model(self._source) if external is None else external.without_weights()
        if name := unfed_input(model.graph):
            raise BackendError(
                f"input {name!r} is no tensor, and only tensors are fed",
                whose=self.name,
                hint="make a model of what comes after it: polycmp surgeon extract MODEL --inputs NAME:[…]:auto",
            )
        weights = {} if external is None else external.arrays()
        self._evaluator = make_evaluator(model, self._new_ops, self._dtype, weights)

    def deactivate_impl(self) -> None:
        """Drop the model."""
        self._evaluator = None

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs that the model declares and does not fill itself."""
        return tensor_metadata(graph_inputs(self._evaluator.proto_.graph))

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the model's outputs for one feed, but for optional ones that are empty.

        Raises:
            BackendError: An operator failed, or an output is no tensor.
        """
        feed = {name: _read_only(to_numpy(value)) for name, value in feed_dict.items()}
        graph = self._evaluator.proto_.graph
        optional = (value.name for value in graph_inputs(graph) if value.type.HasField("optional_type"))
        absent_inputs = {name: None for name in optional if name not in feed}
        values = self._evaluator.run(None, {**feed, **absent_inputs})
        held = {_owner(array) for array in (*feed.values(), *self._evaluator.rt_inits_.values())}
        declared = tensor_metadata(graph.output)
        outputs: dict[str, Any] = {}
        for (name, entry), value in zip(declared.items(), values, strict=True):
            held_inside = _inside(value) if entry.optional else value
            if held_inside is not None:
                outputs[name] = self._output(name, held_inside, entry.dtype, held)
                held.add(_owner(outputs[name]))
        return outputs

    def _output(self, name: str, value: Any, dtype: np.dtype[Any] | None, held: set[int]) -> Any:
        if isinstance(value, list):
            return [self._output(name, item, dtype, held) for item in value] or np.empty(0, dtype or np.float32)
        if isinstance(value, dict):
            return value
        if not isinstance(value, np.ndarray):
            raise BackendError(
                f"output {name!r} is no tensor, nor a sequence or map of such, so it cannot be compared",
                whose=self.name,
                hint="choose tensors as outputs with --onnx-outputs",
            )
        if value.dtype.kind in "US":
            return value.astype(object)
        if dtype is not None and self._dtype != "float64" and dtype_class(value.dtype) == dtype_class(dtype):
            value = value.astype(dtype, copy=False)
        return value.copy() if _owner(value) in held else value


def _inside(optional: Any) -> Any:
    """Return what an optional holds, which the evaluator has in a list; None if it is empty."""
    return next(iter(optional or ()), None) if isinstance(optional, list) else optional


def _owner(value: Any) -> int:
    """Return the identity of what owns the memory that an array shows."""
    below = value
    while below is not None:
        value = below
        below = value.obj if isinstance(value, memoryview) else getattr(value, "base", None)
    return id(value)


def _read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def make_runner(model: ModelHandle, options: RunnerOptions, *, name: str) -> ReferenceRunner:
    """Return the runner for a model and the options from the command line.

    Args:
        model: The model of the command line.
        options: Precision and scripts with operators.
        name: The label in reports.

    Raises:
        UsageError: A script holds something else than operators.
    """
    operators = [operator for script in options.ops for operator in _operators(script)]
    return ReferenceRunner(model.load("onnx"), options.dtype, operators, name)


def _operators(script: str) -> list[type[Any]]:
    path, name = split_script(script, "new_ops")
    attribute = load_script(path, name)
    operators = list(attribute) if isinstance(attribute, (list, tuple)) else [attribute]
    if not all(isinstance(operator, type) for operator in operators):
        raise UsageError(f"{name} in {path} must be a class derived from OpRun, or a list of them", whose="--onnx-ops")
    return operators

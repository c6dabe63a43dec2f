"""OpenVINO on the CPU, as a plain backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.model import Model
from polycmp.runner import Runner
from polycmp.tensors import TensorMetadata, to_numpy

if TYPE_CHECKING:
    from polycmp_truth.plugin import OpenvinoOptions


class OpenvinoRunner(Runner):
    """Runs a model in OpenVINO, in the precision that the model has.

    Args:
        load: Gives the model.
        name: The label in reports.
    """

    def __init__(self, load: Callable[[], Any], name: str = "") -> None:
        super().__init__(name)
        self._load = load

    def activate_impl(self) -> None:
        """Compile the model; names of outputs are kept beside it, since OpenVINO may give one tensor several."""
        import io

        import openvino

        model = self._load()
        self._names = [value.name for value in model.graph.output]
        core = openvino.Core()
        read = core.read_model(io.BytesIO(model.SerializeToString()))
        # Without the hint, processors with bfloat16 calculate in it (OpenVINO: "Precision Control").
        self._compiled = core.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return the inputs as OpenVINO declares them."""
        metadata = TensorMetadata()
        for port in self._compiled.inputs:
            shape = [dim.get_length() if dim.is_static else -1 for dim in port.get_partial_shape()]
            metadata.add(port.get_any_name(), np.dtype(port.get_element_type().to_dtype()), shape)
        return metadata

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return the outputs in the order of the model."""
        made = self._compiled({name: to_numpy(value) for name, value in feed_dict.items()})
        return {name: np.array(made[index]) for index, name in enumerate(self._names)}

    def deactivate_impl(self) -> None:
        """Let the compiled model go."""
        del self._compiled


def make_runner(model: Model, options: OpenvinoOptions, *, name: str) -> OpenvinoRunner:
    """Return the backend `openvino`."""
    return OpenvinoRunner(model.load("onnx"), name)

"""Facts about TensorRT's networks under the names of `polygraphy.backend.trt.util`."""

from __future__ import annotations

import sys
from typing import Any

from polycmp_trt import get_trt_logger as get_trt_logger
from polycmp_trt import modify_network_outputs


def __getattr__(name: str) -> Any:
    """Return `TRT_LOGGER`: the logger of TensorRT, None before the program has anything to do with TensorRT."""
    if name == "TRT_LOGGER":
        return get_trt_logger() if "tensorrt" in sys.modules else None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_all_tensors(network: Any) -> dict[str, Any]:
    """Return the tensors that the layers of a network read and make, by name."""
    tensors = [
        tensor
        for layer in network
        for tensor in (
            *(layer.get_input(index) for index in range(layer.num_inputs)),
            *(layer.get_output(index) for index in range(layer.num_outputs)),
        )
    ]
    return {tensor.name: tensor for tensor in tensors if tensor is not None}


def get_all_io_tensors(network: Any) -> dict[str, Any]:
    """Return the inputs and outputs of a network by name."""
    inputs = [network.get_input(index) for index in range(network.num_inputs)]
    outputs = [network.get_output(index) for index in range(network.num_outputs)]
    return {tensor.name: tensor for tensor in (*inputs, *outputs)}


def mark_outputs(network: Any, outputs: Any) -> None:
    """Make other tensors the outputs of a network."""
    modify_network_outputs((None, network), outputs=list(outputs))


def mark_layerwise(network: Any) -> None:
    """Make every tensor an output of a network."""
    modify_network_outputs((None, network), outputs=["*"])


def unmark_outputs(network: Any, outputs: Any) -> None:
    """Take tensors out of the outputs of a network."""
    modify_network_outputs((None, network), exclude_outputs=list(outputs))

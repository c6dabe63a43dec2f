"""Walking a network: its layers, and the tensors that they and the network itself read and make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from polycmp.errors import BackendError

if TYPE_CHECKING:
    import tensorrt as trt

    from polycmp_trt.types import Network


def network_of(made: Network) -> trt.INetworkDefinition:
    """Return the network out of `(builder, network[, parser])`.

    Raises:
        BackendError: It is something else.
    """
    if isinstance(made, tuple) and len(made) in {2, 3}:
        return made[1]
    raise BackendError(
        f"expected (builder, network) or (builder, network, parser), got {type(made).__name__}",
        whose="trt",
        hint="return builder, network from the function that makes the network",
    )


def layers(network: trt.INetworkDefinition) -> Iterator[trt.ILayer]:
    """Yield the layers of a network."""
    for index in range(network.num_layers):
        yield network.get_layer(index)


def layer_outputs(layer: trt.ILayer) -> Iterator[trt.ITensor]:
    """Yield the tensors that a layer makes."""
    for index in range(layer.num_outputs):
        tensor = layer.get_output(index)
        if tensor is not None:
            yield tensor


def layer_inputs(layer: trt.ILayer) -> Iterator[trt.ITensor]:
    """Yield the tensors that a layer reads; optional ones that are absent are left out."""
    for index in range(layer.num_inputs):
        tensor = layer.get_input(index)
        if tensor is not None:
            yield tensor


def network_inputs(network: trt.INetworkDefinition) -> list[trt.ITensor]:
    """Return the input tensors of a network."""
    return [network.get_input(index) for index in range(network.num_inputs)]


def network_outputs(network: trt.INetworkDefinition) -> list[trt.ITensor]:
    """Return the output tensors of a network."""
    return [network.get_output(index) for index in range(network.num_outputs)]


def is_dynamic(network: trt.INetworkDefinition) -> bool:
    """Return whether an input has dimensions that are not fixed, or is a shape tensor: it needs a range then."""
    return any(
        tensor.is_shape_tensor or any(dim < 0 for dim in tuple(tensor.shape)) for tensor in network_inputs(network)
    )

"""A TensorRT network exported as an ONNX model for viewers; it cannot be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polycmp.errors import DataError
from polycmp.loader import Loader, immediate, resolve
from polycmp_trt.build.network_parts import (
    layer_inputs,
    layer_outputs,
    layers,
    network_inputs,
    network_of,
    network_outputs,
)
from polycmp_trt.run.layout import numpy_dtype
from polycmp_trt.show.inspection import layer_attributes

if TYPE_CHECKING:
    import onnx
    import tensorrt as trt

    from polycmp_trt.types import NetworkSource

#: Weights with more elements than this are described, not copied: the model is only displayed.
_LARGEST = 4096


class OnnxLikeFromNetwork(Loader["onnx.ModelProto"]):
    """Exports a network as an ONNX model whose nodes are TensorRT's layers.

    The operators are TensorRT's (`CONVOLUTION`, `SHUFFLE`, …) in a domain of their own: graph viewers show the model,
    and no runtime can run it.

    Args:
        network: `(builder, network[, parser])` or a callable that returns it.
    """

    def __init__(self, network: NetworkSource) -> None:
        self.network = network

    def call_impl(self) -> onnx.ModelProto:
        """Return the `onnx.ModelProto`."""
        import onnx
        from onnx import helper

        parts = resolve(self.network)
        network = network_of(parts)
        nodes = [
            helper.make_node(
                layer.type.name,
                [tensor.name for tensor in layer_inputs(layer)],
                [tensor.name for tensor in layer_outputs(layer)],
                name=layer.name,
                domain="tensorrt",
                **_attributes(layer),
            )
            for layer in layers(network)
        ]
        graph = helper.make_graph(
            nodes,
            network.name or "tensorrt",
            [_value(tensor) for tensor in network_inputs(network)],
            [_value(tensor) for tensor in network_outputs(network)],
        )
        opset = [helper.make_opsetid("tensorrt", 1), helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opset, producer_name="polycmp", ir_version=onnx.IR_VERSION)


def _value(tensor: trt.ITensor) -> onnx.ValueInfoProto:
    from onnx import TensorProto, helper

    try:
        kind = helper.np_dtype_to_tensor_dtype(numpy_dtype(tensor.dtype))
    except (DataError, KeyError, ValueError):
        kind = TensorProto.UNDEFINED
    try:
        dims = [dim if dim >= 0 else f"{tensor.name}_{axis}" for axis, dim in enumerate(tuple(tensor.shape))]
    except ValueError:  # a rank that is not known yet
        dims = None
    return helper.make_tensor_value_info(tensor.name, kind, dims)


def _attributes(layer: trt.ILayer) -> dict[str, Any]:
    from onnx import numpy_helper

    attributes: dict[str, Any] = {}
    for name, value in layer_attributes(layer).items():
        if isinstance(value, np.ndarray):
            if 0 < value.size <= _LARGEST:
                attributes[name] = numpy_helper.from_array(np.ascontiguousarray(value), f"{layer.name}.{name}")
            else:
                attributes[name] = f"{value.dtype}{list(value.shape)}"
        elif value is not None:
            attributes[name] = str(value)
    return attributes


onnx_like_from_network = immediate(OnnxLikeFromNetwork)

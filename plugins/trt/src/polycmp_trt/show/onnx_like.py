"""A TensorRT network or engine exported as an ONNX model for viewers; it cannot be run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polycmp.errors import DataError, ModelError
from polycmp.files import atomic_write
from polycmp.loader import Loader, immediate, resolve
from polycmp_trt.build.layers import Layer, engine_layers
from polycmp_trt.build.network_parts import (
    layer_inputs,
    layer_outputs,
    layers,
    network_inputs,
    network_of,
    network_outputs,
)
from polycmp_trt.features import import_tensorrt
from polycmp_trt.run.layout import numpy_dtype
from polycmp_trt.show.inspection import layer_attributes

if TYPE_CHECKING:
    import onnx
    import tensorrt as trt

    from polycmp_trt.types import EngineSource, NetworkSource

#: Weights with more elements than this are described, not copied: the model is only displayed.
_LARGEST = 4096
#: How the builder names the layers that it adds where two layers want other layouts of a tensor.
_COPY = "Reformatting CopyNode"


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
        inputs = [_value(tensor.name, tensor.dtype, tensor.shape) for tensor in network_inputs(network)]
        outputs = [_value(tensor.name, tensor.dtype, tensor.shape) for tensor in network_outputs(network)]
        return _model(nodes, network.name, inputs, outputs)


class OnnxLikeFromEngine(Loader["onnx.ModelProto"]):
    """Exports an engine as an ONNX model whose nodes are the layers that the builder made of the network's.

    The name of a node tells which layers of the network it computes at once. Copies into other layouts are left out, so
    that the tensors between nodes have the network's names.

    Args:
        engine: The engine, or a callable that makes it.
    """

    def __init__(self, engine: EngineSource) -> None:
        self.engine = engine

    def call_impl(self) -> onnx.ModelProto:
        """Return the `onnx.ModelProto`.

        Raises:
            ModelError: The engine records only the names of its layers.
        """
        from onnx import helper

        engine = resolve(self.engine)
        engine_parts = engine_layers(engine)
        if not any(part.outputs for part in engine_parts):
            raise ModelError(
                "the engine does not tell what its layers read and make",
                why="it was built with another profiling_verbosity than detailed",
                hint="build it with --profiling-verbosity detailed",
            )
        names = network_names(engine_parts)
        nodes = [
            helper.make_node(
                part.kind or "Layer",
                [names.get(name, name) for name in part.inputs],
                [names.get(name, name) for name in part.outputs],
                name=part.name,
                domain="tensorrt",
            )
            for part in engine_parts
            if not part.name.startswith(_COPY)
        ]
        mode = import_tensorrt().TensorIOMode
        tensors = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        values = {name: _value(name, engine.get_tensor_dtype(name), engine.get_tensor_shape(name)) for name in tensors}
        inputs = [value for name, value in values.items() if engine.get_tensor_mode(name) == mode.INPUT]
        return _model(nodes, engine.name, inputs, [value for value in values.values() if value not in inputs])


class SaveLayers(Loader["trt.ICudaEngine"]):
    """Writes the layers of an engine as an ONNX model for viewers, and passes the engine on.

    Args:
        engine: The engine, or a callable that makes it.
        path: The file to write.
    """

    def __init__(self, engine: EngineSource, path: str | Path) -> None:
        self.engine = engine
        self.path = path

    def call_impl(self) -> trt.ICudaEngine:
        """Return the `tensorrt.ICudaEngine` after writing its layers.

        Raises:
            FileError: The file cannot be written.
            ModelError: The engine records only the names of its layers.
        """
        engine = resolve(self.engine)
        save_onnx_like(OnnxLikeFromEngine(engine), self.path)
        return engine


def save_onnx_like(loader: Callable[[], onnx.ModelProto], path: str | Path) -> None:
    """Write a network or an engine that was exported as an ONNX model.

    Args:
        loader: A callable that returns the `onnx.ModelProto`.
        path: The file to write.
    """
    model = loader()
    with atomic_write(path) as file:
        file.write(cast(bytes, model.SerializeToString()))


def network_names(engine_parts: Sequence[Layer]) -> dict[str, str]:
    """Return the names of the tensors that copies into other layouts read or make -> the network's name for them."""
    names: dict[str, str] = {}
    for part in engine_parts:
        if part.name.startswith(_COPY):
            read, made = next(iter(part.inputs), ""), next(iter(part.outputs), "")
            read = names.get(read, read)
            if read.startswith("Reformatted "):
                names[read] = made  # the copy makes what the network knows: one of its outputs, for example
            else:
                names[made] = read
    return names


def _model(
    nodes: Sequence[onnx.NodeProto],
    name: str,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
) -> onnx.ModelProto:
    import onnx
    from onnx import helper

    graph = helper.make_graph(nodes, name or "tensorrt", inputs, outputs)
    opset = [helper.make_opsetid("tensorrt", 1), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, producer_name="polycmp", ir_version=onnx.IR_VERSION)


def _value(name: str, dtype: trt.DataType, shape: trt.Dims) -> onnx.ValueInfoProto:
    from onnx import TensorProto, helper

    try:
        kind = helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype))
    except (DataError, KeyError, ValueError):
        kind = TensorProto.UNDEFINED
    try:
        dims = [dim if dim >= 0 else f"{name}_{axis}" for axis, dim in enumerate(tuple(shape))]
    except ValueError:  # a rank that is not known yet
        dims = None
    return helper.make_tensor_value_info(name, kind, dims)


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

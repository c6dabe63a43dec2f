"""Argument types of this package's loaders, for type checkers; TensorRT's classes are only named.

Each alias is a text, so that TensorRT need not be installed to read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import onnx
    import tensorrt as trt

    from polycmp.tensors import TensorMetadata

__all__ = [
    "Array",
    "Buffer",
    "ConfigSource",
    "DataLoader",
    "Dims",
    "EngineSource",
    "FileLike",
    "Network",
    "NetworkLoader",
    "NetworkSource",
    "OnnxSource",
    "PathSource",
    "RuntimeSource",
]

#: A NumPy array of any element type and shape.
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
#: A serialised engine or model.
Buffer: TypeAlias = "bytes | bytearray | memoryview | trt.IHostMemory"
#: A shape, or the values of a shape tensor.
Dims: TypeAlias = "tuple[int, ...]"
#: A path, or a callable that returns one.
PathSource: TypeAlias = "str | Path | Callable[[], str | Path]"
#: A path, or an open file.
FileLike: TypeAlias = "str | Path | IO[Any]"
#: Result of a maker of networks: `(builder, network)` or `(builder, network, parser)`.
Network: TypeAlias = (
    "tuple[trt.Builder, trt.INetworkDefinition] | tuple[trt.Builder, trt.INetworkDefinition, trt.OnnxParser]"
)
#: A callable that returns such a tuple.
NetworkLoader: TypeAlias = "Callable[[], Network]"
#: Such a tuple, or a callable that returns one.
NetworkSource: TypeAlias = "Network | NetworkLoader"
#: A builder configuration, or a callable that makes one for a builder and a network.
ConfigSource: TypeAlias = "trt.IBuilderConfig | Callable[[trt.Builder, trt.INetworkDefinition], trt.IBuilderConfig]"
#: An engine, or a callable that makes one.
EngineSource: TypeAlias = "trt.ICudaEngine | Callable[[], trt.ICudaEngine]"
#: A runtime, a callable that makes one, or None for a new one.
RuntimeSource: TypeAlias = "trt.Runtime | Callable[[], trt.Runtime] | None"
#: An ONNX model, or a callable that returns one.
OnnxSource: TypeAlias = "onnx.ModelProto | Callable[[], onnx.ModelProto]"
#: Feeds, or a callable that returns them, given the inputs' metadata if it takes an argument.
DataLoader: TypeAlias = (
    "Iterable[Mapping[str, Any]] | Callable[[], Iterable[Mapping[str, Any]]] "
    "| Callable[[TensorMetadata], Iterable[Mapping[str, Any]]]"
)

"""Writing small ONNX models by hand: nodes that are named after what they make, weights, inputs, outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
MICROSOFT = "com.microsoft"


@dataclass(frozen=True)
class Net:
    """A model and inputs for it.

    Attributes:
        model: The model.
        feed: Arrays by input.
        external: Whether weights are written beside the model.
    """

    model: onnx.ModelProto
    feed: Mapping[str, Array] = field(default_factory=dict)
    external: bool = False

    def write(self, folder: Path, name: str = "model.onnx") -> Path:
        """Write model and inputs (`x.npz`) to a folder and return the model's path."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        if self.external:
            data = path.with_suffix(".data").name
            (folder / data).unlink(missing_ok=True)
            copy = onnx.ModelProto()
            copy.CopyFrom(self.model)
            onnx.save(copy, path, save_as_external_data=True, location=data, size_threshold=64)
        else:
            onnx.save(self.model, path)
        feed = {name: array.astype(str) if array.dtype == object else array for name, array in self.feed.items()}
        np.savez(folder / "x.npz", allow_pickle=False, **feed)
        return path


class Graph:
    """Collects nodes and weights of one graph; every node bears the name of its first output.

    Args:
        name: Its name.
        seed: What weights and inputs are drawn from.
        opset: Version of the standard operators.
    """

    def __init__(self, name: str, seed: int = 0, opset: int = 17) -> None:
        self.name = name
        self.opset = opset
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.feed: dict[str, Array] = {}
        self.functions: list[onnx.FunctionProto] = []
        self.domains: dict[str, int] = {}

    def input(self, name: str, value: Array, shape: Sequence[int | str] | None = None) -> str:
        """Declare an input, with the array to feed."""
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape or value.shape)))
        self.feed[name] = value
        return name

    def output(self, *names: str, kind: int = TensorProto.FLOAT) -> None:
        """Declare outputs."""
        self.outputs += [helper.make_tensor_value_info(name, kind, None) for name in names]

    def const(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        """Add a weight of given values and return its name."""
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, name: str, *values: int) -> str:
        """Add a list of whole numbers and return its name."""
        return self.const(name, list(values), np.int64)

    def weight(self, name: str, *shape: int, scale: float = 0.0) -> str:
        """Add a weight with normally distributed values, by default so that a product keeps the magnitude."""
        fan = int(np.prod(shape[1:])) if len(shape) > 2 else shape[0]
        values = self.rng.standard_normal(shape) * (scale or fan**-0.5)
        return self.const(name, values)

    def normal(self, *shape: int, scale: float = 1.0) -> Array:
        """Return normally distributed float32 numbers."""
        return np.asarray(self.rng.standard_normal(shape) * scale, np.float32)

    def node(self, op: str, reads: Sequence[str], makes: str | Sequence[str], domain: str = "", **attrs: Any) -> str:
        """Add a node and return the name of its first output."""
        names = [makes] if isinstance(makes, str) else list(makes)
        self.nodes.append(helper.make_node(op, list(reads), names, name=names[0], domain=domain, **attrs))
        if domain:
            self.domains.setdefault(domain, 1)
        return names[0]

    def linear(self, x: str, name: str, inner: int, outer: int) -> str:
        """Add a product with a weight, and a bias."""
        product = self.node("MatMul", [x, self.weight(f"{name}.w", inner, outer)], f"{name}.matmul")
        return self.node("Add", [product, self.weight(f"{name}.b", outer, scale=0.1)], name)

    def norm(self, x: str, name: str, width: int) -> str:
        """Add a layer normalisation."""
        scale = self.const(f"{name}.scale", 1 + self.normal(width, scale=0.1))
        return self.node("LayerNormalization", [x, scale, self.weight(f"{name}.b", width, scale=0.1)], name, axis=-1)

    def conv(self, x: str, name: str, inner: int, outer: int, kernel: int = 3, **attrs: Any) -> str:
        """Add a convolution with a bias; as large as its input unless strides say otherwise."""
        group = attrs.get("group", 1)
        weight = self.weight(f"{name}.w", outer, inner // group, kernel, kernel)
        bias = self.weight(f"{name}.b", outer, scale=0.05)
        return self.node("Conv", [x, weight, bias], name, pads=[kernel // 2] * 4, **attrs)

    def batch_norm(self, x: str, name: str, channels: int) -> str:
        """Add a batch normalisation as training leaves it."""
        parts = [
            self.const(f"{name}.scale", 1 + self.normal(channels, scale=0.1)),
            self.const(f"{name}.bias", self.normal(channels, scale=0.1)),
            self.const(f"{name}.mean", self.normal(channels, scale=0.1)),
            self.const(f"{name}.var", np.abs(1 + self.normal(channels, scale=0.2))),
        ]
        return self.node("BatchNormalization", [x, *parts], name)

    def graph(self) -> onnx.GraphProto:
        """Return the graph alone."""
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)

    def net(self, **changes: Any) -> Net:
        """Return the model with its inputs; what shape inference knows of the outputs' shapes is written down."""
        opsets = [helper.make_opsetid("", self.opset)]
        opsets += [helper.make_opsetid(name, version) for name, version in self.domains.items()]
        model = helper.make_model(self.graph(), opset_imports=opsets, ir_version=8, functions=self.functions)
        inferred = onnx.shape_inference.infer_shapes(model)
        for output, known in zip(model.graph.output, inferred.graph.output, strict=True):
            output.CopyFrom(known)
        return Net(model, self.feed, **changes)

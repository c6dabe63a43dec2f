"""Small models, and devices that run them operator by operator with roundings of their own and dump every tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

Tensors = dict[str, np.ndarray]


class Network:
    """A model in the making, with the names that PyTorch's exporter gives.

    Args:
        seed: Seed of the weights.
    """

    def __init__(self, seed: int = 0) -> None:
        self._random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, *shape: int, scale: float = 0.0) -> str:
        values = self._random.normal(size=shape) * (scale or 1.0 / np.sqrt(np.prod(shape[1:]) or 1))
        self.weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def add(self, kind: str, path: str, *inputs: str, output: str = "", **attributes: object) -> str:
        made = output or f"/{path}/{kind}_output_0"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], name=f"/{path}/{kind}", **attributes))
        return made

    def conv(self, x: str, path: str, channels: int, filters: int, size: int = 3, stride: int = 1) -> str:
        weight = self.weight(f"{path}.weight", filters, channels, size, size)
        bias = self.weight(f"{path}.bias", filters, scale=0.1)
        return self.add("Conv", path, x, weight, bias, pads=[size // 2] * 4, strides=[stride, stride])

    def save(self, path: str, inputs: Mapping[str, tuple], output: str, shape: tuple) -> str:
        declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in inputs.items()]
        made = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, "net", declared, made, self.weights)
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def resnet(path: str = "model.onnx") -> str:
    """Save a net of three residual blocks on pictures of 3x16x16."""
    net = Network()
    x = net.add("Relu", "stem", net.conv("image", "stem", 3, 8))
    for name, channels, filters, stride in (("layer1", 8, 8, 1), ("layer2", 8, 16, 2), ("layer3", 16, 16, 1)):
        y = net.add("Relu", f"{name}/conv1", net.conv(x, f"{name}/conv1", channels, filters, 3, stride))
        y = net.conv(y, f"{name}/conv2", filters, filters)
        skip = x if stride == 1 else net.conv(x, f"{name}/down", channels, filters, 1, stride)
        x = net.add("Relu", name, net.add("Add", name, y, skip))
    x = net.add("Flatten", "pool", net.add("GlobalAveragePool", "pool", x))
    net.add("Gemm", "fc", x, net.weight("fc.weight", 10, 16), net.weight("fc.bias", 10, scale=0.1),
            output="logits", transB=1)  # fmt: skip
    return net.save(path, {"image": (1, 3, 16, 16)}, "logits", (1, 10))


def transformer(path: str = "model.onnx") -> str:
    """Save two layers of attention and a feed-forward part on 12 positions of 32 numbers."""
    net = Network(1)
    width, heads = 32, 4
    x = "embeddings"
    net.weights += [numpy_helper.from_array(np.array([1, 12, heads, width // heads], np.int64), "split"),
                    numpy_helper.from_array(np.array([1, 12, width], np.int64), "joined"),
                    numpy_helper.from_array(np.float32(np.sqrt(heads / width)), "scale")]  # fmt: skip
    for name in ("layer.0", "layer.1"):
        parts = []
        for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            y = net.add("MatMul", f"{name}/{part}", x, net.weight(f"{name}.{part}.weight", width, width))
            y = net.add("Add", f"{name}/{part}", y, net.weight(f"{name}.{part}.bias", width, scale=0.1))
            y = net.add("Reshape", f"{name}/{part}", y, "split")
            parts.append(net.add("Transpose", f"{name}/{part}", y, perm=order))
        y = net.add("Mul", f"{name}/scores", net.add("MatMul", f"{name}/scores", parts[0], parts[1]), "scale")
        y = net.add("MatMul", f"{name}/context", net.add("Softmax", f"{name}/scores", y, axis=-1), parts[2])
        y = net.add(
            "Reshape", f"{name}/context", net.add("Transpose", f"{name}/context", y, perm=[0, 2, 1, 3]), "joined"
        )
        y = net.add("MatMul", f"{name}/output", y, net.weight(f"{name}.output.weight", width, width))
        norm = [net.weight(f"{name}.norm.weight", width, scale=1.0), net.weight(f"{name}.norm.bias", width, scale=0.1)]
        x = net.add("LayerNormalization", f"{name}/norm", net.add("Add", f"{name}/output", y, x), *norm)
        y = net.add("MatMul", f"{name}/up", x, net.weight(f"{name}.up.weight", width, 64))
        y = net.add("Mul", f"{name}/up", y, net.add("Sigmoid", f"{name}/up", y))
        y = net.add("MatMul", f"{name}/down", y, net.weight(f"{name}.down.weight", 64, width))
        x = net.add("Add", f"{name}/down", y, x)
    net.add("MatMul", "head", x, net.weight("head.weight", width, 20), output="logits")
    return net.save(path, {"embeddings": (1, 12, width)}, "logits", (1, 12, 20))


def exact(name: str, array: np.ndarray) -> np.ndarray:
    """Round nothing."""
    return array


def half(name: str, array: np.ndarray) -> np.ndarray:
    """Round to float16."""
    return array.astype(np.float16).astype(np.float32) if array.dtype == np.float32 else array


class Codes:
    """Rounding to 8 bits, as an NPU does: each tensor has a scale, calibrated with the first it sees of it."""

    def __init__(self) -> None:
        self.scales: dict[str, tuple[float, int]] = {}

    def encode(self, name: str, array: np.ndarray) -> np.ndarray:
        low, high = min(float(array.min()), 0.0), max(float(array.max()), 0.0)
        scale = (high - low) / 255 or 1.0
        scale, zero = self.scales.setdefault(name, (scale, round(-low / scale)))
        return np.asarray(np.clip(np.rint(array / scale) + zero, 0, 255), np.uint8)

    def __call__(self, name: str, array: np.ndarray) -> np.ndarray:
        if array.dtype != np.float32:
            return array
        codes = self.encode(name, array)
        scale, zero = self.scales[name]
        return np.asarray((codes.astype(np.float32) - zero) * np.float32(scale), np.float32)


def run_on_device(
    model: onnx.ModelProto, feed: Tensors, rounding: Callable[[str, np.ndarray], np.ndarray] = exact
) -> Tensors:
    """Return the inputs and every tensor that a device makes of them, one operator after the other."""
    tensors = {item.name: rounding(item.name, numpy_helper.to_array(item)) for item in model.graph.initializer}
    weights = set(tensors)
    tensors.update(feed)
    for node in model.graph.node:
        read = {name: tensors[name] for name in node.input}
        declared = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in read.items()
        ]
        made = [onnx.ValueInfoProto(name=name) for name in node.output]
        graph = helper.make_graph([node], "one", declared, made)
        alone = helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)
        session = ort.InferenceSession(alone.SerializeToString(), providers=["CPUExecutionProvider"])
        outputs = session.run(None, read)
        tensors.update({name: rounding(name, array) for name, array in zip(node.output, outputs, strict=True)})
    return {name: array for name, array in tensors.items() if name not in weights}


def feeds_of(model: onnx.ModelProto, count: int = 1) -> list[Tensors]:
    """Return inputs of the shapes that a model declares."""
    shapes = {item.name: [dim.dim_value for dim in item.type.tensor_type.shape.dim] for item in model.graph.input}
    random = np.random.default_rng(7)
    return [
        {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()} for _ in range(count)
    ]


def underscored(name: str) -> str:
    """Return a name as programs spell it whose files have letters, digits and underscores only."""
    return re.sub(r"\W", "_", name)


def channels_last(array: np.ndarray) -> np.ndarray:
    """Return a tensor with its channels last, where it has any."""
    return np.moveaxis(array, 1, -1) if array.ndim == 4 else array


def write_raw(folder: Path | str, iterations: Iterable[Tensors], *, last: bool = True) -> None:
    """Write tensors as `qnn-net-run --debug` does: a folder for each input, a file of bare numbers for each tensor."""
    for number, tensors in enumerate(iterations):
        place = Path(folder, f"Result_{number}")
        place.mkdir(parents=True)
        for name, array in tensors.items():
            np.ascontiguousarray(channels_last(array) if last else array).tofile(place / f"{underscored(name)}.raw")


#: A map for such a folder.
NHWC = 'folder = "out"\nfiles = "Result_{iteration}/{tensor}.raw"\nlayout = "NHWC"\n'
HALF = NHWC + 'precision = "float16"\n'


def write_codes(folder: Path | str, iterations: Iterable[Tensors], codes: Codes) -> None:
    """Write tensors as codes of 8 bits with channels last, and a map with the scales."""
    lines = [NHWC]
    for number, tensors in enumerate(iterations):
        place = Path(folder, f"Result_{number}")
        place.mkdir(parents=True)
        for name, array in tensors.items():
            coded = codes.encode(name, array) if name in codes.scales else array
            np.ascontiguousarray(channels_last(coded)).tofile(place / f"{underscored(name)}.raw")
    for name in tensors.keys() & codes.scales.keys():
        scale, zero = codes.scales[name]
        lines.append(f'[tensors."{name}"]\ndtype = "uint8"\nscale = {scale:.9g}\nzero_point = {zero}\n')
    Path("dump.toml").write_text("\n".join(lines))

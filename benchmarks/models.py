"""Models to measure on, built with random weights; nothing is downloaded.

    python benchmarks/models.py chain|changed|half|resnet50|big|products|altered FILE.onnx

`chain` is 60 convolutions 1x1 with Relus on 64x184x184, `changed` the same with one weight of the 38th changed, `half`
30 pairs. `big` looks rows up in a table of 2.5 GB, which lies beside the model in a file with a hole for content.
`products` is 64 products with matrices of 2048x2048, 1 GB beside the model, `altered` the same with a row of the 43rd
multiplied by 1.3.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]


class _Builder:
    """Collects nodes and weights."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.rng = np.random.default_rng(seed)

    def weight(self, name: str, *shape: int, scale: float) -> str:
        """Add a weight with normally distributed values and return its name."""
        values = self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op_type: str, inputs: Sequence[str], output: str, **attributes: object) -> str:
        """Add a node and return the name of its output."""
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], name=f"{output}_node", **attributes))
        return output

    def conv(self, source: str, output: str, channels: int, filters: int, kernel: int, stride: int = 1) -> str:
        """Add a convolution with a bias, as it is after batch normalisation was folded into it."""
        weight = self.weight(
            f"{output}_w", filters, channels, kernel, kernel, scale=(2.0 / (channels * kernel**2)) ** 0.5
        )
        bias = self.weight(f"{output}_b", filters, scale=0.01)
        pads = [kernel // 2] * 4
        return self.add("Conv", [source, weight, bias], output, pads=pads, strides=[stride, stride])

    def save(self, path: str | Path, inputs: dict[str, list[int]], outputs: Sequence[str]) -> None:
        """Write the model."""
        graph = helper.make_graph(
            self.nodes,
            Path(path).stem,
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self.weights,
        )
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), str(path))


def conv_chain(
    path: str | Path, length: int = 60, channels: int = 64, size: int = 184, changed: int | None = None
) -> None:
    """Write a chain of convolutions 1x1 and Relus.

    Args:
        path: Where to.
        length: How many pairs.
        channels: Channels everywhere.
        size: Height and width.
        changed: Number of a convolution, counted from 1, of which one weight is made another.
    """
    builder = _Builder()
    source = "x"
    for number in range(1, length + 1):
        convolved = builder.conv(source, f"conv{number}", channels, channels, 1)
        if number == changed:
            values = numpy_helper.to_array(builder.weights[-2]).copy()
            values[channels // 2, channels // 3] += np.float32(0.05)
            builder.weights[-2].CopyFrom(numpy_helper.from_array(values, builder.weights[-2].name))
        source = builder.add("Relu", [convolved], f"relu{number}")
    builder.save(path, {"x": [1, channels, size, size]}, [source])


def resnet50(path: str | Path, batch: int = 8) -> None:
    """Write ResNet-50 (He and others, Deep Residual Learning, 2016, table 1), batch normalisation kept apart.

    Args:
        path: Where to.
        batch: Images at once.
    """
    builder = _Builder()

    def block(source: str, output: str, channels: int, filters: int, kernel: int, stride: int = 1) -> str:
        convolved = builder.conv(source, f"{output}_conv", channels, filters, kernel, stride)
        normal = [builder.weight(f"{output}_{part}", filters, scale=0.01) for part in ("scale", "bias", "mean")]
        ones = np.ones(filters, np.float32)
        builder.weights.append(numpy_helper.from_array(ones, f"{output}_var"))
        builder.weights[-4].CopyFrom(numpy_helper.from_array(ones, normal[0]))
        return builder.add("BatchNormalization", [convolved, *normal, f"{output}_var"], output)

    source = builder.add("Relu", [block("image", "stem", 3, 64, 7, 2)], "stem_relu")
    source = builder.add("MaxPool", [source], "stem_pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (blocks, filters) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for number in range(blocks):
            name, stride = f"s{stage}b{number}", 2 if stage and not number else 1
            inner = builder.add("Relu", [block(source, f"{name}_1", channels, filters, 1)], f"{name}_1_relu")
            inner = builder.add("Relu", [block(inner, f"{name}_2", filters, filters, 3, stride)], f"{name}_2_relu")
            inner = block(inner, f"{name}_3", filters, 4 * filters, 1)
            short = source if number else block(source, f"{name}_short", channels, 4 * filters, 1, stride)
            source = builder.add("Relu", [builder.add("Add", [inner, short], f"{name}_add")], f"{name}_relu")
            channels = 4 * filters
    pooled = builder.add("Flatten", [builder.add("GlobalAveragePool", [source], "pool")], "flat")
    weight = builder.weight("fc_w", channels, 1000, scale=channels**-0.5)
    bias = builder.weight("fc_b", 1000, scale=0.01)
    builder.save(path, {"image": [batch, 3, 224, 224]}, [builder.add("Gemm", [pooled, weight, bias], "logits")])


def big(path: str | Path, rows: int = 610_352, width: int = 1024) -> None:
    """Write a model whose only weight is larger than a protobuf message can be.

    Args:
        path: Where to; the weight goes beside it.
        rows: Rows of the table.
        width: Its columns, of float32.
    """
    data = Path(f"{path}.data")
    with data.open("wb") as file:
        file.truncate(4 * rows * width)
    table = onnx.TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[rows, width])
    table.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", data.name), ("offset", 0), ("length", 4 * rows * width)):
        table.external_data.add(key=key, value=str(value))
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [8, 128])
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="lookup"),
        helper.make_node("Cos", ["rows"], ["cos"], name="cos"),
        helper.make_node("Add", ["cos", "rows"], ["y"], name="sum"),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 128, width])
    graph = helper.make_graph(nodes, "big", [ids], [y], [table])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), str(path))


def products(path: str | Path, length: int = 64, width: int = 2048, altered: int | None = None) -> None:
    """Write a chain of products with weights that are far larger than its tensors.

    Args:
        path: Where to; the weights go beside it.
        length: How many products.
        width: Rows and columns of each matrix.
        altered: Number of a matrix, counted from 0, of which a row is multiplied by 1.3.
    """
    builder, source = _Builder(), "x"
    for number in range(length):
        weight = builder.weight(f"w{number}", width, width, scale=width**-0.5)
        if number == altered:
            values = numpy_helper.to_array(builder.weights[-1]).copy()
            values[3] *= np.float32(1.3)
            builder.weights[-1].CopyFrom(numpy_helper.from_array(values, weight))
        source = builder.add("MatMul", [source, weight], f"product{number}")
    builder.save(path, {"x": [1, width]}, [source])
    onnx.save(onnx.load(path), path, save_as_external_data=True, location=f"{Path(path).name}.data")


def write_apart(kind: str, path: Path) -> str:
    """Write a model from a process of its own and return its path.

    What a process has used at most counts as used by the programs that it starts, too.

    Args:
        kind: As on the command line.
        path: Where to.
    """
    subprocess.run([sys.executable, __file__, kind, str(path)], check=True, stdout=subprocess.DEVNULL)
    return str(path)


if __name__ == "__main__":
    wanted, file = sys.argv[1:]
    if wanted in {"resnet50", "big", "products"}:
        {"resnet50": resnet50, "big": big, "products": products}[wanted](file)
    elif wanted == "altered":
        products(file, altered=42)
    else:
        lengths = {"chain": (60, None), "changed": (60, 38), "half": (30, None)}
        length, changed_at = lengths[wanted]
        conv_chain(file, length, changed=changed_at)

"""A small U-Net."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def unet() -> onnx.ModelProto:
    """Make a small U-Net: convolutions with norms, pooling, transposed convolution, Resize, Concat, Softmax."""
    draw = np.random.default_rng(5)
    nodes: list[Any] = []
    weights: list[Any] = []

    def weight(name: str, *shape: int, scale: float = 1.0, shift: float = 0.0) -> str:
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        values = draw.standard_normal(shape) * scale / np.sqrt(fan) + shift
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def block(name: str, source: str, inner: int, outer: int) -> str:
        nodes.append(
            helper.make_node(
                "Conv",
                [source, weight(f"{name}.w", outer, inner, 3, 3), weight(f"{name}.b", outer, scale=0.2)],
                [f"{name}.conv"],
                name=f"{name}.conv",
                pads=[1] * 4,
                kernel_shape=[3, 3],
                strides=[1, 1],
                dilations=[1, 1],
            )
        )
        spread = helper.make_node(
            "BatchNormalization",
            [
                f"{name}.conv",
                weight(f"{name}.g", outer, scale=0.1, shift=1.0),
                weight(f"{name}.beta", outer, scale=0.2),
                weight(f"{name}.mean", outer, scale=0.2),
                weight(f"{name}.var", outer, scale=0.05, shift=1.0),
            ],
            [f"{name}.norm"],
            name=f"{name}.norm",
            epsilon=1e-5,
        )
        nodes.extend([spread, helper.make_node("Relu", [f"{name}.norm"], [f"{name}.relu"], name=f"{name}.relu")])
        return f"{name}.relu"

    one = block("down1", "image", 3, 8)
    nodes.append(
        helper.make_node("MaxPool", [one], ["pool1"], name="pool1", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    )
    two = block("down2", "pool1", 8, 16)
    nodes.append(
        helper.make_node(
            "AveragePool", [two], ["pool2"], name="pool2", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
        )
    )
    middle = block("middle", "pool2", 16, 16)
    up = ["up1", [middle, weight("up1.w", 16, 16, 2, 2)]]
    nodes.append(helper.make_node("ConvTranspose", up[1], ["up1"], name="up1", kernel_shape=[2, 2], strides=[2, 2]))
    nodes.append(helper.make_node("Concat", ["up1", two], ["cat1"], name="cat1", axis=1))
    three = block("up2", "cat1", 32, 8)
    weights.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"))
    nodes.append(
        helper.make_node(
            "Resize",
            [three, "", "scales"],
            ["big"],
            name="big",
            mode="linear",
            coordinate_transformation_mode="half_pixel",
        )
    )
    nodes.append(helper.make_node("Add", ["big", one], ["sum"], name="sum"))
    four = block("last", "sum", 8, 8)
    nodes.append(
        helper.make_node(
            "Conv",
            [four, weight("head.w", 5, 8, 1, 1)],
            ["classes"],
            name="head",
            kernel_shape=[1, 1],
            strides=[1, 1],
            dilations=[1, 1],
            pads=[0] * 4,
        )
    )
    nodes.append(helper.make_node("Transpose", ["classes"], ["last_axis"], name="to_last", perm=[0, 2, 3, 1]))
    nodes.append(helper.make_node("Softmax", ["last_axis"], ["scores"], name="softmax", axis=-1))
    shapes = [
        helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 32, 32]),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 32, 32, 5]),
    ]
    graph = helper.make_graph(nodes, "unet", shapes[:1], shapes[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model

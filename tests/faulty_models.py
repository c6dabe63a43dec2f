"""Small models with a fault that one of the installed backends, or one changed weight, really has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int | str],
    weights: dict[str, np.ndarray],
    kind: int = TensorProto.FLOAT,
    opset: int = 17,
) -> Path:
    """Write a model from `x` to `y`."""
    graph = helper.make_graph(
        list(nodes),
        path.stem,
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


def chain(path: Path, length: int = 12, changed: int | None = None, channels: int = 4) -> Path:
    """Convolutions 1x1 and Relus; one weight of the convolution number `changed` is another one."""
    rng = np.random.default_rng(0)
    nodes, weights, source = [], {}, "x"
    for number in range(1, length + 1):
        weight = rng.standard_normal((channels, channels, 1, 1)).astype(np.float32)
        if number == changed:
            weight[1, 1] += 1
        weights[f"w{number}"] = weight
        target = "y" if number == length else f"relu{number}"
        nodes.append(helper.make_node("Conv", [source, f"w{number}"], [f"conv{number}"], name=f"c{number}"))
        nodes.append(helper.make_node("Relu", [f"conv{number}"], [target], name=f"r{number}"))
        source = target
    return save(path, nodes, [1, channels, 16, 16], weights)


def residual(path: Path) -> Path:
    """A graph in which tensors live across others, one weight passes through an operator, and a shape is computed."""
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], name="turn"),
        helper.make_node("MatMul", ["x", "wt"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("MatMul", ["b", "wt"], ["c"], name="second"),
        helper.make_node("Add", ["c", "a"], ["d"], name="sum"),
        helper.make_node("Reshape", ["d", "s"], ["e"], name="reshape"),
        helper.make_node("Add", ["e", "x"], ["y"], name="last"),
    ]
    weight = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    return save(path, nodes, ["n", 8], {"w": weight})


def pad_pool(path: Path) -> Path:
    """Zeros around the input, then a maximum: ONNX Runtime folds the padding into the pooling, which pads with -inf."""
    nodes = [
        helper.make_node("Pad", ["x", "pads"], ["padded"], name="pad"),
        helper.make_node("MaxPool", ["padded"], ["y"], name="pool", kernel_shape=[2, 2], strides=[1, 1]),
    ]
    return save(path, nodes, [1, 1, 3, 3], {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)}, opset=13)


def conv_norm(path: Path) -> Path:
    """Convolution, batch normalisation with tiny variances, Relu: fused, the result is a little different."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], name="norm"),
        helper.make_node("Relu", ["n"], ["y"], name="relu"),
    ]
    weights = {name: rng.standard_normal(16).astype(np.float32) for name in "sbm"}
    weights["w"] = rng.standard_normal((16, 16, 3, 3)).astype(np.float32)
    weights["v"] = np.full(16, 1e-4, np.float32)
    return save(path, nodes, [1, 16, 32, 32], weights)


def layer_norm(path: Path) -> Path:
    """Layer normalisation in float16, operator by operator: the square of a large value overflows."""
    steps = [
        ("ReduceMean", ["x"], "mu"), ("Sub", ["x", "mu"], "d"), ("Pow", ["d", "two"], "sq"),
        ("ReduceMean", ["sq"], "var"), ("Add", ["var", "eps"], "ve"), ("Sqrt", ["ve"], "sd"),
        ("Div", ["d", "sd"], "q"), ("Mul", ["q", "gamma"], "scaled"), ("Add", ["scaled", "beta"], "y"),
    ]  # fmt: skip
    nodes = [
        helper.make_node(kind, reads, [makes], name=makes, **({"axes": [-1]} if kind == "ReduceMean" else {}))
        for kind, reads, makes in steps
    ]
    weights = {"two": np.float16(2), "eps": np.float16(1e-3), "gamma": np.ones(64), "beta": np.full(64, 0.25)}
    halves = {name: np.asarray(value, np.float16) for name, value in weights.items()}
    return save(path, nodes, [4, 64], halves, TensorProto.FLOAT16, 13)


def operators(path: Path | str) -> list[str]:
    """Return the names of a model's operators."""
    return [node.name for node in onnx.load(path).graph.node]


def branches(path: Path) -> Path:
    """Two branches of different length that meet, and one that meets nothing."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], name="stem"),
        helper.make_node("Relu", ["a"], ["left"], name="left"),
        helper.make_node("MatMul", ["a", "w"], ["r1"], name="right1"),
        helper.make_node("Tanh", ["r1"], ["r2"], name="right2"),
        helper.make_node("MatMul", ["r2", "w"], ["right"], name="right3"),
        helper.make_node("Add", ["left", "right"], ["sum"], name="join"),
        helper.make_node("Sigmoid", ["sum"], ["y"], name="last"),
    ]
    weight = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    return save(path, nodes, ["n", 8], {"w": weight})


def layers(path: Path, count: int) -> Path:
    """Convolutions 1x1 and LeakyRelus in turn, that keep the size of the numbers."""
    rng = np.random.default_rng(0)
    nodes, weights, source = [], {}, "x"
    for number in range(1, count + 1):
        target = "y" if number == count else f"t{number}"
        if number % 2:
            turned, _ = np.linalg.qr(rng.standard_normal((4, 4)))
            weights[f"w{number}"] = (1.265 * turned).astype(np.float32).reshape(4, 4, 1, 1)
            nodes.append(helper.make_node("Conv", [source, f"w{number}"], [target], name=f"n{number}"))
        else:
            nodes.append(helper.make_node("LeakyRelu", [source], [target], name=f"n{number}", alpha=0.5))
        source = target
    return save(path, nodes, [1, 4, 16, 16], weights)


def relu_clip(path: Path) -> Path:
    """Write Relu and Clip among others in float64, which ONNX Runtime's rule for both does not know."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["m"], name="mul"),
        helper.make_node("Sigmoid", ["m"], ["s"], name="sigmoid"),
        helper.make_node("Relu", ["s"], ["r"], name="relu"),
        helper.make_node("Clip", ["r", "low", "two"], ["c"], name="clip"),
        helper.make_node("Add", ["c", "two"], ["a"], name="add"),
        helper.make_node("Exp", ["a"], ["y"], name="exp"),
    ]
    return save(path, nodes, [3, 4], {"two": np.float64(2), "low": np.float64(-1)}, TensorProto.DOUBLE)

"""Model files of two layers and two convolutions, and what tools and faults change in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

WIDTH = 16
Change = Callable[[onnx.ModelProto], None]


def network(path: Path, *, opset: int = 17) -> Path:
    """Write two layers with normalisation, softmax and two convolutions of which one is normalised."""
    rng = np.random.default_rng(0)

    def normal(*shape: int, scale: float = 0.3) -> np.ndarray:
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    held = {
        "c.w": normal(8, 3, 3, 3), "c.b": normal(8), "bn.g": 1 + normal(8), "bn.b": normal(8), "bn.m": normal(8),
        "bn.v": np.abs(normal(8)) + np.float32(0.5), "d.w": normal(4, 8, 3, 3), "d.b": normal(4),
        "flat": np.array([0, 4, WIDTH], np.int64), "q.w": normal(WIDTH, WIDTH), "q.b": normal(WIDTH),
        "n.g": 1 + normal(WIDTH), "n.b": normal(WIDTH), "low": np.float32(np.finfo(np.float32).min),
        "tiny": np.float32(1e-12), "o.w": normal(WIDTH, 5), "o.b": normal(5), "mask": normal(4, 4) > 0.4,
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "c.w", "c.b"], ["c"], "c", pads=[1, 1, 0, 0], strides=[2, 2]),
        helper.make_node("BatchNormalization", ["c", "bn.g", "bn.b", "bn.m", "bn.v"], ["bn"], "bn"),
        helper.make_node("Relu", ["bn"], ["r"], "r"),
        helper.make_node("Conv", ["r", "d.w", "d.b"], ["d"], "d", pads=[1, 1, 1, 1]),
        helper.make_node("Reshape", ["d", "flat"], ["rows"], "rows"),
        helper.make_node("LayerNormalization", ["rows", "n.g", "n.b"], ["n"], "n"),
        helper.make_node("MatMul", ["n", "q.w"], ["qm"], "qm"),
        helper.make_node("Add", ["qm", "q.b"], ["q"], "q"),
        helper.make_node("Transpose", ["n"], ["nt"], "nt", perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "nt"], ["s"], "s"),
        helper.make_node("Where", ["mask", "low", "s"], ["masked"], "masked"),
        helper.make_node("Softmax", ["masked"], ["p"], "p", axis=-1),
        helper.make_node("MatMul", ["p", "n"], ["mixed"], "mixed"),
        helper.make_node("Tanh", ["mixed"], ["t"], "t"),
        helper.make_node("Add", ["t", "tiny"], ["u"], "u"),
        helper.make_node("MatMul", ["u", "o.w"], ["om"], "om"),
        helper.make_node("Add", ["om", "o.b"], ["y"], "y"),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", 1, [1, 4, 5])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def constant(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Change:
    def edit(model: onnx.ModelProto) -> None:
        tensor = next(item for item in model.graph.initializer if item.name == name)
        array = numpy_helper.to_array(tensor)
        made = np.ascontiguousarray(change(np.array(array)).astype(array.dtype)).reshape(array.shape)
        tensor.CopyFrom(numpy_helper.from_array(made, name))

    return edit


def edited(source: Path, target: Path, *changes: Change) -> Path:
    model = onnx.load(source)
    for change in changes:
        change(model)
    onnx.save(model, target)
    return target


def half(source: Path, target: Path) -> None:
    """Convert to float16 as converters do: masks are cut, and tiny numbers lifted."""
    model = onnx.load(source)
    for item in model.graph.initializer:
        array = numpy_helper.to_array(item)
        if array.dtype == np.float32:
            array = np.clip(array, -1e4, 1e4)
            array = np.where((array != 0) & (np.abs(array) < 1e-7), np.float32(1e-7), array)
            item.CopyFrom(numpy_helper.from_array(np.asarray(array.astype(np.float16)), item.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = 10
    onnx.save(model, target)


def hidden(array: np.ndarray) -> np.ndarray:
    """Change a number by what float16 shows and a default tolerance on the outputs need not."""
    array.reshape(-1)[3] *= np.float32(1.003)
    return array

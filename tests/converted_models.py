"""Pairs of models that should compute the same: a small network, and what converters make of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

WIDTH = 16


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """Return an operator between tensors whose names are separated by spaces."""
    made = outputs.split()
    return helper.make_node(op, inputs.split(), made, name=f"n_{made[0]}", **attributes)


def save(path: Path, nodes: Iterable[onnx.NodeProto], weights: dict[str, np.ndarray], kind: int = 1) -> Path:
    """Write a model from `x` [batch, 5, WIDTH] to `y`."""
    graph = helper.make_graph(
        list(nodes),
        path.stem,
        [helper.make_tensor_value_info("x", kind, ["batch", 5, WIDTH])],
        [helper.make_tensor_value_info("y", kind, ["batch", 5, WIDTH])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 20)])
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def weights_of(layers: int = 3) -> dict[str, np.ndarray]:
    """Return the weights of `network`."""
    rng = np.random.default_rng(0)
    found: dict[str, np.ndarray] = {}
    for layer in range(layers):
        for name in ("up", "down"):
            found[f"{layer}.{name}.weight"] = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 4
            found[f"{layer}.{name}.bias"] = rng.standard_normal(WIDTH).astype(np.float32) / 4
        found[f"{layer}.norm.weight"] = np.ones(WIDTH, np.float32)
        found[f"{layer}.norm.bias"] = np.zeros(WIDTH, np.float32)
    return found


def network(path: Path, weights: dict[str, np.ndarray] | None = None, layers: int = 3) -> Path:
    """Layers of two linear functions with a Gelu between them, a residual connection and a LayerNormalization."""
    nodes, source = [], "x"
    for layer in range(layers):
        target = "y" if layer == layers - 1 else f"norm{layer}"
        nodes += [
            node("MatMul", f"{source} {layer}.up.weight", f"up{layer}"),
            node("Add", f"up{layer} {layer}.up.bias", f"upper{layer}"),
            node("Gelu", f"upper{layer}", f"gelu{layer}"),
            node("MatMul", f"gelu{layer} {layer}.down.weight", f"down{layer}"),
            node("Add", f"down{layer} {layer}.down.bias", f"downer{layer}"),
            node("Add", f"downer{layer} {source}", f"sum{layer}"),
            node("LayerNormalization", f"sum{layer} {layer}.norm.weight {layer}.norm.bias", target, axis=-1),
        ]
        source = target
    return save(path, nodes, weights or weights_of(layers))


def exported(path: Path, weights: dict[str, np.ndarray] | None = None, layers: int = 3) -> Path:
    """The same network as another exporter writes it: other names, Gelu and LayerNormalization in small steps."""
    weights = dict(weights or weights_of(layers))
    weights |= {"two": np.float32(2), "one": np.float32(1), "half": np.float32(0.5), "tiny": np.float32(1e-5)}
    weights |= {"root": np.float32(np.sqrt(2)), "last": np.array([-1], np.int64)}
    nodes, source = [], "x"
    for layer in range(layers):
        target = "y" if layer == layers - 1 else f"/layer{layer}/out"
        at = f"/layer{layer}"
        nodes += [
            node("MatMul", f"{source} {layer}.up.weight", f"{at}/mm1"),
            node("Add", f"{layer}.up.bias {at}/mm1", f"{at}/up"),
            node("Div", f"{at}/up root", f"{at}/div"),
            node("Erf", f"{at}/div", f"{at}/erf"),
            node("Add", f"{at}/erf one", f"{at}/plus"),
            node("Mul", f"{at}/up {at}/plus", f"{at}/mul"),
            node("Mul", f"{at}/mul half", f"{at}/act"),
            node("MatMul", f"{at}/act {layer}.down.weight", f"{at}/mm2"),
            node("Add", f"{layer}.down.bias {at}/mm2", f"{at}/down"),
            node("Add", f"{source} {at}/down", f"{at}/sum"),
            node("ReduceMean", f"{at}/sum last", f"{at}/mean", keepdims=1),
            node("Sub", f"{at}/sum {at}/mean", f"{at}/centred"),
            node("Pow", f"{at}/centred two", f"{at}/square"),
            node("ReduceMean", f"{at}/square last", f"{at}/variance", keepdims=1),
            node("Add", f"{at}/variance tiny", f"{at}/positive"),
            node("Sqrt", f"{at}/positive", f"{at}/deviation"),
            node("Div", f"{at}/centred {at}/deviation", f"{at}/normal"),
            node("Mul", f"{at}/normal {layer}.norm.weight", f"{at}/scaled"),
            node("Add", f"{at}/scaled {layer}.norm.bias", target),
        ]
        source = target
    return save(path, nodes, weights)


def edited(source: Path, target: Path, change: Any) -> Path:
    """Write a model with a change: `change(model)`."""
    model = onnx.load(source)
    change(model)
    onnx.save(model, target)
    return target


def weight(model: onnx.ModelProto, name: str) -> onnx.TensorProto:
    """Return a weight by name."""
    return next(item for item in model.graph.initializer if item.name == name)


def scaled(name: str, factor: float) -> Any:
    """Return a change that multiplies a weight."""

    def change(model: onnx.ModelProto) -> None:
        item = weight(model, name)
        array = numpy_helper.to_array(item)
        item.CopyFrom(numpy_helper.from_array((array * factor).astype(array.dtype), name))

    return change


def detour(tensor: str, nodes: list[onnx.NodeProto], result: str, weights: dict[str, np.ndarray]) -> Any:
    """Return a change after which a tensor's readers read what some operators make of it."""

    def change(model: onnx.ModelProto) -> None:
        graph = model.graph
        place = next(index for index, item in enumerate(graph.node) if tensor in item.output)
        for item in graph.node:
            item.input[:] = [result if name == tensor else name for name in item.input]
        for item in reversed(nodes):
            graph.node.insert(place + 1, item)
        graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())

    return change


def frozen(name: str, value: np.ndarray) -> Any:
    """Return a change after which a tensor is a constant."""

    def change(model: onnx.ModelProto) -> None:
        graph = model.graph
        kept = [item for item in graph.node if name not in item.output]
        del graph.node[:]
        graph.node.extend(kept)
        graph.initializer.append(numpy_helper.from_array(value, name))

    return change


def sized(path: Path) -> Path:
    """Write a network that takes sizes from its inputs: to reshape by, and to divide by."""
    nodes = [
        node("Shape", "x", "shape"),
        node("MatMul", "x w", "h"),
        node("Reshape", "h flat", "rows"),
        node("Reshape", "rows shape", "back"),
        node("Size", "x", "count"),
        node("Cast", "count", "number", to=1),
        node("Div", "back number", "y"),
    ]
    weights = {"w": weights_of()["0.up.weight"], "flat": np.array([-1, WIDTH], np.int64)}
    return save(path, nodes, weights)


def swapped(one: str, two: str) -> Any:
    """Return a change that gives two tensors each other's names."""
    names = {one: two, two: one}

    def change(model: onnx.ModelProto) -> None:
        for item in model.graph.node:
            item.input[:] = [names.get(name, name) for name in item.input]
            item.output[:] = [names.get(name, name) for name in item.output]

    return change


def rows(path: Path, *, whole: bool) -> Path:
    """Write a network of two linear functions on rows: each a Gemm, or a product and a sum with other names."""
    weights = {key: value for key, value in weights_of(2).items() if key.split(".")[1] == "up"}
    weights |= {"flat": np.array([-1, WIDTH], np.int64), "deep": np.array([-1, 5, WIDTH], np.int64)}
    nodes, source = [node("Reshape", "x flat", "rows")], "rows"
    for layer in range(2):
        weight, bias, made = f"{layer}.up.weight", f"{layer}.up.bias", f"{'whole' if whole else 'sum'}{layer}"
        if whole:
            nodes.append(node("Gemm", f"{source} {weight} {bias}", made))
        else:
            nodes.append(node("MatMul", f"{source} {weight}", f"product{layer}"))
            nodes.append(node("Add", f"product{layer} {bias}", made))
        source = f"{'bent' if whole else 'curved'}{layer}"
        nodes.append(node("Tanh", made, source))
    return save(path, [*nodes, node("Reshape", f"{source} deep", "y")], weights)


def with_input(name: str) -> Any:
    """Return a change after which the model calls its first input otherwise."""

    def change(model: onnx.ModelProto) -> None:
        own = model.graph.input[0].name
        for item in model.graph.node:
            item.input[:] = [name if read == own else read for read in item.input]
        model.graph.input[0].name = name

    return change


def through(tensor: str, kind: int) -> Any:
    """Return a change that casts a tensor to another type and back."""
    there, back = f"{tensor}_there", f"{tensor}_back"
    nodes = [node("Cast", tensor, there, to=kind), node("Cast", there, back, to=1)]
    return detour(tensor, nodes, back, {})


def enlarged(tensor: str, factor: float) -> Any:
    """Return a change that multiplies a tensor and then divides it."""
    large, small = f"{tensor}_large", f"{tensor}_small"
    nodes = [node("Mul", f"{tensor} up", large), node("Mul", f"{large} down", small)]
    return detour(tensor, nodes, small, {"up": np.float32(factor), "down": np.float32(1 / factor)})


def dynamic_int8(source: Path, target: Path, *, signed: bool = True) -> Path:
    """Write a model as ONNX Runtime quantises it with scales that it finds while running."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    # 7 bits, so that no processor adds two products in 16 bits
    kind = QuantType.QInt8 if signed else QuantType.QUInt8
    quantize_dynamic(source, target, weight_type=kind, reduce_range=True)
    return target


def convolutions(path: Path) -> Path:
    """Write two convolutions with biases, and a sum so that both the file and its quantised form have the operator."""
    rng = np.random.default_rng(4)
    weights = {
        "in.weight": rng.standard_normal((8, 5, 3)).astype(np.float32) / 4,
        "in.bias": rng.standard_normal(8).astype(np.float32) * 2,
        "out.weight": rng.standard_normal((5, 8, 3)).astype(np.float32) / 4,
        "out.bias": rng.standard_normal(5).astype(np.float32) * 2,
    }
    nodes = [
        node("Conv", "x in.weight in.bias", "first", pads=[1, 1]),
        node("Relu", "first", "bent"),
        node("Conv", "bent out.weight out.bias", "second", pads=[1, 1]),
        node("Add", "x second", "y"),
    ]
    return save(path, nodes, weights)


def static_qdq(source: Path, target: Path) -> Path:
    """Write a model as ONNX Runtime quantises it with scales of a calibration."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            rng = np.random.default_rng(1)
            self.feeds = iter([{"x": rng.random((2, 5, WIDTH), np.float32)} for _ in range(4)])

        def get_next(self) -> Any:
            return next(self.feeds, None)

    quantize_static(source, target, Reader(), quant_format=QuantFormat.QDQ, reduce_range=True)
    return target


def bent(path: Path, kinds: str) -> Path:
    """Write convolutions and activations in a row, from `x` to `y`, one for each letter.

    Args:
        path: Where to.
        kinds: C for Conv, R for Relu, 6 for Clip from 0 on, 2 for Clip below 0 as well, S for Sigmoid.
    """
    rng = np.random.default_rng(3)
    weights = {"low": np.float32(-0.4), "none": np.float32(0), "high": np.float32(0.5)}
    nodes, source = [], "x"
    for place, kind in enumerate(kinds):
        target = "y" if place == len(kinds) - 1 else f"t{place}"
        if kind == "C":
            weights[f"{place}.weight"] = rng.standard_normal((5, 5, 3)).astype(np.float32) / 3
            weights[f"{place}.bias"] = rng.standard_normal(5).astype(np.float32) / 3
            nodes.append(node("Conv", f"{source} {place}.weight {place}.bias", target, pads=[1, 1]))
        elif kind in "62":
            nodes.append(node("Clip", f"{source} {'none' if kind == '6' else 'low'} high", target))
        else:
            nodes.append(node("Relu" if kind == "R" else "Sigmoid", source, target))
        source = target
    return save(path, nodes, weights)


def stacked(path: Path) -> Path:
    """Write three products, each with a sum and a Relu behind it."""
    nodes, source = [], "x"
    for layer in range(3):
        target = "y" if layer == 2 else f"bent{layer}"
        nodes += [
            node("MatMul", f"{source} {layer}.up.weight", f"product{layer}"),
            node("Add", f"product{layer} {layer}.up.bias", f"sum{layer}"),
            node("Relu", f"sum{layer}", target),
        ]
        source = target
    return save(path, nodes, weights_of(3))


def static(source: Path, target: Path, form: str = "QDQ", **options: Any) -> Path:
    """Write a model as ONNX Runtime quantises it with scales of a calibration on inputs of both signs.

    Args:
        source: The model.
        target: Where to.
        form: `QDQ` or `QOperator`.
        options: More arguments of `quantize_static`.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            rng = np.random.default_rng(1)
            self.feeds = iter([{"x": rng.standard_normal((2, 5, WIDTH)).astype(np.float32)} for _ in range(8)])

        def get_next(self) -> Any:
            return next(self.feeds, None)

    options.setdefault("reduce_range", True)  # 7 bits, so that no processor adds two products in 16 bits
    quantize_static(source, target, Reader(), quant_format=QuantFormat[form], **options)
    return target


def optimised(source: Path, target: Path, level: str = "ORT_ENABLE_EXTENDED") -> Path:
    """Write a model as ONNX Runtime's graph optimiser leaves it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(target)
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    return target


def masked(path: Path) -> Path:
    """Write a network that masks a fifth of its scores with the lowest number before a Softmax."""
    mask = np.zeros((5, WIDTH), np.float32)
    mask[:, -3:] = np.finfo(np.float32).min
    nodes = [
        node("MatMul", "x 0.up.weight", "scores"),
        node("Add", "scores mask", "masked"),
        node("Softmax", "masked", "shares", axis=-1),
        node("MatMul", "shares 0.down.weight", "y"),
    ]
    return save(path, nodes, weights_of(1) | {"mask": mask})


def sharp(path: Path) -> Path:
    """Write a network whose Softmax makes large differences of small ones."""
    nodes = [
        node("MatMul", "x 0.up.weight", "scores"),
        node("Mul", "scores factor", "scaled"),
        node("Softmax", "scaled", "shares", axis=-1),
        node("MatMul", "shares 0.down.weight", "y"),
    ]
    return save(path, nodes, weights_of(1) | {"factor": np.float32(60)})


def peaked(path: Path, layers: int = 5, large: float = 12) -> Path:
    """Write a network in which one channel is far larger than the others, and is read by nothing but the steps."""
    weights = weights_of(layers)
    for layer in range(layers):
        weights[f"{layer}.norm.weight"] = np.r_[np.float32(large), np.ones(WIDTH - 1, np.float32)].astype(np.float32)
        weights[f"{layer}.up.weight"] = np.r_[np.zeros((1, WIDTH)), 3 * weights[f"{layer}.up.weight"][1:]].astype("f4")
    return network(path, weights, layers)

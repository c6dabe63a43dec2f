"""A small model with a channel that smaller types cannot hold, and the same in every smaller type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from polycmp_onnx import convert_to_bf16, convert_to_fp16

WIDTH, BATCH = 32, 4


def chain(layers: int = 12, outlier: int = 0, size: float = 1.0) -> onnx.ModelProto:
    """Make MatMul, Add and Tanh again and again; what leaves the Add of one layer has a channel of a size.

    The channel enters that MatMul's weight and leaves in the next one's, so the model computes about the same.
    """
    draw = np.random.default_rng(7)
    nodes, weights, previous = [], [], "x"
    for index in range(1, layers + 1):
        weight = (draw.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)
        bias = draw.standard_normal(WIDTH).astype(np.float32) * np.float32(0.1)
        if index == outlier:
            weight[:, 3] *= np.float32(size)
        if index == outlier + 1 and outlier:
            weight[3] /= np.float32(size)
        weights += [numpy_helper.from_array(weight, f"w{index}"), numpy_helper.from_array(bias, f"b{index}")]
        nodes.append(helper.make_node("MatMul", [previous, f"w{index}"], [f"m{index}"], name=f"matmul{index}"))
        nodes.append(helper.make_node("Add", [f"m{index}", f"b{index}"], [f"a{index}"], name=f"add{index}"))
        previous = f"a{index}"
        if index != outlier:
            nodes.append(helper.make_node("Tanh", [previous], [f"t{index}"], name=f"tanh{index}"))
            previous = f"t{index}"
    nodes[-1].output[0] = "y"
    shapes = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, WIDTH]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", shapes[:1], shapes[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def chain_with_fault(share: float, layers: int, layer: int) -> onnx.ModelProto:
    """Make a chain in which the weight of a layer is too large by a share of itself."""
    model = chain(layers)
    weight = next(item for item in model.graph.initializer if item.name == f"w{layer}")
    array = numpy_helper.to_array(weight) * np.float32(1 + share)
    weight.CopyFrom(numpy_helper.from_array(array.astype(np.float32), weight.name))
    return model


def feed() -> dict[str, Any]:
    """Return inputs of both signs."""
    return {"x": np.random.default_rng(3).standard_normal((BATCH, WIDTH)).astype(np.float32)}


def float16(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    return convert_to_fp16(model)


def bfloat16(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    return convert_to_bf16(model)


def dynamic(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """Quantise with ONNX Runtime to integers whose steps are chosen while the model runs."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    onnx.save(model, folder / "before.onnx")
    quantize_dynamic(folder / "before.onnx", folder / "dynamic.onnx", weight_type=QuantType.QInt8)
    return onnx.load(folder / "dynamic.onnx")


def qdq(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """Quantise with ONNX Runtime to Quantize/DequantizeLinear with steps from one input."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [feed()]

        def get_next(self) -> dict[str, Any] | None:
            return self.left.pop() if self.left else None

    onnx.save(model, folder / "before.onnx")
    quantize_static(folder / "before.onnx", folder / "qdq.onnx", Reader(), quant_format=QuantFormat.QDQ)
    return onnx.load(folder / "qdq.onnx")


def int4(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """Put the weights of all MatMul in 4 bits, in blocks of 16, as com.microsoft's MatMulNBits reads them."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    weights = {item.name: numpy_helper.to_array(item) for item in made.graph.initializer}
    nodes = []
    for node in made.graph.node:
        if node.op_type != "MatMul":
            nodes.append(node)
            continue
        name = node.input[1]
        blocks = weights[name].T.reshape(WIDTH, WIDTH // 16, 16)
        scales = np.abs(blocks).max(-1) / 7
        codes = (np.clip(np.rint(blocks / scales[..., None]), -8, 7) + 8).astype(np.uint8)
        packed = codes[..., ::2] | (codes[..., 1::2] << 4)
        made.graph.initializer.append(numpy_helper.from_array(packed, f"{name}_4bit"))
        made.graph.initializer.append(numpy_helper.from_array(scales.reshape(-1).astype(np.float32), f"{name}_steps"))
        sizes = {"K": WIDTH, "N": WIDTH, "bits": 4, "block_size": 16}
        read = [node.input[0], f"{name}_4bit", f"{name}_steps"]
        nodes.append(
            helper.make_node("MatMulNBits", read, node.output, name=node.name, domain="com.microsoft", **sizes)
        )
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del made.graph.node[:]
    made.graph.node.extend(copies)
    kept = [item for item in made.graph.initializer if not item.name.startswith("w") or "_" in item.name]
    copies = [type(item).FromString(item.SerializeToString()) for item in kept]
    del made.graph.initializer[:]
    made.graph.initializer.extend(copies)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return made


def run(model: onnx.ModelProto) -> Any:
    """Run a model on `feed`: on ONNX's reference where it has bfloat16, which ONNX Runtime has no kernels for."""
    from onnxruntime import InferenceSession

    from polycmp_onnx import ReferenceRunner

    if any(item.data_type == TensorProto.BFLOAT16 for item in model.graph.initializer):
        with ReferenceRunner(lambda: model) as runner:
            return np.array(runner.infer(feed())["y"])
    return InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(["y"], feed())[0]

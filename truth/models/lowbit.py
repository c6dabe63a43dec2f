"""Models in few bits: quantised in the ways of ONNX Runtime's tools, float16, bfloat16 and mixed files."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from truth.build import MICROSOFT, Array, Graph, Net


def dynamic_int8(layers: int = 3, width: int = 32) -> Net:
    """Dense layers as `quantize_dynamic` writes them: quantise, multiply whole numbers, scale back."""
    g = Graph("dynamic", seed=16)
    x = g.input("x", g.normal(4, width), ["batch", width])
    for layer in range(layers):
        name = f"d{layer}"
        g.node("DynamicQuantizeLinear", [x], [f"{name}.q", f"{name}.scale", f"{name}.zero"])
        values = g.normal(width, width, scale=width**-0.5)
        # Seven bits, so that no processor's 16-bit sums saturate (ONNX Runtime: reduce_range).
        step = float(np.abs(values).max()) / 63
        weight = g.const(f"{name}.w", np.rint(values / step), np.int8)
        product = g.node(
            "MatMulInteger", [f"{name}.q", weight, f"{name}.zero", g.const(f"{name}.w0", 0, np.int8)], f"{name}.product"
        )
        real = g.node("Cast", [product], f"{name}.real", to=TensorProto.FLOAT)
        both = g.node("Mul", [f"{name}.scale", g.const(f"{name}.step", step)], f"{name}.steps")
        y = g.node(
            "Add",
            [g.node("Mul", [real, both], f"{name}.scaled"), g.weight(f"{name}.b", width, scale=0.1)],
            f"{name}.out",
        )
        x = g.node("Relu", [y], f"{name}.relu")
    g.linear(x, "y", width, 4)
    g.output("y")
    return g.net()


def _quantise(values: Array, *, signed: bool, symmetric: bool) -> tuple[np.float32, int]:
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    if symmetric:
        return np.float32(max(-low, high) / 127), 0
    step = np.float32((high - low) / 255)
    return step, round(-low / float(step)) - (128 if signed else 0)


def static_int8(net: Net, *, signed: bool, symmetric: bool, bits: int = 8, bias: bool = False) -> Net:
    """Return a model of convolutions and products with QuantizeLinear and DequantizeLinear around them.

    Args:
        net: A model in float32, with the inputs to calibrate with.
        signed: Whether activations are signed.
        symmetric: Whether their zero is in the middle.
        bits: Of the weights.
        bias: Whether biases are whole numbers of 32 bits, as ONNX Runtime's tool writes them; else real numbers.
    """
    from onnx.reference import ReferenceEvaluator

    model = onnx.ModelProto()
    model.CopyFrom(net.model)
    graph = model.graph
    known = {item.name for item in graph.output}
    heavy = [node for node in graph.node if node.op_type in {"Conv", "MatMul", "Gemm"}]
    wanted = [node.input[0] for node in heavy] + [node.output[0] for node in heavy]
    graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in dict.fromkeys(wanted) if name not in {*known, *net.feed}
    )
    names = [item.name for item in graph.output]
    seen: Mapping[str, Array] = {
        **dict(zip(names, ReferenceEvaluator(model).run(None, dict(net.feed)), strict=True)),
        **net.feed,
    }
    return Net(_Quantiser(net.model, seen, signed, symmetric, bits).model_of(bias), net.feed)


class _Quantiser:
    """Writes a model again with quantised activations and weights around convolutions and products."""

    def __init__(
        self, source: onnx.ModelProto, seen: Mapping[str, Array], signed: bool, symmetric: bool, bits: int
    ) -> None:
        self.source, self.seen = source, seen
        self.signed, self.symmetric, self.bits = signed, symmetric, bits
        self.weights = {item.name: numpy_helper.to_array(item) for item in source.graph.initializer}
        self.steps: dict[str, np.float32] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.added: list[onnx.TensorProto] = []

    def model_of(self, bias: bool) -> onnx.ModelProto:
        """Return the quantised model."""
        outputs = {item.name for item in self.source.graph.output}
        for node in self.source.graph.node:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = [f"{name}.dq" if name in self.steps else name for name in node.input]
            if node.op_type not in {"Conv", "MatMul", "Gemm"} or node.input[1] not in self.weights:
                self.nodes.append(copy)
                continue
            copy.input[0] = self.pair(node.input[0])
            copy.input[1] = self.weight(node.input[1])
            if bias and len(node.input) > 2:
                copy.input[2] = self.bias(node.input[2], self.steps[node.input[0]] * self.steps[node.input[1]])
            self.nodes.append(copy)
            if node.output[0] not in outputs:
                self.pair(node.output[0])
        return self._assembled()

    def pair(self, name: str) -> str:
        """Add QuantizeLinear and DequantizeLinear behind a tensor and return what comes out."""
        if name not in self.steps:
            step, zero = _quantise(self.seen[name], signed=self.signed, symmetric=self.symmetric)
            self.steps[name] = step
            reads = self._grid(name, step, np.asarray(zero, np.int8 if self.signed else np.uint8))
            self.nodes.append(helper.make_node("QuantizeLinear", [name, *reads], [f"{name}.q"], name=f"{name}.q"))
            self._back(f"{name}.q", reads, name)
        return f"{name}.dq"

    def weight(self, name: str) -> str:
        """Write a weight in whole numbers and return the tensor that is scaled back."""
        values = self.weights[name]
        step = self.steps[name] = np.float32(np.abs(values).max() / (2 ** (self.bits - 1) - 1))
        self.added.append(numpy_helper.from_array(np.rint(values / step).astype(np.int8), f"{name}.i8"))
        self._back(f"{name}.i8", self._grid(name, step, np.asarray(0, np.int8)), name)
        return f"{name}.dq"

    def bias(self, name: str, step: np.float32) -> str:
        """Write a bias in whole numbers of 32 bits and return the tensor that is scaled back."""
        self.added.append(numpy_helper.from_array(np.rint(self.weights[name] / step).astype(np.int32), f"{name}.i32"))
        self._back(f"{name}.i32", self._grid(name, step, np.asarray(0, np.int32)), name)
        return f"{name}.dq"

    def _grid(self, name: str, step: np.float32, zero: Array) -> list[str]:
        parts = {f"{name}.step": np.asarray(step, np.float32), f"{name}.zero": zero}
        self.added += [numpy_helper.from_array(value, key) for key, value in parts.items()]
        return list(parts)

    def _back(self, source: str, reads: list[str], name: str) -> None:
        self.nodes.append(helper.make_node("DequantizeLinear", [source, *reads], [f"{name}.dq"], name=f"{name}.dq"))

    def _assembled(self) -> onnx.ModelProto:
        model = onnx.ModelProto()
        model.CopyFrom(self.source)
        read = {name for node in self.nodes for name in node.input}
        kept = [item for item in (*self.source.graph.initializer, *self.added) if item.name in read]
        del model.graph.node[:]
        model.graph.node.extend(self.nodes)
        del model.graph.initializer[:]
        model.graph.initializer.extend(kept)
        return model


def tied(width: int = 64) -> Net:
    """A Gelu as static quantisers write it: steps of 2/255 for erf's -1 to 1 and for 0 to 2: every sum is a tie.

    Fused sums of whole numbers round those ties otherwise than sums of real numbers, and the layer behind lets steps
    grow.
    """
    g = Graph("tied", seed=61)
    scales: dict[str, tuple[float, int]] = {
        "x": (8 / 255, 128), "erf": (2 / 255, 128), "one": (1 / 255, 0), "sum": (2 / 255, 0), "gelu": (8 / 255, 20),
        "product": (16 / 255, 128),
    }  # fmt: skip

    def pair(name: str) -> str:
        step, zero = scales[name]
        grid = [g.const(f"{name}.step", step), g.const(f"{name}.zero", zero, np.uint8)]
        codes = (
            g.node("QuantizeLinear", [name, *grid], f"{name}.q") if name != "one" else g.const("one.q", 255, np.uint8)
        )
        return g.node("DequantizeLinear", [codes, *grid], f"{name}.dq")

    g.input("x", g.normal(4, width, scale=1.3), ["batch", width])
    x = pair("x")
    g.node("Erf", [x], "erf")
    g.node("Add", [pair("erf"), pair("one")], "sum")
    g.node("Mul", [x, pair("sum")], "gelu")
    values = g.normal(width, width, scale=width**-0.5)
    step = float(np.abs(values).max()) / 63
    weight = [g.const("w.i8", np.rint(values / step), np.int8), g.const("w.step", step), g.const("w.zero", 0, np.int8)]
    g.node("MatMul", [pair("gelu"), g.node("DequantizeLinear", weight, "w.dq")], "product")
    h = g.norm(pair("product"), "norm", width)
    g.linear(h, "y", width, 8)
    g.output("y")
    return g.net()


def four_bit(layers: int = 2, width: int = 64) -> Net:
    """Dense layers with weights of four bits in blocks of 32: `MatMulNBits` of com.microsoft."""
    g = Graph("fourbit", seed=17)
    x = g.input("x", g.normal(3, width), ["batch", width])
    for layer in range(layers):
        name = f"n{layer}"
        packed = g.const(f"{name}.w", g.rng.integers(0, 256, (width, width // 32, 16)), np.uint8)
        scales = g.const(f"{name}.s", np.abs(g.normal(width * (width // 32), scale=0.02)) + 0.01)
        attrs = {"K": width, "N": width, "bits": 4, "block_size": 32}
        y = g.node("MatMulNBits", [x, packed, scales], name, domain=MICROSOFT, **attrs)
        x = g.norm(g.node("Gelu", [y], f"{name}.gelu", domain=MICROSOFT), f"{name}.norm", width)
    g.linear(x, "y", width, 4)
    g.output("y")
    return g.net()


def fused_experts(experts: int = 4, width: int = 32, inner: int = 64) -> Net:
    """A mixture of experts in float32 and one in four bits: `MoE` and `QMoE` of com.microsoft, two of four each."""
    g = Graph("fused_experts", seed=58)
    x = g.input("x", g.normal(6, width), ["tokens", width])
    attrs = {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1}
    first = [g.const("m.w1", g.normal(experts, inner, width, scale=width**-0.5)), g.weight("m.b1", experts, inner)]
    second = [g.const("m.w2", g.normal(experts, width, inner, scale=inner**-0.5)), g.weight("m.b2", experts, width)]
    made = g.node("MoE", [x, g.linear(x, "r0", width, experts), *first, *second], "m", domain=MICROSOFT, **attrs)
    x = g.norm(g.node("Add", [x, made], "m.sum"), "m.norm", width)
    few: list[str] = []
    for name, wide, narrow in (("q.1", inner, width), ("q.2", width, inner)):
        few.append(g.const(f"{name}.w", g.rng.integers(0, 256, (experts, wide, narrow // 2)), np.uint8))
        few += [
            g.const(f"{name}.s", 0.02 + np.abs(g.normal(experts, wide, scale=0.01))),
            g.weight(f"{name}.b", experts, wide),
        ]
    made = g.node(
        "QMoE", [x, g.linear(x, "r1", width, experts), *few], "q", domain=MICROSOFT, expert_weight_bits=4, **attrs
    )
    g.linear(g.norm(g.node("Add", [x, made], "q.sum"), "q.norm", width), "y", width, 4)
    g.output("y")
    return g.net()


def half(net: Net) -> Net:
    """Return a model converted to float16 inside; inputs and outputs stay float32, as converters keep them.

    Constants beyond the type's range are cut off at its largest number.
    """
    model = onnx.ModelProto()
    model.CopyFrom(net.model)
    graph = model.graph
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype == np.float32:
            weight.CopyFrom(numpy_helper.from_array(np.clip(values, -65504, 65504).astype(np.float16), weight.name))
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
    real = {item.name for item in (*graph.input, *graph.output) if item.type.tensor_type.elem_type == TensorProto.FLOAT}
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [f"{name}.16" if name in real else name for name in names]
    before = [_cast(name, f"{name}.16", TensorProto.FLOAT16) for name in net.feed if name in real]
    behind = [_cast(f"{item.name}.16", item.name, TensorProto.FLOAT) for item in graph.output if item.name in real]
    kept = [*before, *graph.node, *behind]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in kept]
    del graph.node[:]
    graph.node.extend(copies)
    return Net(model, net.feed)


def _cast(source: str, target: str, kind: int) -> onnx.NodeProto:
    return helper.make_node("Cast", [source], [target], name=f"{target}.cast", to=kind)


def mixed(width: int = 16) -> Net:
    """Products in float16, normalisation and sums in float32, as mixed-precision files have them."""
    g = Graph("mixed", seed=18)
    x = g.input("x", g.normal(4, width), ["batch", width])
    for layer in range(3):
        name = f"m{layer}"
        normal = g.node("Cast", [g.norm(x, f"{name}.norm", width)], f"{name}.half", to=TensorProto.FLOAT16)
        weight = g.const(f"{name}.w", g.normal(width, width, scale=width**-0.5), np.float16)
        product = g.node("MatMul", [normal, weight], f"{name}.product")
        act = g.node("Relu", [product], f"{name}.relu")
        x = g.node("Add", [x, g.node("Cast", [act], f"{name}.float", to=TensorProto.FLOAT)], f"{name}.sum")
    g.linear(x, "y", width, 4)
    g.output("y")
    return g.net()


def bfloat(width: int = 16) -> Net:
    """Weights in bfloat16, cast to float32 where they are used; activations pass through bfloat16 between layers."""
    import ml_dtypes

    g = Graph("bfloat", seed=19)
    x = g.input("x", g.normal(4, width), ["batch", width])
    for layer in range(3):
        name = f"b{layer}"
        values = g.normal(width, width, scale=width**-0.5).astype(ml_dtypes.bfloat16)
        g.weights.append(numpy_helper.from_array(values, f"{name}.w"))
        weight = g.node("Cast", [f"{name}.w"], f"{name}.w32", to=TensorProto.FLOAT)
        y = g.node("Tanh", [g.node("MatMul", [x, weight], f"{name}.product")], f"{name}.tanh")
        low = g.node("Cast", [y], f"{name}.low", to=TensorProto.BFLOAT16)
        x = g.node("Cast", [low], f"{name}.back", to=TensorProto.FLOAT)
    g.linear(x, "y", width, 4)
    g.output("y")
    return g.net()

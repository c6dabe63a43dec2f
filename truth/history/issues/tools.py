"""Files that optimisers and rewriters of ONNX files wrote wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from truth.build import Array, Graph
from truth.history.environments import Environment
from truth.history.issue import Answer, Case, Issue, case, onnxscript

_SLIM = """
import onnx, onnxslim
onnx.save(onnxslim.slim(onnx.load(source)), target)
"""
_SIM = """
import onnx, onnxsim
onnx.save(onnxsim.simplify(onnx.load(source))[0], target)
"""
_OPTIMIZER = """
import onnx, onnxoptimizer
onnx.save(onnxoptimizer.optimize(onnx.load(source), onnxoptimizer.get_fuse_and_elimination_passes()), target)
"""
_SCRIPT = """
import onnx, onnxscript.optimizer, onnxscript.rewriter
from onnxscript import ir
model = ir.serde.deserialize_model(onnx.load(source))
onnxscript.optimizer.optimize(model)
model = onnxscript.rewriter.rewrite(model) or model
onnx.save(ir.serde.serialize_model(model), target)
"""


#: Constants are folded in the branch first, and the branch is inlined then.
_FOLD = """
import onnx
from onnxscript import ir
from onnxscript.optimizer import optimize
model = ir.serde.deserialize_model(onnx.load(source))
optimize(model)
onnx.save(ir.serde.serialize_model(model), target)
"""

_LIFT = """
import onnx, onnx_ir
from onnx_ir.passes.common import LiftSubgraphInitializersToMainGraphPass
model = onnx_ir.serde.deserialize_model(onnx.load(source))
LiftSubgraphInitializersToMainGraphPass()(model)
onnx.save(onnx_ir.serde.serialize_model(model), target)
"""
#: Constants alone are folded, and functions are not inlined.
_FOLD_ALONE = """
import onnx
from onnxscript import ir
from onnxscript.optimizer import fold_constants
model = ir.serde.deserialize_model(onnx.load(source))
fold_constants(model)
onnx.save(ir.serde.serialize_model(model), target)
"""


def _slim(version: str) -> Environment:
    return Environment((f"onnxslim=={version}", "colorama"))


def _slim_running(version: str) -> Environment:
    """Return the environment of a release that cannot do without a runtime."""
    return Environment((f"onnxslim=={version}", "colorama", "onnxruntime==1.23.2"))


def _intermediate(version: str) -> Environment:
    return Environment((f"onnx_ir=={version}",))


def _sim(version: str) -> Environment:
    return Environment((f"onnxsim=={version}", "onnxruntime==1.23.2"))


def _conv(x: Array, kernel: Array) -> Array:
    """Return a convolution that keeps the size."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.asarray(np.einsum("ncijkl,ockl->noij", windows, kernel))


def _reshape() -> Case:
    g = Graph("reshape", opset=13)
    g.node("Relu", [g.input("x", g.normal(2, 3, 4))], "r")
    g.node("Reshape", ["r", g.ints("s1", 4, 6)], "a")
    g.node("Reshape", ["a", g.ints("s2", 0, -1)], "b")
    g.node("Softmax", ["b"], "y", axis=-1)
    g.output("y")
    return case(g)


def _cast_constant() -> Case:
    g = Graph("cast_constant", opset=13)
    g.node("Cast", [g.input("x", np.array([3, 5], np.int64))], "f", to=TensorProto.FLOAT)
    g.node("Mul", ["f", g.const("half", 0.5)], "m")
    g.node("Cast", ["m"], "y", to=TensorProto.INT64)
    g.output("y", kind=TensorProto.INT64)
    return case(g, lambda feed: [feed["x"] // 2])


def _conv_add() -> Case:
    """The addend has as many elements as there are channels, and belongs to the last dimension."""
    g = Graph("conv_add", opset=13)
    g.node("Conv", [g.input("x", g.normal(1, 3, 4, 4)), g.weight("w", 4, 3, 1, 1)], "c")
    g.node("Add", ["c", g.const("row", g.normal(4))], "a")
    g.node("Relu", ["a"], "y")
    g.output("y")
    return case(g)


def _mul_one() -> Case:
    g = Graph("mul_one", opset=13)
    g.node("Mul", [g.input("x", g.normal(3, 1)), g.const("ones", np.ones((1, 4)))], "e")
    g.node("Relu", ["e"], "y")
    g.output("y")
    return case(g)


def _matmul_add() -> Case:
    g = Graph("matmul_add", opset=13)
    g.node("MatMul", [g.input("x", g.normal(1, 4)), g.weight("w", 4, 5)], "m")
    g.node("Add", ["m", g.weight("b", 3, 5)], "a")
    g.node("Relu", ["a"], "y")
    g.output("y")
    return case(g)


def _pad_conv() -> Case:
    g = Graph("pad_conv", opset=13)
    g.node("Pad", [g.input("x", g.normal(1, 3, 6, 6)), g.ints("p", 0, 0, -1, 0, 0, 0, 0, -1)], "a")
    g.node("Conv", ["a", g.weight("w", 4, 3, 3, 3)], "c", pads=[1] * 4)
    g.node("Relu", ["c"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        weight = next(item for item in g.weights if item.name == "w")
        kernel = np.frombuffer(weight.raw_data, np.float32).reshape(4, 3, 3, 3)
        return [np.maximum(_conv(feed["x"][:, :, 1:, :-1], kernel), 0).astype(np.float32)]

    return case(g, right)


def _gemm_norm() -> Case:
    g = Graph("gemm_norm", opset=13)
    x, w, b = g.normal(3, 4), g.normal(4, 5), g.normal(5)
    g.node("Gemm", [g.input("x", x), g.const("w", w), g.const("b", b)], "c", beta=2.0)
    scale, bias, mean = 1 + g.normal(5, scale=0.1), g.normal(5), g.normal(5)
    var = np.abs(1 + g.normal(5, scale=0.2))
    parts = zip(("scale", "bias", "mean", "var"), (scale, bias, mean, var), strict=True)
    g.node("BatchNormalization", ["c", *(g.const(name, value) for name, value in parts)], "bn")
    g.node("Relu", ["bn"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        made = (feed["x"] @ w + 2 * b - mean) / np.sqrt(var + 1e-5) * scale + bias
        return [np.maximum(made, 0).astype(np.float32)]

    return case(g, right)


def _two_branches() -> Case:
    """Return two convolutions of one tensor, each with its BatchNormalization, as ResNet's blocks have them."""
    g = Graph("two_branches", opset=18)
    r = g.node("Relu", [g.input("x", g.normal(1, 4, 8, 8))], "r")
    for name, size in (("a", 3), ("b", 1)):
        weight = g.weight(f"{name}.w", 6, 4, size, size)
        g.batch_norm(g.node("Conv", [r, weight], f"{name}.c", pads=[size // 2] * 4), name, 6)
    g.node("Relu", [g.node("Add", ["a", "b"], "s")], "y")
    g.output("y")
    return case(g)


def _two_widths() -> Case:
    g = Graph("two_widths", opset=18)
    r = g.node("Relu", [g.input("x", g.normal(4, 16))], "r")
    for name, width in (("a", 32), ("b", 64)):
        g.batch_norm(g.node("Gemm", [r, g.weight(f"{name}.w", 16, width)], f"{name}.m"), name, width)
    g.node("Concat", ["a", "b"], "y", axis=1)
    g.output("y")
    return case(g)


def _shared_weight() -> Case:
    """Two convolutions share their weight, and only the first is followed by a batch normalisation."""
    g = Graph("shared", opset=13)
    kernel, bias = g.normal(3, 3, 3, 3, scale=0.2), np.array([0.1, 0.2, 0.3], np.float32)
    w, b = g.const("w", kernel), g.const("b", bias)
    g.node("Conv", [g.input("x", g.normal(1, 3, 6, 6)), w, b], "c1", pads=[1] * 4)
    norm = [1 + g.normal(3, scale=0.1), g.normal(3), g.normal(3), np.abs(1 + g.normal(3, scale=0.2))]
    parts = zip(("scale", "bias", "mean", "var"), norm, strict=True)
    g.node("BatchNormalization", ["c1", *(g.const(name, value) for name, value in parts)], "bn")
    g.node("Relu", ["bn"], "r")
    g.node("Conv", ["r", w, b], "c2", pads=[1] * 4)
    g.node("Relu", ["c2"], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        scale, shift, mean, var = (part[:, None, None] for part in norm)
        first = _conv(feed["x"], kernel) + bias[:, None, None]
        normal = np.maximum((first - mean) / np.sqrt(var + 1e-5) * scale + shift, 0)
        return [np.maximum(_conv(normal, kernel) + bias[:, None, None], 0).astype(np.float32)]

    return case(g, right)


def _slice_back() -> Case:
    g = Graph("slice_back", opset=13)
    reads = [g.ints("s", -1), g.ints("e", -(2**31)), g.ints("axis", 0), g.ints("step", -1)]
    g.node("Slice", [g.input("x", g.normal(10, 12)), *reads], "a")
    g.node("Slice", ["a", g.ints("s2", 1), g.ints("e2", 5), g.ints("axis2", 1)], "b")
    g.node("Relu", ["b"], "y")
    g.output("y")
    return case(g, lambda feed: [np.maximum(feed["x"][::-1, 1:5], 0)])


def _pad_max_pool() -> Case:
    g = Graph("pad_max_pool", opset=13)
    x = g.input("x", np.asarray(-1 - np.abs(g.normal(1, 1, 4, 4)), np.float32))
    g.node("Pad", [x, g.ints("p", 0, 0, 1, 1, 0, 0, 1, 1)], "a")
    g.node("MaxPool", ["a"], "c", kernel_shape=[2, 2])
    g.node("Mul", ["c", g.const("half", 0.5)], "y")
    g.output("y")

    def right(feed: Mapping[str, Array]) -> list[Array]:
        padded = np.pad(feed["x"], ((0, 0), (0, 0), (1, 1), (1, 1)))
        return [np.lib.stride_tricks.sliding_window_view(padded, (2, 2), (2, 3)).max((-1, -2)) / 2]

    return case(g, right)


def _squeezes() -> Case:
    g = Graph("squeezes", opset=13)
    g.node("Squeeze", [g.input("x", g.normal(1, 3, 1, 4, 1)), g.ints("a1", -1)], "a")
    g.node("Squeeze", ["a", g.ints("a2", -2)], "b")
    g.node("Relu", ["b"], "y")
    g.output("y")
    return case(g)


def _uneven_pads() -> Case:
    g = Graph("uneven_pads", opset=13)
    x = g.input("x", g.normal(1, 3, 6, 7))
    g.node("Pad", [x, g.ints("p", 0, 0, 0, 1, 0, 0, 2, 0)], "a")
    g.node("Conv", ["a", g.weight("w", 4, 3, 3, 3)], "c", pads=[1, 0, 0, 2])
    g.node("Relu", ["c"], "y")
    g.output("y")
    return case(g)


def _part_of_shape() -> Case:
    g = Graph("part_of_shape", opset=15)
    x = g.input("x", g.normal(2, 4, 3))
    g.node("Shape", [x], "s", start=1, end=-1)
    g.node("Cast", ["s"], "f", to=TensorProto.FLOAT)
    g.node("Mul", [x, "f"], "y")
    g.output("y")
    return case(g, lambda feed: [feed["x"] * 4])


def _twice() -> Case:
    g = Graph("twice", opset=13)
    x = g.input("x", g.normal(2, 3))
    g.node("Relu", [x], "y")
    g.node("Relu", [x], "z")
    g.output("y", "z")
    return case(g)


def _branch(op: str, name: str) -> onnx.GraphProto:
    made = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
    return helper.make_graph([helper.make_node(op, ["x"], [name])], op, [], [made])


def _constant_condition() -> Case:
    g = Graph("constant_condition", opset=13)
    g.input("x", g.normal(2, 3))
    branches = {"then_branch": _branch("Neg", "p"), "else_branch": _branch("Abs", "q")}
    g.node("If", [g.const("never", False, np.bool_)], "r", **branches)
    g.node("Relu", ["r"], "y")
    g.output("y")
    return case(g, lambda feed: [np.abs(feed["x"])])


def _nested_conditions() -> Case:
    g = Graph("nested_conditions", opset=13)
    g.input("x", g.normal(2, 3))
    never = g.const("never", False, np.bool_)
    inner = helper.make_node("If", [never], ["p"], then_branch=_branch("Neg", "a"), else_branch=_branch("Exp", "b"))
    then = helper.make_graph([inner], "then", [], [helper.make_tensor_value_info("p", TensorProto.FLOAT, None)])
    g.node("If", [g.const("always", True, np.bool_)], "r", then_branch=then, else_branch=_branch("Abs", "q"))
    g.node("Add", ["r", "r"], "y")
    g.output("y")
    return case(g, lambda feed: [2 * np.exp(feed["x"])])


def _two_results() -> Case:
    g = Graph("two_results", opset=13)
    g.input("x", g.normal(2, 3))
    kinds = {"then_branch": ("Neg", "Abs"), "else_branch": ("Abs", "Neg")}
    branches = {}
    for which, ops in kinds.items():
        names = [f"{which}.{place}" for place in range(2)]
        nodes = [helper.make_node(op, ["x"], [name]) for op, name in zip(ops, names, strict=True)]
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
        branches[which] = helper.make_graph(nodes, which, [], made)
    g.node("If", [g.const("always", True, np.bool_)], ["r", "s"], **branches)
    g.node("Sub", ["r", "s"], "y")
    g.output("y")
    return case(g, lambda feed: [-feed["x"] - np.abs(feed["x"])])


def _axes_in_branch() -> Case:
    g = Graph("axes_in_branch", opset=18)
    g.node("Relu", [g.input("x", g.normal(1, 3, 1, 4))], "h")
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("p", "q")]
    axes = onnx.numpy_helper.from_array(np.array([2]), "axes")
    squeeze = helper.make_node("Squeeze", ["h", "axes"], ["p"], name="p")
    branches = {"then_branch": helper.make_graph([squeeze], "then", [], made[:1], [axes])}
    gather = helper.make_node("Gather", ["h", g.const("first", 0, np.int64)], ["q"], name="q", axis=2)
    branches["else_branch"] = helper.make_graph([gather], "else", [], made[1:])
    g.node("If", [g.const("always", True, np.bool_)], "r", **branches)
    g.node("Mul", ["r", g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [2 * np.maximum(feed["x"], 0)[:, :, 0]])


def _slice(g: Graph, x: str, name: str, start: int, end: int, axis: int, step: int = 1) -> str:
    parts = {"start": start, "end": end, "axis": axis, "step": step}
    return g.node("Slice", [x, *(g.ints(f"{name}.{key}", value) for key, value in parts.items())], name)


def _two_slices() -> Case:
    """One of two slices of a slice is along the same axis, and cannot be joined with it."""
    g = Graph("two_slices", opset=13)
    first = _slice(g, g.input("x", g.normal(2, 12, 5)), "a", 2, 11, 1)
    g.node("Relu", [_slice(g, first, "b", 1, 5, 1)], "y")
    g.node("Tanh", [_slice(g, first, "c", 1, 4, 2)], "z")
    g.output("y", "z")
    return case(g)


def _turned_rows() -> Case:
    g = Graph("turned_rows", opset=13)
    turned = _slice(g, g.input("x", g.normal(2, 6), ["n", 6]), "b", -1, -(2**31), 1, -1)
    g.node("Mul", [turned, g.const("two", [2.0])], "y")
    g.output("y")
    return case(g, lambda feed: [2 * feed["x"][:, ::-1]])


def _scaled_gemm() -> Case:
    """What Gemm and Reshape make is scaled for one reader, and read as it is by another."""
    g = Graph("scaled_gemm", opset=13)
    g.node("Gemm", [g.input("x", g.normal(3, 4)), g.const("w", g.normal(6, 4))], "m", transA=0, transB=1)
    g.node("Reshape", ["m", g.ints("shape", 1, 3, 6)], "r")
    g.node("Relu", [g.node("Mul", ["r", g.const("k", g.normal(6))], "p")], "y")
    g.node("Tanh", ["r"], "z")
    g.output("y", "z")
    return case(g)


def _constants(op: str, operands: Sequence[Array], right: Array, **attributes: Any) -> Callable[[], Case]:
    """Return a model that calculates with constants alone, and adds its input to what comes of them."""

    def make() -> Case:
        g = Graph("constants", opset=14)
        names = [g.const(f"k{place}", value, value.dtype) for place, value in enumerate(operands)]
        g.node(op, names, "r", **attributes)
        g.node("Cast", ["r"], "f", to=TensorProto.FLOAT)
        g.node("Add", ["f", g.input("x", g.normal(1))], "y")
        g.output("y")
        return case(g, lambda feed: [right.astype(np.float32) + feed["x"]])

    return make


def _function_of_constant() -> Case:
    """A function takes its input from 1, which it casts from a whole number."""
    g = Graph("function_of_constant", opset=19)
    nodes = [
        helper.make_node("Constant", [], ["whole"], name="whole", value_int=1),
        helper.make_node("Cast", ["whole"], ["one"], name="one", to=TensorProto.FLOAT),
        helper.make_node("Sub", ["one", "a"], ["b"], name="b"),
    ]
    g.functions.append(helper.make_function("own", "OneMinus", ["a"], ["b"], nodes, [helper.make_opsetid("", 19)]))
    g.node("Tanh", [g.input("x", g.normal(2, 3))], "t")
    g.node("OneMinus", ["t"], "o", domain="own")
    g.node("Relu", ["o"], "y")
    g.output("y")
    return case(g, lambda feed: [np.maximum(1 - np.tanh(feed["x"]), 0)])


def _gemm_reshape_add() -> Case:
    """The addend has three dimensions, as what Reshape makes of two."""
    g = Graph("gemm_reshape_add", opset=13)
    g.node("Gemm", [g.input("x", g.normal(6, 4)), g.const("w", g.normal(5, 4)), g.const("b", g.normal(5))], "m",
           transB=1)  # fmt: skip
    g.node("Reshape", ["m", g.ints("shape", 2, 3, 5)], "r")
    g.node("Relu", [g.node("Add", ["r", g.const("k", g.normal(2, 3, 5))], "a")], "y")
    g.output("y")
    return case(g)


def _same_parts() -> Case:
    """A tensor is split twice alike, and the second part is read of the second."""
    g = Graph("same_parts", opset=13)
    x = g.node("Tanh", [g.input("x", g.normal(2, 6))], "t")
    g.node("Split", [x, g.ints("sizes", 3, 3)], ["a", "b"], axis=1)
    g.node("Split", [x, "sizes"], ["c", "d"], axis=1)
    g.node("Mul", ["a", "d"], "m")
    g.node("Add", ["m", "c"], "y")
    g.output("y")
    return case(g)


def _weights_of_branches() -> Case:
    """A branch has a weight of the name that a tensor outside has, behind the If."""
    g = Graph("weights_of_branches", opset=13)
    g.node("Relu", [g.input("x", g.normal(2, 3))], "h")
    branches = {}
    for which, op, made, weight, value in (("then_branch", "Mul", "p", "w", 3), ("else_branch", "Add", "q", "t", 5)):
        node = helper.make_node(op, ["h", weight], [made], name=made)
        held = onnx.numpy_helper.from_array(np.array([value], np.float32), weight)
        result = helper.make_tensor_value_info(made, TensorProto.FLOAT, [2, 3])
        branches[which] = helper.make_graph([node], which, [], [result], [held])
    g.node("If", [g.input("c", np.array(True))], "r", **branches)
    g.node("Neg", [g.node("Tanh", ["r"], "t")], "y")
    g.output("y")
    return case(g, lambda feed: [-np.tanh(3 * np.maximum(feed["x"], 0))])


def _pad_average_pool() -> Case:
    g = Graph("pad_average_pool", opset=13)
    g.node("Pad", [g.input("x", g.normal(1, 2, 5, 5)), g.ints("p", 0, 0, 1, 1, 0, 0, 1, 1)], "a")
    g.node("Relu", [g.node("AveragePool", ["a"], "c", kernel_shape=[2, 2])], "y")
    g.output("y")
    return case(g)


_ZERO = "two Reshapes become one, and its 0 copies a dimension of another tensor"

TOOLS = (
    Issue(
        "OnnxSlim: Reshape behind Reshape", "OnnxSlim", "OnnxSlim 0.1.98", _ZERO,
        _reshape, _slim("0.1.90"), _slim("0.1.98"), Answer(("b",)), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: constant behind Cast", "OnnxSlim", "OnnxSlim 0.1.84",
        "two Casts are removed around Mul, whose 0.5 becomes a whole number, 0",
        _cast_constant, _slim("0.1.80"), _slim("0.1.84"), Answer(("m", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Conv and a row", "OnnxSlim", "OnnxSlim 0.1.98",
        "Add of a row becomes the bias of Conv, which adds by channel",
        _conv_add, _slim("0.1.90"), _slim("0.1.98"), Answer(("c", "a")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Mul by ones", "OnnxSlim", "OnnxSlim 0.1.86",
        "Mul by ones is removed although it makes its input larger",
        _mul_one, _slim("0.1.84"), _slim("0.1.86"), Answer(("e", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: MatMul and Add", "OnnxSlim", "OnnxSlim#323",
        "MatMul and Add become a Gemm whose bias is larger than its product; the file cannot run",
        _matmul_add, _slim("0.1.90"), _slim("0.1.98"), Answer(("m", "a")), tool=_SLIM,
    ),
    Issue(
        "onnxscript: Pad and Conv", "onnxscript", "onnxscript#2838", "a Pad that cuts is joined with Conv",
        _pad_conv, onnxscript("0.6.2", "0.1.16"), onnxscript("0.7.2", "1.1.0"), Answer(("a", "c")), tool=_SCRIPT,
    ),
    Issue(
        "onnxscript: Gemm and BatchNormalization", "onnxscript", "onnxscript#3027",
        "beta of Gemm is applied to the joined bias again",
        _gemm_norm, onnxscript("0.7.0", "0.2.1"), onnxscript("0.7.2", "1.1.0"), Answer(("c", "bn")), tool=_SCRIPT,
    ),
    Issue(
        "onnxscript: Conv that shares its weight", "onnxscript", "onnxscript 0.7.1",
        "BatchNormalization is put into a weight that another Conv reads",
        _shared_weight, onnxscript("0.5.6", "0.1.16"), onnxscript("0.7.2", "1.1.0"), Answer(("c2",)), tool=_SCRIPT,
    ),
    Issue(
        "onnxscript: two Conv of one tensor", "onnxscript", "pytorch#169178",
        "the bias that BatchNormalization makes is named after the tensor, so that the second takes the first's place",
        _two_branches, onnxscript("0.5.6", "0.1.16"), onnxscript("0.7.2", "1.1.0"), Answer(("a",)), tool=_SCRIPT,
    ),
    Issue(
        "onnxscript: two Gemm of one tensor", "onnxscript", "pytorch#174042",
        "one bias takes the other's place, and is as long as its rows are not; the file cannot run",
        _two_widths, onnxscript("0.5.6", "0.1.16"), onnxscript("0.7.2", "1.1.0"), Answer(("a",)),
        tool=_SCRIPT,
    ),
    Issue(
        "onnxscript: Slice backwards", "onnxscript", "onnxscript 0.4.0", "a Slice with the step -1 is removed",
        _slice_back, onnxscript("0.3.2", "0.1.16"), onnxscript("0.4.0", "0.1.16"), Answer(("a", "b")), tool=_SCRIPT,
    ),
    Issue(
        "onnxsim: Pad and MaxPool", "onnxsim", "onnxsim#290",
        "Pad with 0 becomes the padding of MaxPool, which is -inf",
        _pad_max_pool, _sim("0.6.2"), _sim("0.7.1"), Answer(("a", "c")), tool=_SIM,
    ),
    Issue(
        "onnxsim: Squeeze behind Squeeze", "onnxsim", "optimizer#35",
        "negative axes of two Squeezes are joined wrongly; the file cannot run",
        _squeezes, _sim("0.6.2"), _sim("0.7.1"), Answer(("a", "b")), tool=_SIM,
    ),
    Issue(
        "onnxsim: Reshape behind Reshape", "onnxsim", "onnxsim 0.8.1", _ZERO,
        _reshape, _sim("0.7.1"), Environment(("onnxsim==0.8.1", "onnxruntime==1.23.2"), "3.11", "numpy>=2"),
        Answer(("b",)), tool=_SIM,
    ),
    Issue(
        "onnxoptimizer: Reshape behind Reshape", "onnxoptimizer", "onnxoptimizer 0.4.2", _ZERO,
        _reshape, Environment(("onnxoptimizer==0.4.2",), "3.12", "numpy>=2"),
        Environment(("onnxoptimizer==0.3.13",)), Answer(("b",)), tool=_OPTIMIZER,
    ),
    Issue(
        "OnnxSlim: Pad and Conv, uneven", "OnnxSlim", "OnnxSlim 0.1.90",
        "the pads of Pad and Conv are added side by side in the wrong order",
        _uneven_pads, _slim("0.1.86"), _slim("0.1.90"), Answer(("a", "c")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Shape of a part", "OnnxSlim", "OnnxSlim 0.1.80", "start and end of Shape are not read",
        _part_of_shape, _slim("0.1.75"), _slim("0.1.80"), Answer(("s", "f", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: two outputs of one operator", "OnnxSlim", "OnnxSlim 0.1.94",
        "of two equal operators one is removed although it makes an output; the file cannot be loaded",
        _twice, _slim("0.1.90"), _slim("0.1.94"), Answer(says=(r"\b[yz]\b.*is an output",)), tool=_SLIM,
    ),
    Issue(
        "onnxoptimizer: If that never holds", "onnxoptimizer", "onnxoptimizer 0.4.2",
        "the branch that is never taken takes the place of If",
        _constant_condition, Environment(("onnxoptimizer==0.3.13",)),
        Environment(("onnxoptimizer==0.4.2",), "3.12", "numpy>=2"), Answer(says=(r"Neg .*source with If",)),
        tool=_OPTIMIZER,
    ),
    Issue(
        "onnxsim: If that never holds", "onnxsim", "onnxsim 0.4.36",
        "the branch that is never taken takes the place of If",
        _constant_condition, _sim("0.4.13"), _sim("0.4.36"), Answer(says=(r"Neg .*source with If",)), tool=_SIM,
    ),
    Issue(
        "onnxsim: If in If", "onnxsim", "onnxsim 0.4.36", "the inner branch that is never taken takes the place of If",
        _nested_conditions, _sim("0.4.13"), _sim("0.4.36"), Answer(says=(r"Neg .*source with If",)), tool=_SIM,
        first="the repaired release was accused: the condition of If was taken for another constant",
    ),
    Issue(
        "onnxscript: If with two results", "onnxscript", "onnxscript 0.7.0",
        "the operators of the branch get one name; the file cannot be loaded",
        _two_results, onnxscript("0.5.6", "0.1.16"), onnxscript("0.7.0", "0.2.1"),
        Answer(says=(r"two nodes with same node name.*Neg .* and Abs",)),
        tool=_SCRIPT, first="status 1 and the operators; 3 was expected, as nothing can be run",
    ),
    Issue(
        "OnnxSlim: sum of constants of 8 bits", "OnnxSlim", "OnnxSlim 0.1.86", "250 + 10 becomes 260",
        _constants("Add", [np.array([250, 3], np.uint8), np.array([10, 4], np.uint8)], np.array([4, 7])),
        _slim("0.1.98"), _slim("0.1.84"), Answer(("r", "f", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: quotient of constants below zero", "OnnxSlim", "OnnxSlim 0.1.86", "-7 / 2 becomes -4 in place of -3",
        _constants("Div", [np.array([-7, 7, -8], np.int32), np.array([2, -2, 3], np.int32)], np.array([-3, -3, -2])),
        _slim("0.1.98"), _slim("0.1.84"), Answer(("r", "f", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Cast of constants beyond the type", "OnnxSlim", "OnnxSlim 0.1.86", "the type is left out",
        _constants("Cast", [np.array([2**32 + 3, -1])], np.array([3, 2**32 - 1]), to=TensorProto.UINT32),
        _slim("0.1.98"), _slim("0.1.84"), Answer(("r", "f", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Floor of a constant", "OnnxSlim", "OnnxSlim 0.1.86", "-0.5 becomes 0",
        _constants("Floor", [np.array([-0.5, 1.5], np.float32)], np.array([-1, 1])),
        _slim("0.1.98"), _slim("0.1.84"), Answer(("r", "f", "y")), tool=_SLIM,
    ),
    Issue(
        "onnxscript: If whose branch has a weight", "onnxscript", "onnxscript#2810",
        "the weight is lost when the branch takes the place of If; the file cannot be loaded",
        _axes_in_branch, onnxscript("0.6.2", "0.1.16"), onnxscript("0.7.2", "1.1.0"),
        Answer(says=(r"Squeeze '\w+' reads 'axes'",)), tool=_FOLD,
        first="Squeeze and 'axes' were named; with another second branch, which the checker takes, Mul 'y' behind it",
    ),
    Issue(
        "OnnxSlim: two slices of a slice", "OnnxSlim", "OnnxSlim#277",
        "the slice that both read is removed, and only one is joined with it; the file cannot be loaded",
        _two_slices, _slim("0.1.80"), _slim("0.1.84"), Answer(("a", "b"), ("'a'",)), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Slice backwards of unknown rows", "OnnxSlim", "OnnxSlim#252",
        "a Slice that keeps the shape is removed although it turns the rows round",
        _turned_rows, _slim("0.1.81"), _slim("0.1.84"), Answer(("b", "y")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: Gemm, Reshape, Mul and another reader", "OnnxSlim", "OnnxSlim#163",
        "Mul is put into the weight of Gemm, which another operator reads, too",
        _scaled_gemm, _slim("0.1.62"), _slim("0.1.80"), Answer(("m", "r")), tool=_SLIM,
    ),
    Issue(
        "onnxscript: constant in a function", "onnxscript", "onnxscript#2673",
        "what is folded in a function becomes a weight that it has no room for; the file cannot be loaded",
        _function_of_constant, onnxscript("0.5.6", "0.1.12"), onnxscript("0.5.4", "0.1.12"), Answer(("o",)),
        tool=_FOLD_ALONE,
    ),
    Issue(
        "OnnxSlim: Gemm, Reshape and Add", "OnnxSlim", "OnnxSlim#210",
        "what is added behind Reshape becomes the bias of Gemm, with three dimensions; the file cannot run",
        _gemm_reshape_add, _slim("0.1.72"), _slim("0.1.74"), Answer(("m", "a")), tool=_SLIM,
    ),
    Issue(
        "OnnxSlim: two equal Splits", "OnnxSlim", "OnnxSlim#66",
        "who reads the second part of one of two equal Splits reads the first part of the other",
        _same_parts, _slim_running("0.1.45"), _slim_running("0.1.47"), Answer(("m",)), tool=_SLIM,
    ),
    Issue(
        "onnx-ir: weights of branches", "onnx-ir", "onnxscript#2881",
        "a branch's weight is put outside under the name of a tensor there; the file cannot be loaded",
        _weights_of_branches, _intermediate("0.2.0"), _intermediate("1.1.0"), Answer(("t",)), tool=_LIFT,
        first="If 'r' was named, in front of the operator whose output is named as the weight is",
    ),
    Issue(
        "onnxsim: Pad and AveragePool", "onnxsim", "optimizer#108",
        "what Pad adds becomes padding that AveragePool does not count",
        _pad_average_pool, _sim("0.4.10"), _sim("0.4.13"), Answer(("a", "c")), tool=_SIM,
    ),
)  # fmt: skip

"""Models whose tensors move by up to one unit in the last place of a type, at random, as rounding to it moves them.

After each operator that calculates come a few that add random numbers of that size, so that any backend that runs
the model shows what rounding makes of it. Weights are rounded, since rounding moves the same weight always alike. For
steps of a scale, every other model has them rounded to the nearest step, which loses all of a channel that lie below
half of one; in the others they move at random, so that one chance does not speak for all. Whole numbers stay, which
are mostly exact.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from polycmp.graph import Rounding
from polycmp.precision import BESIDE_ONE, HANDING_ON, UNITS, unit_of
from polycmp_onnx.graph import reads, subgraphs
from polycmp_onnx.shapes import structure

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto

#: The version of ONNX's operators from which on those that are added have the form used here.
OLDEST = 8
#: Types of real numbers that `RandomUniformLike` and arithmetic of all backends know.
_WIDE = {TensorProto.FLOAT, TensorProto.DOUBLE}
_REAL = {*_WIDE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
_CAST = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}
#: Versions of `Cast` from which on it knows a type.
_CAST_SINCE = {"float16": 6, "bfloat16": 13}
#: The smallest normal number of a type with few exponents: what is smaller is rounded to steps of one size.
_SMALLEST = {"float16": 2.0**-14}
#: Operators whose results hang on shapes alone.
_SHAPES = frozenset({"Shape", "Size"})
#: Units of float32 by which results move of functions that kernels approximate. Measured: the Tanh of TensorRT 8.6 was
#: off by 119; the noise of both sides and the margin of the judge make 256 of 16.
_APPROXIMATED = 16.0
#: Larger numbers move as if they were that large, so that infinite ones stay so.
_LARGEST = 1e30
#: Steps over the range of a tensor, by type.
_STEPS = {"int2": 3.0, "uint2": 3.0, "int4": 15.0, "uint4": 15.0, "int8": 255.0, "uint8": 255.0, "int16": 65535.0,
          "uint16": 65535.0}  # fmt: skip

#: What ends the names of magnitudes that are at least the smallest number of a type.
_AT_LEAST = "/at_least"
#: How far apart the seeds of bodies are, so that their random numbers are others than those around them.
_APART = 7919
#: Steps over the range from which on all of a weight may have the same step; coarser ones are made for blocks of it.
_FEWEST_LEVELS = 255.0


_OF_WINDOWS = frozenset({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
#: Operators that add up products of two operands, what else they are called, and the attributes that say how.
_PRODUCTS: Mapping[str, tuple[str, frozenset[str]]] = {
    "MatMul": ("MatMul", frozenset()),
    "Gemm": ("Gemm", frozenset({"alpha", "transA", "transB"})),
    "FusedGemm": ("Gemm", frozenset({"alpha", "transA", "transB"})),
    "FusedMatMul": ("FusedMatMul", frozenset({"alpha", "transA", "transB", "transBatchA", "transBatchB"})),
    "Conv": ("Conv", _OF_WINDOWS),
    "FusedConv": ("Conv", _OF_WINDOWS),
    "ConvTranspose": ("ConvTranspose", _OF_WINDOWS | {"output_padding", "output_shape"}),
    "Einsum": ("Einsum", frozenset({"equation"})),
}
#: Activations behind a product that make no error of it larger, and leave its size as it is.
_STRAIGHT = frozenset({"", "Relu", "Clip", "LeakyRelu"})


class _Tensor(NamedTuple):
    """A tensor to move.

    Attributes:
        name: Name of the tensor.
        kind: The type whose unit it moves by, or the step whose half.
        element: Element type, a value of `TensorProto.DataType`.
        beside_one: Whether it is approximated as exactly as numbers around 1 need.
        rank: Number of dimensions of a weight.
        terms: Name of a tensor of the same shape with the root of the sum of the squares of the terms that each number
            adds up; empty where it is no sum.
    """

    name: str
    kind: Rounding
    element: int
    beside_one: bool = False
    rank: int = 1
    terms: str = ""

    @property
    def steps(self) -> NDArray[np.float64]:
        """The size of its steps, which goes with each slice along the first axis where there are several."""
        sizes = np.array(self.kind, np.float64)
        return sizes.reshape(sizes.shape + (1,) * (self.rank - 1)) if sizes.ndim else sizes


def can_move(model: ModelProto) -> bool:
    """Return whether the operators that are added exist in the version that a model uses."""
    return _version(model) >= OLDEST


def moved_model(
    model: ModelProto, types: Mapping[str, Any], kinds: Mapping[str, Rounding], seed: int, amount: str = ""
) -> ModelProto:
    """Return a model whose tensors move; its weights lie where they lay.

    Args:
        model: The model; it is not changed.
        types: Types of its tensors as far as they are known, as `ValueInfoProto` by name.
        kinds: Types that tensors are rounded to, as `polycmp.graph.PerturbableGraph` describes.
        seed: Seed of the random numbers.
        amount: Name of an input to add, by which all that tensors move by is multiplied; empty for none.
    """
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _move_graph(made.graph, {**types, **_types_in_bodies(model)}, kinds, _version(model), seed, amount)
    if amount:
        made.graph.input.append(helper.make_tensor_value_info(amount, TensorProto.FLOAT, []))
    return made


def _move_graph(
    graph: GraphProto,
    types: Mapping[str, Any],
    kinds: Mapping[str, Rounding],
    version: int,
    seed: int,
    amount: str,
    outside: Set[str] = frozenset(),
) -> None:
    """Have the tensors of a graph move, and those in the bodies of its operators.

    Args:
        graph: The graph, which is changed.
        types: Types of the tensors as far as they are known, by name.
        kinds: Types that tensors are rounded to, by name.
        version: The version of ONNX's operators.
        seed: Seed of the random numbers.
        amount: Name of the input by which all that tensors move by is multiplied; empty for none.
        outside: Tensors of the graphs around this one that depend on the model's inputs.
    """
    nodes: list[Any] = []
    fed = {value.name for value in graph.input}
    for item in graph.initializer:
        name, kind = item.name, kinds.get(item.name, kinds.get("", ""))
        changed = list(_moved_weight(name, kind, item, version, seed, len(nodes))) if name not in fed else []
        if changed:
            item.name = f"{name}/exact"
            nodes += changed
    follows = {*outside, *fed}
    own = list(graph.node)  # kept, since only what is kept has an identity
    for node in own:
        nodes.append(node)
        bodies = list(subgraphs(node))
        for body in bodies:
            _move_graph(body, types, kinds, version, seed + _APART * len(nodes), amount, follows)
        held = next((item.t for item in node.attribute if node.op_type == "Constant" and item.name == "value"), None)
        if held is not None:
            name = node.output[0]
            changed = list(_moved_weight(name, kinds.get(name, kinds.get("", "")), held, version, seed, len(nodes)))
            if changed:
                node.output[0] = f"{name}/exact"
                nodes += changed
        if node.op_type in _SHAPES or follows.isdisjoint(reads(node)):
            continue
        follows.update(node.output)
        if bodies:
            continue  # what they make has moved in them
        for place, name in enumerate(node.output):
            kind, element = kinds.get(name, kinds.get("", "")), _element(types.get(name))
            moves = node.op_type not in HANDING_ON or kind in _STEPS or not isinstance(kind, str)
            if name and kind and moves and element in _REAL:
                node.output[place] = f"{name}/exact"
                terms = list(_terms(node, name, kind, element, amount))
                tensor = _Tensor(
                    name, kind, element, node.op_type in BESIDE_ONE, terms=f"{name}/terms" if terms else ""
                )
                nodes += [*terms, *_moved(tensor, seed + len(nodes))]
    del graph.node[:]
    graph.node.extend(_tidied(nodes, frozenset(id(node) for node in own), amount))


def _tidied(nodes: list[Any], own: Set[int], amount: str) -> Iterator[Any]:
    """Yield operators that share the constants which were added, and multiply random numbers by an amount.

    Making a session takes as long as a graph has operators, and there are five constants for each tensor. A magnitude
    is at least 0 as it is. Seeds count the operators before that, so that they do not hang on what is left out.

    Args:
        nodes: The operators.
        own: Identities of those that were there before, whose constants may be outputs.
        amount: Name of the amount; empty for none.
    """
    first: dict[tuple[int, bytes, tuple[int, ...]], str] = {}
    names: dict[str, str] = {}
    zeros: set[str] = set()
    for node in nodes:
        if id(node) not in own:
            if node.op_type == "Constant":
                held = node.attribute[0].t
                if held.raw_data and not held.dims and not any(held.raw_data):
                    zeros.add(node.output[0])
                name = first.setdefault((held.data_type, held.raw_data, tuple(held.dims)), node.output[0])
                if held.raw_data and name != node.output[0]:
                    names[node.output[0]] = name
                    continue
            if node.op_type == "Max" and zeros.intersection(node.input) and node.output[0].endswith(_AT_LEAST):
                names[node.output[0]] = names.get(node.input[0], node.input[0])
                continue
            for place, read in enumerate(node.input):
                if read in names:
                    node.input[place] = names[read]
        yield node
        if amount and id(node) not in own and node.op_type == "RandomUniformLike":
            drawn, wide = node.output[0], next(item.i for item in node.attribute if item.name == "dtype")
            times, names[drawn] = amount, f"{drawn}_times"
            if wide != TensorProto.FLOAT:
                times = f"{drawn}_amount"
                yield helper.make_node("Cast", [amount], [times], to=wide)
            yield helper.make_node("Mul", [drawn, times], [names[drawn]])


def _types_in_bodies(model: ModelProto) -> dict[str, Any]:
    """Return the types of the tensors in the bodies of operators, as far as ONNX infers them, by name."""
    if not any(True for node in model.graph.node for _ in subgraphs(node)):
        return {}
    try:
        inferred = onnx.shape_inference.infer_shapes(structure(model))
    except Exception:  # noqa: BLE001 - a body whose types are not known does not move
        return {}
    found: dict[str, Any] = {}
    waiting = [body for node in inferred.graph.node for body in subgraphs(node)]
    while waiting:
        body = waiting.pop()
        found |= {value.name: value for value in (*body.input, *body.output, *body.value_info)}
        waiting += [inner for node in body.node for inner in subgraphs(node)]
    return found


def _scattered(seed: int) -> float:
    """Return a random seed for each number, of the 24 bits that an attribute holds.

    The first random number of ONNX Runtime goes with the seed: seeds in a row, or evenly spread ones, make errors that
    cancel each other in a way that those of rounding do not.
    """
    return float(random.Random(seed).getrandbits(24))


def _is_coarse(kind: Rounding) -> bool:
    return not isinstance(kind, str) or unit_of(kind) > UNITS["float32"]


def _version(model: ModelProto) -> int:
    return max((item.version for item in model.opset_import if item.domain in {"", "ai.onnx"}), default=0)


def _element(value: Any) -> int:
    return 0 if value is None or not value.type.HasField("tensor_type") else int(value.type.tensor_type.elem_type)


def _moved_weight(name: str, kind: Rounding, held: TensorProto, version: int, seed: int, place: int) -> Iterator[Any]:
    """Yield the operators that make a weight of its exact numbers; none where it does not move.

    Args:
        name: The weight's name.
        kind: The type that it is rounded to, or the step.
        held: Numbers of the tensor.
        version: The version of ONNX's operators.
        seed: Seed of the random numbers of the whole model.
        place: Another number for each weight.
    """
    if held.data_type not in _REAL:
        return
    if _CAST_SINCE.get(str(kind), version + 1) <= version:
        yield from _rounded(name, held.data_type, _CAST[str(kind)])
    elif len(held.dims) > 1 and _is_coarse(kind):
        tensor = _Tensor(name, kind, held.data_type, rank=len(held.dims))
        in_steps = not isinstance(kind, str) or _STEPS.get(kind, 0.0) >= _FEWEST_LEVELS
        yield from _in_steps(tensor) if in_steps and seed % 2 else _moved(tensor, seed + place)


def _in_steps(tensor: _Tensor) -> Iterator[Any]:
    """Yield the operators that round a weight to the nearest multiples of a step."""
    node, name = helper.make_node, tensor.name
    exact, wide, number = f"{name}/exact", f"{name}/wide", np.float32
    yield node("Cast", [exact], [wide], to=TensorProto.FLOAT)

    def constant(value: Any, what: str) -> Any:
        return node("Constant", [], [f"{name}/{what}"], value=onnx.numpy_helper.from_array(np.array(value, number)))

    if isinstance(tensor.kind, str):
        yield constant(1.0 / _STEPS[tensor.kind], "share")
        yield from _range(name, wide)
        yield node("Mul", [f"{name}/range", f"{name}/share"], [f"{name}/any_step"])
    else:
        yield constant(tensor.steps, "any_step")
    yield constant(float(np.finfo(number).tiny), "tiny")  # the step of a tensor of zeros
    yield node("Max", [f"{name}/any_step", f"{name}/tiny"], [f"{name}/step"])
    yield constant(0.5, "half")
    yield node("Div", [wide, f"{name}/step"], [f"{name}/steps"])
    yield node("Add", [f"{name}/steps", f"{name}/half"], [f"{name}/next"])
    yield node("Floor", [f"{name}/next"], [f"{name}/codes"])  # Round came with a later version of ONNX's operators
    yield node("Mul", [f"{name}/codes", f"{name}/step"], [f"{name}/rounded"])
    yield node("Cast", [f"{name}/rounded"], [name], to=tensor.element)


def _range(name: str, exact: str, element: int = TensorProto.FLOAT) -> Iterator[Any]:
    """Yield the operators that make the range of a tensor, 0 included."""
    node = helper.make_node
    yield node("ReduceMax", [exact], [f"{name}/high"], keepdims=0)
    yield node("ReduceMin", [exact], [f"{name}/low"], keepdims=0)
    yield node("Constant", [], [f"{name}/zero"], value=helper.make_tensor("", element, [], [0.0]))
    yield node("Max", [f"{name}/high", f"{name}/zero"], [f"{name}/most"])
    yield node("Min", [f"{name}/low", f"{name}/zero"], [f"{name}/least"])
    yield node("Sub", [f"{name}/most", f"{name}/least"], [f"{name}/range"])


def _rounded(name: str, element: int, kind: int) -> Iterator[Any]:
    yield helper.make_node("Cast", [f"{name}/exact"], [f"{name}/coarse"], to=kind)
    yield helper.make_node("Cast", [f"{name}/coarse"], [name], to=element)


def _terms(node: Any, name: str, kind: Rounding, element: int, amount: str) -> Iterator[Any]:
    """Yield the operators that make the size of what a product adds up; none for any other operator.

    A sum is rounded as its terms and partial sums are, which may be far larger than what is left of them: its error is
    a share of |A||x| at most (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5). Partial
    sums of terms of both signs are as large as the root of the sum of their squares, and so are the errors in all.
    Coarser types than float32 round the result more than that.

    Args:
        node: The operator.
        name: What it makes.
        kind: The type that it is rounded to.
        element: The element type.
        amount: Name of an input of float32 that is 1 where tensors move; empty for none.
    """
    known = {item.name: item for item in node.attribute}
    activation = known["activation"].s.decode() if "activation" in known else ""
    plain, kept = _PRODUCTS.get(node.op_type, ("", frozenset[str]()))
    is_fine = isinstance(kind, str) and kind not in _STEPS and unit_of(kind) <= UNITS["float32"]
    if not plain or not is_fine or element not in _WIDE or activation not in _STRAIGHT:
        return
    if len(node.input) < 2 or (plain == "Einsum" and len(node.input) != 2):
        return
    squares = [f"{name}/squares_{place}" for place in (0, 1)]
    for read, square in zip(node.input, squares, strict=False):
        once = read
        if amount and element == TensorProto.FLOAT:  # so that no backend keeps squares of weights beside the weights
            once = f"{square}/once"
            yield helper.make_node("Mul", [read, amount], [once])
        yield helper.make_node("Mul", [once, once], [square])
    made = helper.make_node(plain, squares, [f"{name}/sum_of_squares"])
    made.domain = node.domain if plain == node.op_type else ""
    made.attribute.extend(item for key, item in known.items() if key in kept and key != "alpha")
    if "alpha" in known:
        made.attribute.append(helper.make_attribute("alpha", known["alpha"].f ** 2))
    yield made
    yield helper.make_node("Sqrt", [f"{name}/sum_of_squares"], [f"{name}/terms"])


def _moved(tensor: _Tensor, seed: int) -> Iterator[Any]:
    """Yield the operators that make a tensor of its exact numbers."""
    node, name = helper.make_node, tensor.name
    wide = tensor.element if tensor.element in _WIDE else TensorProto.FLOAT
    exact, result = (f"{name}/exact", name) if wide == tensor.element else (f"{name}/wide", f"{name}/moved")
    if exact != f"{name}/exact":
        yield node("Cast", [f"{name}/exact"], [exact], to=wide)
    number = np.float64 if wide == TensorProto.DOUBLE else np.float32

    def constant(value: Any, what: str) -> Any:
        value_of = onnx.numpy_helper.from_array(np.array(value, number))
        return node("Constant", [], [f"{name}/{what}"], value=value_of)

    if not isinstance(tensor.kind, str):
        width, size = 0.5, f"{name}/any_step"
        yield constant(tensor.steps, "any_step")
    elif tensor.kind in _STEPS:
        width, size = 1.0, f"{name}/half_step"
        yield from _range(name, exact, wide)
        yield constant(0.5 / _STEPS[tensor.kind], "share")
        yield node("Mul", [f"{name}/range", f"{name}/share"], [size])
    else:
        unit, size = UNITS[tensor.kind], f"{name}/size"
        beside_one = tensor.beside_one and unit >= UNITS["float32"]
        width = unit if unit > UNITS["float32"] else (_APPROXIMATED if beside_one else 2.0) * unit
        yield constant(-_LARGEST, "lowest")
        yield constant(_LARGEST, "highest")
        yield node("Max", [exact, f"{name}/lowest"], [f"{name}/from_below"])
        yield node("Min", [f"{name}/from_below", f"{name}/highest"], [f"{name}/finite"])
        yield node("Abs", [f"{name}/finite"], [f"{name}/magnitude"])
        least = max(_SMALLEST.get(tensor.kind, 0.0), UNITS["float32"] / width if beside_one else 0.0)
        yield constant(least, "least")
        yield node("Max", [f"{name}/magnitude", f"{name}/least"], [f"{name}{_AT_LEAST}"])
        size_of_sum = f"{name}{_AT_LEAST}"
        if tensor.terms:
            yield node("Max", [size_of_sum, tensor.terms], [f"{name}/size_of_sum"])
            size_of_sum = f"{name}/size_of_sum"
        if beside_one:
            size = f"{name}{_AT_LEAST}"
        else:  # whole numbers that the type holds are often exact, and what counts or compares them jumps
            yield constant(unit, "unit")
            yield constant(1.0, "one")
            yield node("Ceil", [f"{name}/magnitude"], [f"{name}/above"])
            yield node("Floor", [f"{name}/magnitude"], [f"{name}/below"])
            yield node("Sub", [f"{name}/above", f"{name}/below"], [f"{name}/is_broken"])
            yield node("Mul", [f"{name}/magnitude", f"{name}/unit"], [f"{name}/units"])
            yield node("Floor", [f"{name}/units"], [f"{name}/is_large"])
            yield node("Add", [f"{name}/is_broken", f"{name}/is_large"], [f"{name}/either"])
            yield node("Min", [f"{name}/either", f"{name}/one"], [f"{name}/is_rounded"])
            yield node("Mul", [size_of_sum, f"{name}/is_rounded"], [size])
    yield node(
        "RandomUniformLike", [exact], [f"{name}/random"], low=-width, high=width, dtype=wide, seed=_scattered(seed)
    )
    yield node("Mul", [size, f"{name}/random"], [f"{name}/away"])
    yield node("Add", [exact, f"{name}/away"], [result])
    if result != name:
        yield node("Cast", [result], [name], to=tensor.element)

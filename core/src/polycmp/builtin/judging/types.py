"""Types of a model's tensors, and the tensors of a model that another file of it rounds to steps of a scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.structure import static_tensors
from polycmp.compare import FEWEST_IN_CHANNEL
from polycmp.graph import RANDOM_OPERATORS, GraphNode, ModelGraph, Rounding, weight_values
from polycmp.precision import HANDING_ON, UNITS, is_steps, operator_rounding, unit_of
from polycmp.tensors import Feed, TensorMetadata, dtype_name, is_floating, is_size

#: Operators of any domain that round a tensor to steps of a file, and those whose steps follow from its range.
_STATIC, _DYNAMIC = frozenset({"QuantizeLinear"}), frozenset({"DynamicQuantizeLinear", "DynamicQuantizeMatMul"})
#: Operators that read weights of few bits, of which several lie in one byte.
_PACKED = frozenset({"MatMulNBits", "GatherBlockQuantized"})
#: Operators that read codes, which may be weights and so the result of no operator.
_CODES = _PACKED | {"DequantizeLinear"}
#: How the names of operators begin, beside those that read steps of a file, whose first result are codes.
_MAKING_CODES = ("DynamicQuantizeLinear", "QLinear", "QGemm", "QAttention")
#: What is in the names of operators that multiply codes.
_OF_CODES = ("QLinear", "QGemm", "QAttention", "Integer", "DynamicQuantize")
#: Operators that add a bias to products, and all that have weights.
_ADDING_UP = frozenset({"Conv", "ConvTranspose", "Gemm"})
_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU", "RNN", "Attention", "Gather"})
#: How ONNX Runtime's quantisers, and those made of them, name the scale of a weight that they leave away.
_OF_SCALE = "_scale"
#: Multiplies channels by factors of their own; optimisers fold it into the weight before it.
_NORM = "BatchNormalization"
#: Operators that have bodies, which may hold any other operator.
_WITH_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
#: Operators that make real numbers with a jump of real ones, or have bodies that may, and the domain of trees.
_JUMPING = _WITH_BODIES | {
    "Ceil", "Floor", "GridSample", "Hardmax", "MaxRoiAlign", "Mod", "MoE", "QMoE", "Round", "Shrink", "Sign",
    "ThresholdedRelu",
}  # fmt: skip
_OF_TREES = "ai.onnx.ml"
#: Operators that read no numbers.
_OF_SHAPES = frozenset({"Shape", "Size"})
#: Steps between the largest weights of both signs in 8 bits.
_LEVELS = 254.0


def types_inside(graph: ModelGraph, types: TensorMetadata) -> frozenset[str]:
    """Return the names of the types that a model rounds to inside; `int8` for steps of a scale, of any type.

    Args:
        graph: The model.
        types: The types of its tensors, as far as they are known.
    """
    computed = {name for node in graph.nodes for name in node.outputs}
    dtypes = {entry.dtype for name, entry in types.items() if name in computed and entry.dtype is not None}
    names = {dtype_name(dtype) for dtype in dtypes if is_floating(dtype)}
    if any(is_steps(dtype_name(dtype)) for dtype in dtypes) or any(node.op_type in _CODES for node in graph.nodes):
        names.add("int8")
    return frozenset(name for name in names if name in UNITS)


def grid_steps(graph: ModelGraph) -> dict[str, float]:
    """Return the distance of neighbouring numbers of tensors that hold steps of a scale, by name; 0 if not known.

    It is 1 where operators hand them out as whole numbers, and a step's size where codes are multiplied out.
    """
    steps: dict[str, float] = {}
    for node in graph.nodes:
        if node.op_type in _STATIC or any(node.op_type.startswith(word) for word in _MAKING_CODES):
            steps.update(dict.fromkeys(node.outputs[:1], 1.0))
        elif node.operand(0) in steps and node.op_type in HANDING_ON:
            steps.update(dict.fromkeys(node.outputs[:1], steps[node.operand(0)]))
        elif node.operand(0) in steps and node.op_type == "DequantizeLinear":
            steps.update(dict.fromkeys(node.outputs[:1], _step(graph, node)))
    return steps


def cast_weights(graph: ModelGraph) -> dict[str, str]:
    """Return the coarse types of real numbers in which a file holds weights that a Cast makes wider, by its result."""
    kinds: dict[str, str] = {}
    for node in graph.nodes:
        if node.op_type == "Cast" and node.operand(0) in graph.weights:
            values = weight_values(graph, [node.operand(0)]).get(node.operand(0))
            if values is not None and UNITS.get(dtype_name(values.dtype), 0.0) > UNITS["float32"]:
                kinds.update(dict.fromkeys(node.outputs, dtype_name(values.dtype)))
    return kinds


def types_of(graph: ModelGraph, feed: Feed) -> TensorMetadata:
    """Return the types of a model's tensors; none where there are no inputs to tell them from."""
    return graph.types(TensorMetadata.from_feed_dict(feed)) if feed else TensorMetadata()


def may_draw(graph: ModelGraph) -> bool:
    """Return whether operators of a model may draw random numbers, so that not even two runs of one backend agree."""
    return any(
        node.op_type in _WITH_BODIES | RANDOM_OPERATORS
        or node.domain not in {"", _OF_TREES}
        or (node.op_type == "Dropout" and bool(node.operand(2)))  # which may train
        for node in graph.nodes
    )


def samples_vary(graph: ModelGraph, types: TensorMetadata) -> bool:
    """Return whether one sample of a model's noise may be far smaller than others.

    An operator that makes whole numbers, codes or truth values of real ones may turn in one sample of many; and where a
    tensor holds few numbers, the random ones that move it may all be next to nothing.

    Args:
        graph: The model.
        types: The types and shapes of its tensors; what is of an unknown one may be anything.
    """
    static = static_tensors(graph)

    def is_whole(name: str) -> bool:
        dtype = types[name].dtype if name in types else None
        return dtype is not None and not is_floating(dtype)

    def is_short(name: str) -> bool:
        shape = types[name].shape
        is_long = shape is not None and all(map(is_size, shape)) and math.prod(map(int, shape)) >= FEWEST_IN_CHANNEL
        return not is_whole(name) and not is_long

    for node in graph.nodes:
        read = [name for name in node.inputs if name and name not in static]
        if read and node.op_type.startswith(_MAKING_CODES):
            return True  # whose scales move
        is_moved = not all(map(is_whole, read))
        if (
            is_moved
            and node.op_type not in _OF_SHAPES
            and (node.op_type in _JUMPING or node.domain == _OF_TREES or any(map(is_whole, node.outputs)))
        ):
            return True
        made = [name for name in node.outputs if name]
        if any(name not in types for name in made) or (is_moved and any(map(is_short, made))):
            return True
    return False


def own_types(graph: ModelGraph, feed: Feed) -> dict[str, str]:
    """Return the types of the tensors of real numbers that a model's operators make, as far as they are known, by name.

    Args:
        graph: The model.
        feed: Inputs of the model.
    """
    types = types_of(graph, feed)
    computed = [name for node in graph.nodes for name in node.outputs if name in types]
    kinds = {
        name: dtype_name(dtype) for name in computed if (dtype := types[name].dtype) is not None and is_floating(dtype)
    }
    return {name: kind for name, kind in kinds.items() if kind in UNITS}


def types_on_the_way(graph: ModelGraph, own: Mapping[str, str]) -> dict[str, str]:
    """Return the coarsest type of the tensors that each tensor is made of, its own included, by name.

    Args:
        graph: The model.
        own: Types of the tensors, as `own_types` returns them.
    """
    coarsest: dict[str, str] = {}
    for node in graph.nodes:
        before = max((coarsest.get(name, "") for name in node.inputs), key=unit_of, default="")
        coarsest.update({name: max(before, own.get(name, ""), key=unit_of) for name in node.outputs})
    return coarsest


def round_alike(one: ModelGraph, two: ModelGraph, feed: Feed) -> bool:
    """Return whether neither of two models rounds what the other one does not: to a coarser type, or to steps.

    The coarsest type of both has to be the same. Then what both round to inside is part of the network, and no reason
    why they differ.

    Args:
        one: A model.
        two: The other one.
        feed: Inputs of both; types are known with them alone.
    """
    if not feed:
        return False
    sides = [(graph, types_of(graph, feed)) for graph in (one, two)]
    return _rounds_no_more(*sides) and _rounds_no_more(*reversed(sides))


def _rounds_no_more(
    candidate_side: tuple[ModelGraph, TensorMetadata], reference_side: tuple[ModelGraph, TensorMetadata]
) -> bool:
    """Return whether a model rounds nothing that another one does not, each given with the types of its tensors."""
    (candidate, candidate_types), (reference, reference_types) = candidate_side, reference_side
    shared = (name for name in candidate_types if name in reference_types)
    if any(_unit(candidate_types, name) > _unit(reference_types, name) for name in shared):
        return False
    there = {(node.op_type, node.operand(0)) for node in _rounding(reference, reference_types)}
    return all((node.op_type, node.operand(0)) in there for node in _rounding(candidate, candidate_types))


def _rounding(graph: ModelGraph, types: TensorMetadata) -> Iterator[GraphNode]:
    """Yield the operators of a model that read or make codes, or make a coarser type of real numbers than they read."""
    for node in graph.nodes:
        of_codes = node.op_type in _STATIC | _DYNAMIC | _CODES or node.op_type.startswith("QLinear")
        read = max((_unit(types, name) for name in node.inputs), default=0.0)
        if of_codes or any(_unit(types, name) > read > 0.0 or _is_of_steps(types, name) for name in node.outputs):
            yield node


def _unit(types: TensorMetadata, name: str) -> float:
    """Return the unit roundoff of a tensor of real numbers; 0 for others, and where the type is not known."""
    dtype = types[name].dtype if name in types else None
    return unit_of(dtype_name(dtype)) if dtype is not None and is_floating(dtype) else 0.0


def _is_of_steps(types: TensorMetadata, name: str) -> bool:
    dtype = types[name].dtype if name in types else None
    return dtype is not None and is_steps(dtype_name(dtype))


def quantised_tensors(quantised: ModelGraph, exact: ModelGraph) -> dict[str, Rounding]:
    """Return the rounding of tensors and weights in another file of the model, by name; empty if that is not certain.

    Quantisers leave the tensors that they round their names. A file in which operators read codes and make codes shows
    only some of them.

    Args:
        quantised: The file that rounds.
        exact: The model.
    """
    tensors = {name for node in exact.nodes for name in node.outputs} | set(exact.inputs)
    rounded: dict[str, Rounding] = {}
    multiplied_out: dict[str, tuple[str, ...]] = {}
    for node in quantised.nodes:
        if node.op_type == "DequantizeLinear":
            codes = node.operand(0)
            multiplied_out[codes] = (*multiplied_out.get(codes, ()), *node.outputs)
    for node in quantised.nodes:
        if node.op_type.startswith("QLinear") or node.op_type in {"QGemm", "QAttention"}:
            return {}
        if node.op_type in _STATIC | _DYNAMIC:
            names = [node.operand(0), *(name for codes in node.outputs for name in multiplied_out.get(codes, ()))]
            name = next((name for name in names if name in tensors or name in exact.weights), "")
            if not name and node.operand(0) not in quantised.weights:
                return {}
            rounded[name or node.operand(0)] = (_step(quantised, node) if node.op_type in _STATIC else 0.0) or "int8"
    return rounded | rounded_weights(quantised, exact)


def rounded_weights(quantised: ModelGraph, exact: ModelGraph) -> dict[str, Rounding]:
    """Return the rounding of weights that another file of the model holds as codes, or in a coarser type, by name.

    Steps are those of the file where it shows them: weights of 7 bits, and symmetric ones, have larger ones than 255
    over their range.

    Args:
        quantised: The file that rounds.
        exact: The model.
    """
    rounded: dict[str, Rounding] = dict(_coarser_weights(quantised, exact))
    if not any(node.op_type in _CODES or any(word in node.op_type for word in _OF_CODES) for node in quantised.nodes):
        return rounded  # an optimiser gave others other names
    weights = {node.operand(place) for node in exact.nodes if node.op_type in _PRODUCTS for place in (0, 1, 2)}
    alone = [name for name in weights if name in exact.weights and name not in quantised.weights]
    packed = {f"int{node.attributes.get('bits', 4)}" for node in quantised.nodes if node.op_type in _PACKED}
    kind = max(filter(is_steps, packed), key=unit_of, default="int8")
    steps = weight_values(quantised, [f"{name}{_OF_SCALE}" for name in alone])
    kept = {name for node in quantised.nodes if node.op_type == _NORM for name in node.outputs}
    for name in alone:
        if name in rounded:
            continue
        step = _largest(steps.get(f"{name}{_OF_SCALE}"))
        factors = folded_factors(exact, name, kept) if is_steps(kind) else None
        rounded[name] = (_before_folding(exact, name, factors, step) if factors is not None else 0.0) or step or kind
    return rounded


def _coarser_weights(coarse: ModelGraph, exact: ModelGraph) -> dict[str, str]:
    """Return the types in which another file holds the weights of a model for a Cast, by their names in the model."""
    kinds = cast_weights(coarse)
    makers = {name: node for node in coarse.nodes for name in node.outputs} if kinds else {}
    types: dict[str, str] = {}
    for node in exact.nodes if kinds else ():
        other = makers.get(next(iter(node.outputs), ""))
        for place, name in enumerate(node.operands or node.inputs):
            if other is not None and name in exact.weights and other.operand(place) in kinds:
                types[name] = kinds[other.operand(place)]
    return types


def folded_factors(graph: ModelGraph, weight: str, kept: Set[str] = frozenset()) -> NDArray[np.float64] | None:
    """Return the factors by which a folded BatchNormalization scales a Conv's weight; None without one.

    Args:
        graph: The model with the BatchNormalization.
        weight: Name of the weight; its slices are along the first axis.
        kept: Results of the BatchNormalizations that are not left away.
    """
    product = next(
        (node.outputs[0] for node in graph.nodes if node.op_type == "Conv" and node.operand(1) == weight), ""
    )
    readers = [node for node in graph.nodes if product and product in node.inputs]
    if len(readers) != 1 or readers[0].op_type != _NORM or not kept.isdisjoint(readers[0].outputs):
        return None
    norm = readers[0]
    constants = weight_values(graph, [norm.operand(1), norm.operand(4)])
    if len(constants) < 2:
        return None
    gamma, variance = (constants[norm.operand(place)].astype(np.float64) for place in (1, 4))
    return np.asarray(np.abs(gamma) / np.sqrt(variance + float(norm.attributes.get("epsilon", 1e-5))))


def _before_folding(
    exact: ModelGraph, weight: str, factors: NDArray[np.float64], step: float
) -> tuple[float, ...] | float:
    """Return the steps of a weight's slices that are one step once they are multiplied by factors; 0 if not known."""
    values = weight_values(exact, [weight]).get(weight)
    if values is None or values.shape[:1] != factors.shape or not factors.all():
        return 0.0
    largest = np.abs(values.reshape(len(factors), -1).astype(np.float64)).max(axis=1)
    step = step or 2.0 * float((largest * factors).max()) / _LEVELS
    return tuple(map(float, step / factors))


def shared_roundings(graph: ModelGraph, kind: str) -> dict[str, Rounding]:
    """Return the rounding inside a model that two backends run, both with the codes that it holds, by tensor.

    What codes are multiplied out to is the same on both sides. A kernel that adds up products of codes holds steps of
    the product of both scales, and rounds a bias to them that the file holds as a real number. Which code a number
    next to a tie gets hangs on its rounding.

    Args:
        graph: The model.
        kind: The coarsest type in which a backend calculates what it makes codes of; empty for the model's own.
    """
    steps = {
        name: _step(graph, node) for node in graph.nodes if node.op_type == "DequantizeLinear" for name in node.outputs
    }
    accumulated, beside = dict[str, Rounding](), dict[str, Rounding]()
    for node in graph.nodes:
        read, bias = [steps.get(node.operand(place), 0.0) for place in (0, 1)], node.operand(2)
        if node.op_type in _ADDING_UP and all(read) and bias and bias not in steps:
            accumulated[node.outputs[0]] = read[0] * read[1]
        elif node.op_type in _STATIC and node.operand(0) not in graph.weights and (reach := _reach(graph, node)):
            beside[node.operand(0)] = beside_ties(kind, reach)
    return {**dict.fromkeys(steps, "float64"), **beside, **accumulated}


def beside_ties(kind: str, reach: float) -> float:
    """Return the step by half of which numbers move that both sides round to the same codes.

    A code flips where a number is as near to a tie as rounding brings it, and then by a whole step. Kernels round
    partial sums, which may be as large as the largest number that has a code, however small is what is left of them.

    Args:
        kind: The type in which the numbers are rounded before; of types finer than float32, float32.
        reach: The largest number that has a code.
    """
    return 2.0 * operator_rounding(max(unit_of(kind), UNITS["float32"])) * reach


def _reach(graph: ModelGraph, node: GraphNode) -> float:
    """Return the largest magnitude that the codes of an operator can represent; 0 if that is not known."""
    zero = weight_values(graph, [node.operand(2)]).get(node.operand(2), np.zeros(1, np.uint8))
    ends = np.iinfo(zero.dtype) if zero.dtype.kind in "iu" else None
    if ends is None:
        return 0.0
    return _step(graph, node) * float(max(ends.max - int(zero.min()), int(zero.max()) - ends.min))


def _step(graph: ModelGraph, node: GraphNode) -> float:
    """Return the size of an operator's steps, of the largest where there are several; 0 if that is not known."""
    return _largest(weight_values(graph, [node.operand(1)]).get(node.operand(1)))


def _largest(steps: NDArray[Any] | None) -> float:
    return 0.0 if steps is None else float(steps.max(initial=0.0))

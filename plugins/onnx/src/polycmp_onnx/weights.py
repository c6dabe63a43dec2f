"""Weights that operators multiply with: finding them through Q/DQ, casts and transposes, 2:4 sparsity, omission."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from polycmp_onnx.graph import GraphView, is_standard, tensor_bytes

#: Of each operator, which inputs are weights and the axis along which their products are summed; Gemm's depends.
_SUMMED = {"MatMul": {0: -1, 1: -2}, "Gemm": {0: -1, 1: -2}, "Conv": {1: 1}}
_PREPARING = {
    "QuantizeLinear",
    "DequantizeLinear",
    "TRT_FP8QuantizeLinear",
    "TRT_FP8DequantizeLinear",
    "Cast",
    "Transpose",
}
_FLOATS = ("float32", "float16", "bfloat16", "float64")


class Weight(NamedTuple):
    """A weight whose products are summed along an axis.

    Attributes:
        tensor: The `onnx.TensorProto`.
        axis: The axis, from 0.
        node: The node that multiplies with it.
    """

    tensor: Any
    axis: int
    node: Any


def summed_weights(model: Any) -> Iterator[Weight]:
    """Yield the weights of a model's multiplications that GPUs could do in half the time if they were 2:4 sparse.

    These are floating-point weights of MatMul, Gemm and Conv, also through Q/DQ, Cast and Transpose, of which the axis
    that is summed over is a multiple of four long.

    Args:
        model: An `onnx.ModelProto` with its weights.
    """
    import onnx

    view = GraphView(model.graph)
    seen: set[str] = set()
    for node in view.nodes:
        for index, axis in _SUMMED.get(node.op_type, {}).items() if is_standard(node, node.op_type) else ():
            traced = _trace(view, node, index, axis)
            if traced is None or traced.tensor.name in seen:
                continue
            seen.add(traced.tensor.name)
            kind = onnx.helper.tensor_dtype_to_np_dtype(traced.tensor.data_type).name
            if kind in _FLOATS and traced.tensor.dims[traced.axis] % 4 == 0:
                yield traced


def _trace(view: GraphView, node: Any, index: int, axis: int) -> Weight | None:
    """Return the weight that a node's input is made of, with the axis as it lies in the weight."""
    transposed = ("transA", "transB")[index] if node.op_type == "Gemm" else ""
    if any(item.name == transposed and item.i for item in node.attribute):
        axis = -3 - axis
    name = node.input[index] if index < len(node.input) else ""
    name, prepared_by = _behind(view, name, _PREPARING)
    transpositions = [
        next((list(item.ints) for item in preparing.attribute if item.name == "perm"), [])
        for preparing in prepared_by
        if preparing.op_type == "Transpose"
    ]
    tensor = view.weights.get(name)
    if tensor is None:
        return None
    rank = len(tensor.dims)
    if rank < 2:
        return None
    place = axis % rank
    for order in transpositions:
        place = order[place] if order else rank - 1 - place
    return Weight(tensor, place, node)


def _behind(view: GraphView, name: str, kinds: Collection[str]) -> tuple[str, list[Any]]:
    """Return the tensor that nodes of some kinds make another one of, and these nodes, the last one first."""
    passed = []
    while (node := view.producer(name)) is not None and node.op_type in kinds:
        passed.append(node)
        name = node.input[0]
    return name, passed


def is_sparse(array: Any, axis: int) -> bool:
    """Return whether at least two of every four values along an axis are zero.

    Args:
        array: An array of which the axis is a multiple of four long.
        axis: The axis.
    """
    groups = _groups(array, axis)
    return bool((np.count_nonzero(groups == 0, axis=-1) >= 2).all())


def pruned(array: Any, axis: int) -> Any:
    """Return an array in which the two smallest magnitudes of every four values along an axis are zero.

    Args:
        array: An array of which the axis is a multiple of four long.
        axis: The axis.
    """
    groups = _groups(array, axis).copy()
    magnitudes = np.abs(groups.astype(np.float64 if groups.dtype.itemsize > 4 else np.float32))
    smallest = np.argpartition(magnitudes, 1, axis=-1)[..., :2]
    np.put_along_axis(groups, smallest, np.zeros((), groups.dtype), axis=-1)
    moved = np.moveaxis(array, axis, -1)
    return np.ascontiguousarray(np.moveaxis(groups.reshape(moved.shape), -1, axis))


def _groups(array: Any, axis: int) -> Any:
    return np.moveaxis(array, axis, -1).reshape(-1, 4)


def prune(model: Any, names: Collection[str] | None = None) -> list[str]:
    """Make weights 2:4 sparse, without regard to the accuracy; return their names.

    Args:
        model: An `onnx.ModelProto` with its weights, which is changed.
        names: Only these; None for all that can be.
    """
    import onnx

    done = []
    for weight in summed_weights(model):
        if names is None or weight.tensor.name in names:
            array = onnx.numpy_helper.to_array(weight.tensor)
            set_values(weight.tensor, pruned(array, weight.axis))
            done.append(weight.tensor.name)
    return done


def set_values(tensor: Any, array: Any) -> None:
    """Give a weight other values of the same type and shape; its name and its notes stay.

    Args:
        tensor: An `onnx.TensorProto`, which is changed.
        array: The values.
    """
    import onnx

    stored = onnx.numpy_helper.from_array(array)
    forget_values(tensor)
    tensor.raw_data = stored.raw_data


def forget_values(tensor: Any) -> None:
    """Take a weight's values away, wherever they are noted.

    Args:
        tensor: An `onnx.TensorProto`, which is changed.
    """
    for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data"):
        tensor.ClearField(field)
    del tensor.external_data[:]
    tensor.ClearField("data_location")
    tensor.raw_data = b""


#: Marks of a weight without values, and of a model that has some. TensorRT's tools know these words.
MARK = "TRT_WEIGHTLESS"
SPARSE = "SPARSE_2_4"
#: Of which operators weights are left out, which inputs, and from how many bytes on; "" for operators ONNX lacks.
_STRIPPED: dict[str, tuple[tuple[int, ...] | None, int]] = {
    "Conv": (None, 1),
    "ConvTranspose": (None, 1),
    "Gemm": (None, 1),
    "MatMul": (None, 1),
    "Gather": ((0,), 1024),
    "Slice": ((0,), 1024),
    "": (None, 1024),
}


def strip(model: Any, exclude: Collection[str] = ()) -> list[str]:
    """Leave out the values of large weights, noting which and whether they were 2:4 sparse; return their names.

    Args:
        model: An `onnx.ModelProto` with its weights, which is changed.
        exclude: Names of weights that keep their values.
    """
    import onnx

    sparse = {
        weight.tensor.name
        for weight in summed_weights(model)
        if is_sparse(onnx.numpy_helper.to_array(weight.tensor), weight.axis)
    }
    view = GraphView(model.graph)
    chosen = [name for name in _strippable(view) if name not in exclude]
    for name in chosen:
        forget_values(view.weights[name])
        view.weights[name].doc_string = f"{MARK}/{SPARSE if name in sparse else ''}"
    if chosen:
        model.doc_string = MARK
    return chosen


def _strippable(view: GraphView) -> list[str]:
    import onnx

    strippable: dict[str, None] = {}
    for node in view.nodes:
        standard = is_standard(node, node.op_type) and onnx.defs.has(node.op_type)
        places, least = _STRIPPED.get(node.op_type if standard else "", ((), 0))
        for index, name in enumerate(node.input):
            behind, _ = _behind(view, name, () if places == (0,) else _PREPARING - {"Cast"})
            tensor = view.weights.get(behind)
            if tensor is not None and (places is None or index in places) and tensor_bytes(tensor) >= least:
                strippable[behind] = None
    return [name for name in strippable if view.weights[name].data_type != onnx.TensorProto.STRING]


def reconstruct(model: Any, seed: int = 1) -> list[str]:
    """Give weights that were left out random values, 2:4 sparse where they were so; return their names.

    Args:
        model: An `onnx.ModelProto`, which is changed.
        seed: Of the random numbers.
    """
    import onnx

    random = np.random.default_rng(seed)
    filled, sparse = [], []
    for tensor in model.graph.initializer:
        mark, _, kind = tensor.doc_string.partition("/")
        if mark != MARK:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        set_values(tensor, random.standard_normal(tuple(tensor.dims), np.float32).astype(dtype))
        tensor.ClearField("doc_string")
        filled.append(tensor.name)
        if kind == SPARSE:
            sparse.append(tensor.name)
    prune(model, sparse)
    if model.doc_string == MARK:
        model.ClearField("doc_string")
    return filled

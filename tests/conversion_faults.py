"""Faults as conversions make them, of four kinds: inputs, parameters, hyperparameters, graph. Each changes one model.

The kinds are those of the study of faults in model conversion by Louloudakis et al. (FetaFix, 2025).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


@dataclass(frozen=True)
class Fault:
    """A fault that fits a model.

    Attributes:
        kind: `input`, `parameter`, `hyperparameter` or `graph`.
        name: What is done.
        where: Names of what may be called wrong then: the node, the readers of what is put behind it, or the input.
        plant: Does it to a copy of the model.
    """

    kind: str
    name: str
    where: tuple[str, ...]
    plant: Callable[[onnx.ModelProto], None]

    def planted(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """Return the model with the fault."""
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        self.plant(copy)
        return copy


def faults(model: onnx.ModelProto) -> Iterator[Fault]:
    """Yield the faults that fit a model, for each kind of fault at the first, the middle and the last place."""
    for kind, name, make in _FAULTS:
        places = [node for node in model.graph.node if make(model, node) is not None]
        chosen = [places[index] for index in sorted({0, len(places) // 2, len(places) - 1})] if places else []
        for node in chosen:
            plant = make(model, node)
            assert plant is not None
            readers = [item.name for item in model.graph.node if node.output[0] in item.input]
            yield Fault(kind, name, (node.name, *(readers if name in _INSERTED else ())), plant)


# --- helpers: each maker returns what plants a fault at a node, or None where that makes no sense

Plant = Callable[[onnx.ModelProto], None]


def _weights(model: onnx.ModelProto) -> dict[str, Any]:
    return {item.name: item for item in model.graph.initializer}


def _twin(model: onnx.ModelProto, node: Any) -> Any:
    return next(item for item in model.graph.node if item.output == node.output)


def _weight(model: onnx.ModelProto, node: Any, ndims: tuple[int, ...]) -> int | None:
    known = _weights(model)
    for place, name in enumerate(node.input):
        if name in known and len(known[name].dims) in ndims and known[name].data_type == 1:
            return place
    return None


def _with_weight(ndims: tuple[int, ...], change: Callable[[Any], Any], types: tuple[str, ...] = ()) -> Any:
    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        place = _weight(model, node, ndims)
        if place is None or (types and node.op_type not in types):
            return None
        array = numpy_helper.to_array(_weights(model)[node.input[place]])
        if change(array) is None:
            return None

        def plant(copy: onnx.ModelProto) -> None:
            twin = _twin(copy, node)
            old = numpy_helper.to_array(_weights(copy)[twin.input[place]])
            name = f"{twin.input[place]}_planted"
            copy.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(change(old)), name))
            twin.input[place] = name

        return plant

    return make


def _with_attribute(types: tuple[str, ...], name: str, change: Callable[[Any], Any], default: Any = None) -> Any:
    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        if node.op_type not in types:
            return None
        known = {item.name: helper.get_attribute_value(item) for item in node.attribute}
        old = known.get(name, default)
        new = None if old is None else change(old)
        if new is None or new == old:
            return None

        def plant(copy: onnx.ModelProto) -> None:
            twin = _twin(copy, node)
            kept = [item for item in twin.attribute if item.name != name]
            kept = [type(item).FromString(item.SerializeToString()) for item in kept]
            del twin.attribute[:]
            twin.attribute.extend([*kept, helper.make_attribute(name, new)])

        return plant

    return make


def _behind(types: tuple[str, ...], insert: Callable[[Any, str, str], list[Any]]) -> Any:
    """Put nodes behind one."""

    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        if node.op_type not in types:
            return None

        def plant(copy: onnx.ModelProto) -> None:
            nodes = list(copy.graph.node)
            index = next(at for at, item in enumerate(nodes) if item.output == node.output)
            twin, out = nodes[index], node.output[0]
            twin.output[0] = f"{out}_before"
            added = insert(copy, f"{out}_before", out)
            fixed = [type(item).FromString(item.SerializeToString()) for item in nodes]
            del copy.graph.node[:]
            copy.graph.node.extend([*fixed[: index + 1], *added, *fixed[index + 1 :]])

        return plant

    return make


def _skipped(types: tuple[str, ...]) -> Any:
    """Leave a node out: whoever read its result reads its first input."""

    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        outputs = {value.name for value in model.graph.output}
        if node.op_type not in types or node.output[0] in outputs:
            return None

        def plant(copy: onnx.ModelProto) -> None:
            twin = _twin(copy, node)
            for item in copy.graph.node:
                item.input[:] = [twin.input[0] if name == twin.output[0] else name for name in item.input]
            copy.graph.node.remove(twin)

        return plant

    return make


def _replaced(old: str, new: str) -> Any:
    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        if node.op_type != old:
            return None

        def plant(copy: onnx.ModelProto) -> None:
            _twin(copy, node).op_type = new

        return plant

    return make


def _exchanged(types: tuple[str, ...]) -> Any:
    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        known = _weights(model)
        if node.op_type not in types or len(node.input) != 2 or node.input[0] == node.input[1]:
            return None
        if any(name in known for name in node.input):
            return None

        def plant(copy: onnx.ModelProto) -> None:
            twin = _twin(copy, node)
            twin.input[:] = list(twin.input)[::-1]

        return plant

    return make


def _at_input(change: Callable[[onnx.ModelProto, str, str, Any], list[Any]], rank: int | None = None) -> Any:
    """Change what a model makes of an input of real numbers before anything else."""

    def make(model: onnx.ModelProto, node: Any) -> Plant | None:
        first = model.graph.input[0]
        if node.input[0] != first.name or first.type.tensor_type.elem_type != 1:
            return None
        if rank is not None and len(first.type.tensor_type.shape.dim) != rank:
            return None

        def plant(copy: onnx.ModelProto) -> None:
            name = first.name
            inside = f"{name}_inside"
            nodes = [type(item).FromString(item.SerializeToString()) for item in copy.graph.node]
            for item in nodes:
                item.input[:] = [inside if word == name else word for word in item.input]
            added = change(copy, name, inside, first)
            del copy.graph.node[:]
            copy.graph.node.extend([*added, *nodes])

        return plant

    return make


def _constant(model: onnx.ModelProto, name: str, array: Any) -> str:
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return name


def _scaled(factor: float) -> Any:
    def change(model: onnx.ModelProto, name: str, inside: str, first: Any) -> list[Any]:
        return [helper.make_node("Mul", [name, _constant(model, f"{name}_f", np.float32(factor))], [inside])]

    return change


def _shifted(model: onnx.ModelProto, name: str, inside: str, first: Any) -> list[Any]:
    return [helper.make_node("Sub", [name, _constant(model, f"{name}_mean", np.float32(0.5))], [inside])]


def _flipped(model: onnx.ModelProto, name: str, inside: str, first: Any) -> list[Any]:
    order = np.arange(first.type.tensor_type.shape.dim[1].dim_value)[::-1].astype(np.int64)
    return [helper.make_node("Gather", [name, _constant(model, f"{name}_order", order)], [inside], axis=1)]


def _transposed(model: onnx.ModelProto, name: str, inside: str, first: Any) -> list[Any]:
    return [helper.make_node("Transpose", [name], [inside], perm=[0, 1, 3, 2])]


def _channels_last(model: onnx.ModelProto, name: str, inside: str, first: Any) -> list[Any]:
    """Declare the input with the channels last; a caller feeds it as the source wants it."""
    dims = [type(dim).FromString(dim.SerializeToString()) for dim in model.graph.input[0].type.tensor_type.shape.dim]
    shape = model.graph.input[0].type.tensor_type.shape
    del shape.dim[:]
    shape.dim.extend([dims[0], dims[2], dims[3], dims[1]])
    return [helper.make_node("Transpose", [name], [inside], perm=[0, 3, 1, 2])]


def _noisy(array: Any) -> Any:
    return array + np.random.default_rng(0).standard_normal(array.shape).astype(np.float32) * (0.5 * array.std() + 1e-3)


def _one_off(array: Any) -> Any:
    copy = np.array(array)
    copy.reshape(-1)[copy.size // 2] += np.float32(4 * np.abs(array).max() + 1)
    return copy


def _other_corner(array: Any) -> Any:
    return array.T if array.shape[0] == array.shape[1] else None


def frozen_batch(model: onnx.ModelProto, feed: dict[str, Any]) -> Fault:
    """Return the fault of an export that froze the batch of its example: computed shapes become its numbers.

    Args:
        model: The model, whose first dimension of the first input has a name.
        feed: The example.
    """
    from onnxruntime import InferenceSession

    known = _weights(model)
    shaped = [node for node in model.graph.node if node.op_type in ("Reshape", "Expand") and node.input[1] not in known]
    marked = onnx.ModelProto()
    marked.CopyFrom(model)
    names = [node.input[1] for node in shaped]
    marked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names))
    made = InferenceSession(marked.SerializeToString()).run(names, feed) if names else []

    def plant(copy: onnx.ModelProto) -> None:
        for index, (node, shape) in enumerate(zip(shaped, made, strict=True)):
            _twin(copy, node).input[1] = _constant(copy, f"frozen{index}", shape)
        batch = copy.graph.input[0].type.tensor_type.shape.dim[0].dim_param
        for value in (*copy.graph.input, *copy.graph.output):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param == batch:
                    dim.dim_value = next(iter(feed.values())).shape[0]

    return Fault("input", "batch frozen", (model.graph.input[0].name, *(node.name for node in shaped)), plant)


_INSERTED = frozenset({"extra Relu", "extra scale", "Cast to float16 and back", "Cast to int8 and back"})
_MATRICES = ("MatMul", "Gemm", "Conv", "ConvTranspose")
_FAULTS: tuple[tuple[str, str, Any], ...] = (
    ("input", "scaled by 1/255", _at_input(_scaled(1 / 255))),
    ("input", "scaled by 2", _at_input(_scaled(2.0))),
    ("input", "shifted by the mean", _at_input(_shifted)),
    ("input", "channels in the opposite order", _at_input(_flipped, 4)),
    ("input", "height and width exchanged", _at_input(_transposed, 4)),
    ("input", "channels last", _at_input(_channels_last, 4)),
    ("parameter", "noise", _with_weight((2, 4), _noisy)),
    ("parameter", "one element", _with_weight((2, 4), _one_off)),
    ("parameter", "in another order", _with_weight((2,), _other_corner, ("MatMul",))),
    ("parameter", "flipped kernel", _with_weight((4,), lambda a: a[..., ::-1] if a.shape[-1] > 1 else None, ("Conv",))),
    ("parameter", "bias left out", _with_weight((1,), np.zeros_like, ("Add", "Conv", "Gemm"))),
    (
        "parameter",
        "rounded to 4 bits",
        _with_weight((2, 4), lambda a: np.rint(a / np.abs(a).max() * 7) / 7 * np.abs(a).max(), _MATRICES),
    ),
    (
        "parameter",
        "scale of a norm",
        _with_weight((1,), lambda a: a * np.float32(1.5), ("BatchNormalization", "LayerNormalization")),
    ),
    (
        "hyperparameter",
        "pads",
        _with_attribute(("Conv",), "pads", lambda old: [old[0] + 1, old[1], old[2] - 1, old[3]] if old[2] else None),
    ),
    (
        "hyperparameter",
        "no pads",
        _with_attribute(("Conv", "MaxPool", "AveragePool"), "pads", lambda old: [0] * len(old) if any(old) else None),
    ),
    (
        "hyperparameter",
        "strides",
        _with_attribute(("Conv",), "strides", lambda old: [1] * len(old) if max(old) > 1 else None),
    ),
    ("hyperparameter", "dilations", _with_attribute(("Conv",), "dilations", lambda old: [2] * len(old))),
    (
        "hyperparameter",
        "epsilon",
        _with_attribute(("BatchNormalization", "LayerNormalization"), "epsilon", lambda old: 0.1, 1e-5),
    ),
    ("hyperparameter", "axis of Softmax", _with_attribute(("Softmax",), "axis", lambda old: 1, -1)),
    ("hyperparameter", "axis of Concat", _with_attribute(("Concat",), "axis", lambda old: 2 if old == 1 else None)),
    ("hyperparameter", "ceil_mode", _with_attribute(("MaxPool", "AveragePool"), "ceil_mode", lambda old: 1 - old, 0)),
    (
        "hyperparameter",
        "count_include_pad",
        _with_attribute(("AveragePool",), "count_include_pad", lambda old: 1 - old, 0),
    ),
    (
        "hyperparameter",
        "rounding of Resize",
        _with_attribute(("Resize",), "coordinate_transformation_mode", lambda old: b"align_corners"),
    ),
    (
        "hyperparameter",
        "approximate Gelu",
        _with_attribute(("Gelu",), "approximate", lambda old: b"none" if old == b"tanh" else b"tanh", b"none"),
    ),
    ("graph", "Transpose left out", _skipped(("Transpose",))),
    ("graph", "activation left out", _skipped(("Relu", "Gelu", "LeakyRelu", "Tanh", "Sigmoid"))),
    ("graph", "norm left out", _skipped(("BatchNormalization", "LayerNormalization"))),
    ("graph", "Softmax left out", _skipped(("Softmax",))),
    ("graph", "skip connection left out", _skipped(("Add",))),
    (
        "graph",
        "Cast to float16 and back",
        _behind(
            ("Conv", "MatMul"),
            lambda m, a, b: [
                helper.make_node("Cast", [a], [f"{b}_half"], to=10),
                helper.make_node("Cast", [f"{b}_half"], [b], to=1),
            ],
        ),
    ),
    (
        "graph",
        "Cast to int8 and back",
        _behind(
            ("Add", "Conv"),
            lambda m, a, b: [
                helper.make_node("Cast", [a], [f"{b}_int"], to=3),
                helper.make_node("Cast", [f"{b}_int"], [b], to=1),
            ],
        ),
    ),
    (
        "graph",
        "extra Relu",
        _behind(("Conv", "MatMul", "LayerNormalization"), lambda m, a, b: [helper.make_node("Relu", [a], [b])]),
    ),
    (
        "graph",
        "extra scale",
        _behind(
            ("MatMul", "Conv"),
            lambda m, a, b: [helper.make_node("Mul", [a, _constant(m, f"{b}_f", np.float32(1.1))], [b])],
        ),
    ),
    ("graph", "another activation", _replaced("Relu", "Sigmoid")),
    ("graph", "Erf-free Gelu", _replaced("Gelu", "Relu")),
    ("graph", "average for maximum", _replaced("GlobalAveragePool", "GlobalMaxPool")),
    ("graph", "operands exchanged", _exchanged(("MatMul", "Sub", "Div"))),
)

"""Ranges of a model's inputs, as far as its graph shows them: indices, divisors, pixels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from polycmp.tensors import TensorMetadata, dtype_class
from polycmp_onnx.graph import GraphView, known_values, shape_of
from polycmp_onnx.integer_inputs import roles_of_whole_numbers
from polycmp_onnx.pixels import pixels
from polycmp_onnx.words import words_of

#: Operators that hand on the numbers of their first input, at most elsewhere or in another type.
PASSING = frozenset(
    {
        "Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile", "Slice",
        "Concat", "Split", "Clip",
    }
)  # fmt: skip
#: Operators whose second input holds positions along one axis of their first.
ALONG_AXIS = frozenset({"Gather", "GatherElements", "ScatterElements", "Scatter"})
#: Operators whose second input holds, in its last axis, positions along the leading axes of their first.
LEADING = frozenset({"GatherND", "ScatterND"})
#: ONNX Runtime's own operator that holds three embedding tables: index input -> position of its table.
EMBEDDING_TABLES: Mapping[int, int] = {0: 2, 1: 4}


def with_ranges(inputs: TensorMetadata, model: Any) -> TensorMetadata:
    """Return the inputs, those that serve as indices with the range that suits everything they index.

    Negative indices are left out, though ONNX allows them in most places: they mean nothing that others do not. Whole
    numbers that are only calculated with, those that divide others, and pictures that the model itself normalises get
    these as their role. Texts get those that the model's tables hold.

    Args:
        inputs: The model's inputs.
        model: An `onnx.ModelProto`; of its weights only a few small ones are read.
    """
    view = GraphView(model.graph)
    roles = roles_of_whole_numbers(inputs, view) | dict.fromkeys(pixels(inputs, view), "pixels")
    words = words_of(inputs, view)
    inputs = TensorMetadata(
        {name: replace(entry, role=roles.get(name, ""), words=words.get(name, ())) for name, entry in inputs.items()}
    )
    kinds = {name: dtype_class(entry.dtype) for name, entry in inputs.items() if entry.dtype is not None}
    integer_names = {name for name, kind in kinds.items() if kind == "integer"}
    if not integer_names:
        return inputs
    origins = view.origins(integer_names, lambda node, place: node.op_type in PASSING and place == 0)
    sizes: dict[str, int] = {}
    shapes = _Shapes(view)
    for node in view.nodes:
        for position, size in _index_inputs(node, shapes):
            for origin in origins.get(node.input[position], ()) if position < len(node.input) and size > 0 else ():
                sizes[origin] = min(size, sizes.get(origin, size))
    return TensorMetadata(
        {
            name: replace(entry, range=(0.0, float(sizes[name] - 1))) if name in sizes else entry
            for name, entry in inputs.items()
        }
    )


class _Shapes:
    """Shapes of tensors that are fixed by the model."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._values = known_values(view.graph)

    def size(self, name: str, axis: int) -> int:
        """Return the size of a tensor along an axis, 0 if the model does not fix it."""
        constant = self._view.weights.get(name, self._view.held.get(name))
        shape = tuple(constant.dims) if constant is not None else None
        if shape is None and name in self._values:
            shape = tuple(shape_of(self._values[name]) or ())
        if shape is None or not -len(shape) <= axis < len(shape):
            return 0
        dim = shape[axis]
        return dim if isinstance(dim, int) and dim > 0 else 0


def _index_inputs(node: Any, shapes: _Shapes) -> Iterator[tuple[int, int]]:
    """Yield the positions of a node's inputs that hold indices, and how many values each may take."""
    if node.op_type in ALONG_AXIS and len(node.input) > 1:
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
        yield 1, shapes.size(node.input[0], axis)
    elif node.op_type in LEADING and len(node.input) > 1:
        count = shapes.size(node.input[1], -1)
        sizes = [shapes.size(node.input[0], axis) for axis in range(count)]
        yield 1, min(sizes) if sizes and all(sizes) else 0
    elif node.op_type == "EmbedLayerNormalization":
        yield from ((index, shapes.size(node.input[table], 0)) for index, table in EMBEDDING_TABLES.items())

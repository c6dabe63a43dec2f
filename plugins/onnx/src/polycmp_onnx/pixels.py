"""Detection of image inputs that the model itself normalises: values of 0 to 255, by the constants it begins with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class
from polycmp_onnx.graph import GraphView

#: Operators before which a picture is still in its own units.
KEEPING = frozenset(
    {
        "Cast", "Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Slice", "Split", "Concat", "Gather", "Pad",
        "Resize", "Upsample",
    }
)  # fmt: skip
#: Operators that hand on a constant in another shape or type.
SHAPING = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Expand"})
#: Means from here on, deviations twice as large, and factors down to the inverse of those are meant for 0 to 255.
BYTES = 16.0
#: Of a constant so many elements are read at most: one for each channel.
MOST = 16


def pixels(inputs: TensorMetadata, view: GraphView) -> set[str]:
    """Return the names of inputs whose first arithmetic is a normalisation of values from 0 to 255.

    Args:
        inputs: The model's inputs.
        view: Links of the model's graph.
    """
    candidates = [name for name, entry in inputs.items() if _may_be_picture(entry)]
    if not candidates:
        return set()
    pictures = view.origins(candidates, lambda node, _: node.op_type in KEEPING)
    held = {**view.weights, **view.held}
    shaped = view.origins(held, lambda node, place: node.op_type in SHAPING and place == 0)
    constants = {name: held[origin] for name, [origin] in shaped.items()}
    images: set[str] = set()
    for node in view.nodes:
        origins = [pictures[name] for name in node.input if name in pictures]
        if origins and node.op_type not in KEEPING and _takes_bytes(node, constants):
            images.add(origins[0][0])
    return images


def _may_be_picture(entry: TensorEntry) -> bool:
    numbers = entry.dtype is not None and dtype_class(entry.dtype) == "float"
    return numbers and len(entry.shape or ()) >= 3


def _takes_bytes(node: Any, constants: Mapping[str, Any]) -> bool:
    """Return whether an operator brings values of 0 to 255 into another range."""
    position = {"BatchNormalization": 3, "Div": 1, "Sub": 1}.get(node.op_type)
    names = [node.input[position]] if position is not None and position < len(node.input) else list(node.input)
    constant = next((constants[name] for name in names if name in constants), None)
    numbers = [] if constant is None else [abs(value) for value in small_numbers(constant)]
    if not numbers:
        return False
    if node.op_type in {"Sub", "Add", "BatchNormalization"}:
        return max(numbers) >= BYTES
    if node.op_type == "Div":
        return min(numbers) >= 2 * BYTES
    return node.op_type == "Mul" and 0.0 < max(numbers) <= 0.5 / BYTES


def small_numbers(tensor: Any) -> list[float]:
    """Return the numbers of a small constant of float32; none if it is another, or its numbers are elsewhere."""
    if tensor.data_type != 1 or math.prod(tensor.dims) > MOST:
        return []
    raw = bytes(tensor.raw_data)
    if not raw:
        listed = tensor.float_data
        if not isinstance(listed, (bytes, memoryview)):
            return [float(value) for value in listed]
        raw = bytes(listed)
    return [float(value) for value in np.frombuffer(raw, "<f4")] if len(raw) % 4 == 0 else []

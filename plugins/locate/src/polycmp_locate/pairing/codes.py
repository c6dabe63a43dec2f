"""Whole numbers that represent real ones: the tensors of a quantised graph that hold them, with their scales."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.graph import ModelGraph, weight_values
from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, to_numpy, whole_limits

#: Where operators that make codes read the scale and the zero point of those.
_RESULT_SCALES = {
    "QuantizeLinear": (1, 2), "QLinearConv": (6, 7), "QLinearMatMul": (6, 7), "QGemm": (7, 8), "QLinearAdd": (6, 7),
    "QLinearMul": (6, 7), "QLinearSigmoid": (3, 4), "QLinearLeakyRelu": (3, 4), "QLinearSoftmax": (3, 4),
    "QLinearAveragePool": (3, 4), "QLinearGlobalAveragePool": (3, 4), "QLinearReduceMean": (3, 4),
    "QLinearConcat": (0, 1), "QLinearWhere": (7, 8),
}  # fmt: skip
#: Operators that take elements as they are from their first input, so that codes stay codes of the same scale.
_SELECTING = frozenset(
    {
        "Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Gather", "GatherElements",
        "GatherND", "Split", "Expand", "Tile", "MaxPool", "NhwcMaxPool", "DepthToSpace", "SpaceToDepth", "Resize",
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Quantisation:
    """The numbers that codes represent: (code - zero) * scale.

    Attributes:
        scale: The size of a step; one number, or one for each channel.
        zero: The code of 0, in the codes' type.
        axis: Axis of channels that have steps of their own.
    """

    scale: NDArray[Any]
    zero: NDArray[Any]
    axis: int = 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The codes' type."""
        return self.zero.dtype

    @property
    def zero_point(self) -> str:
        """The code of 0, as text; empty if channels have several."""
        values = np.unique(self.zero.astype(np.int64))
        return str(values[0]) if values.size == 1 else ""

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest number that codes can represent."""
        low, high = whole_limits(self.dtype)
        scale, zero = self.scale.astype(np.float64), self.zero.astype(np.float64)
        return float(((low - zero) * scale).max()), float(((high - zero) * scale).min())

    def numbers(self, codes: Any) -> NDArray[Any]:
        """Return the numbers that codes represent."""
        array = to_numpy(codes)
        scale, zero = (self._shaped(item, array.ndim).astype(np.float32) for item in (self.scale, self.zero))
        return np.asarray((array.astype(np.float32) - zero) * scale, np.float32)

    def codes(self, numbers: Any) -> NDArray[Any]:
        """Return the nearest codes of numbers."""
        return np.clip(np.nan_to_num(self.places(numbers)), *whole_limits(self.dtype)).astype(self.dtype)

    def places(self, numbers: Any) -> NDArray[np.float64]:
        """Return the nearest codes of numbers as if codes went on beyond the ends of their type."""
        array = to_numpy(numbers)
        scale, zero = (self._shaped(item, array.ndim).astype(np.float64) for item in (self.scale, self.zero))
        with np.errstate(all="ignore"):
            return np.asarray(np.rint(array.astype(np.float64) / scale) + zero)

    def zero_places(self, rank: int) -> NDArray[np.float64]:
        """Return the code of 0 in a shape that fits a tensor of a rank."""
        return self._shaped(self.zero, rank).astype(np.float64)

    def _shaped(self, values: NDArray[Any], rank: int) -> NDArray[Any]:
        if values.size == 1:
            return values.reshape(())
        return values.reshape([-1 if place == self.axis % rank else 1 for place in range(rank)])


def code_tensors(graph: ModelGraph, types: TensorMetadata, static: Container[str]) -> dict[str, Quantisation | None]:
    """Return the tensors that hold codes, each with scale and zero point; None where the file does not give those.

    Args:
        graph: The model.
        types: Types of tensors as far as they are known.
        static: Tensors that depend on weights alone.
    """
    places = list(_code_sources(graph, types, static))
    weight_names = {name for _, source in places if isinstance(source, tuple) for name in source[:2] if name}
    weights = weight_values(graph, weight_names) if weight_names else {}
    quantisations: dict[str, Quantisation | None] = {}
    for name, source in places:
        quantisations[name] = (
            quantisations.get(source) if isinstance(source, str) else _steps(source, weights, types.get(name))
        )
    return quantisations


def _code_sources(
    graph: ModelGraph, types: TensorMetadata, static: Container[str]
) -> Iterator[tuple[str, str | tuple[str, str, int]]]:
    """Yield tensors of codes in their order, each with one whose scale it shares, or the names of its own scale."""
    known: set[str] = set()
    for node in graph.nodes:
        if not node.outputs or node.outputs[0] in static:
            continue
        first = node.operand(0)
        places = _RESULT_SCALES.get(node.op_type)
        if node.op_type == "DynamicQuantizeLinear":
            known.add(node.outputs[0])
            yield node.outputs[0], ("", "", 0)
        elif places is not None and not _is_float(types, node.outputs[0]) and node.operand(places[0]):
            known.add(node.outputs[0])
            axis = node.attributes.get("axis", 1) if node.op_type == "QuantizeLinear" else 1
            yield node.outputs[0], (node.operand(places[0]), node.operand(places[1]), int(axis))
        elif node.op_type in _SELECTING and first in known:
            for name in node.outputs if node.op_type == "Split" else node.outputs[:1]:
                known.add(name)
                yield name, first


def _is_float(types: TensorMetadata, name: str) -> bool:
    entry = types.get(name)
    return entry is not None and entry.dtype is not None and dtype_class(entry.dtype) == "float"


def _steps(
    source: tuple[str, str, int], weights: dict[str, NDArray[Any]], declared: TensorEntry | None
) -> Quantisation | None:
    scale, zero = weights.get(source[0]), weights.get(source[1])
    if scale is None or (source[1] and zero is None) or scale.ndim > 1:
        return None
    if zero is None:
        known = declared is not None and declared.dtype is not None
        zero = np.zeros((), declared.dtype if known and declared is not None else np.uint8)
    if dtype_class(zero.dtype) != "integer":
        return None
    return Quantisation(scale, zero, source[2])

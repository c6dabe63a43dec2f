"""One fault in a file that a converter made: a scale, weight, bias or zero point; and who is to be named for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

#: Operators that multiply by a weight, with the place of that and of a bias.
_WEIGHT = {"Conv": (1, 2), "ConvTranspose": (1, 2), "MatMul": (1, -1), "Gemm": (1, 2), "FusedConv": (1, 2),
           "FusedMatMul": (1, -1), "FusedGemm": (1, 2)}  # fmt: skip
#: Operators that do so with whole numbers, with the places of scale, weight and bias.
_STEPS = {"QLinearConv": (4, 3, 8), "QLinearMatMul": (4, 3, -1), "QGemm": (4, 3, 6), "DynamicQuantizeMatMul": (2, 1, 4),
          "MatMulIntegerToFloat": (3, 1, 6), "MatMulNBits": (2, 1, -1)}  # fmt: skip
#: Operators that only hand on, or add to, what the one before them made: a fault may be told of any of them.
_ATTENDANTS = frozenset({"Cast", "Mul", "Add", "QuantizeLinear", "DequantizeLinear", "Relu", "Clip", "Sum"})
_STEPS_BEHIND = 4
#: Attributes with the numbers that models of ai.onnx.ml were fitted to.
_FITTED = frozenset({"coefficients", "target_weights", "class_weights", "leaf_weights"})


@dataclass(frozen=True)
class Fault:
    """A fault of a file.

    Attributes:
        name: What was done.
        model: The file with it.
        named: The names of operators of which any is a right answer.
    """

    name: str
    model: onnx.ModelProto
    named: frozenset[str]


def faults_of(model: onnx.ModelProto) -> Iterator[Fault]:
    """Yield files with one fault each, around the middle one of the operators that have a weight.

    Args:
        model: The file.
    """
    yield from islice(_fitted(model), 1)
    places = list(_Places(model).weighted())
    if not places:
        return
    _, scale, weight, bias = places[len(places) // 2]
    changes: list[tuple[str, str, Callable[[NDArray[Any]], Any]]] = []
    if scale:
        changes.append(("scale x 1.3", scale, lambda values: values * 1.3))
    elif weight:
        changes.append(("weight x 1.3", weight, lambda values: values * 1.3))
    if bias:
        changes.append(("bias dropped", bias, np.zeros_like))
    for name, zero in islice(_zero_points(model), 1):
        changes.append(("zero point off", name, partial(_moved, high=float(zero) > np.iinfo(zero.dtype).max / 2)))
    for what, name, change in changes:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        item = next(item for item in copy.graph.initializer if item.name == name)
        values = numpy_helper.to_array(item)
        item.CopyFrom(numpy_helper.from_array(np.asarray(change(values)).astype(values.dtype), name))
        # An unrolled LSTM has the weight once, and each of its cells multiplies by it.
        sharing = [_around(model, other) for other, *held in places if name in held]
        yield Fault(what, copy, _readers(model, name) if what.startswith("zero") else frozenset().union(*sharing))


def _fitted(model: onnx.ModelProto) -> Iterator[Fault]:
    """Yield files in which the numbers of one operator of ai.onnx.ml are larger."""
    for place, node in enumerate(model.graph.node):
        for which, attribute in enumerate(node.attribute):
            if attribute.name in _FITTED and attribute.floats:
                copy = onnx.ModelProto()
                copy.CopyFrom(model)
                changed = copy.graph.node[place].attribute[which]
                changed.floats[:] = [1.3 * value for value in attribute.floats]
                yield Fault(f"{attribute.name} x 1.3", copy, _around(model, node))


def _moved(zero: NDArray[Any], *, high: bool) -> NDArray[Any]:
    """Return a code of 0 that is a fifth of the range away from another, on the side where there is more room."""
    ends = np.iinfo(zero.dtype)
    span = (int(ends.max) - int(ends.min)) // 5
    return np.clip(zero.astype(np.int64) + (-span if high else span), ends.min, ends.max)


class _Places:
    """Where a model keeps what it multiplies by."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.nodes: Sequence[Any] = model.graph.node
        self.held = {item.name for item in model.graph.initializer}
        self.maker = {name: node for node in self.nodes for name in node.output}

    def weighted(self) -> Iterator[tuple[Any, str, str, str]]:
        """Yield operators with the names of the scale, the weight and the bias that the file holds for them."""
        for node in self.nodes:
            if node.op_type in _STEPS:
                scale, weight, bias = (self._held(node, place) for place in _STEPS[node.op_type])
                if scale:
                    yield node, scale, weight, bias
            elif node.op_type in _WEIGHT:
                held, added = (self._behind(node, place) for place in _WEIGHT[node.op_type])
                if held[0] or held[1]:
                    yield node, held[0], held[1], added[1]
            elif node.op_type in {"MatMulInteger", "ConvInteger"}:
                scale = next((name for name in self._scales(node)), "")
                if scale:
                    yield node, scale, "", ""

    def _held(self, node: Any, place: int) -> str:
        name = node.input[place] if 0 <= place < len(node.input) else ""
        return name if name in self.held else ""

    def _behind(self, node: Any, place: int) -> tuple[str, str]:
        """Return the scale of a weight that is multiplied out, and the weight."""
        name = node.input[place] if 0 <= place < len(node.input) else ""
        made_by = self.maker.get(name)
        if made_by is not None and made_by.op_type == "DequantizeLinear":
            return self._held(made_by, 1), self._held(made_by, 0)
        return "", name if name in self.held else ""

    def _scales(self, node: Any) -> Iterator[str]:
        """Yield the scale of a weight that the product of scales behind an operator of whole numbers reads."""
        base = node.input[1].removesuffix("_quantized")
        yield from (name for name in (f"{base}_scale",) if name in self.held)


def _zero_points(model: onnx.ModelProto) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the zero points of tensors that are rounded while the model runs, those in the middle first."""
    held = {item.name: item for item in model.graph.initializer}
    rounding = [node for node in model.graph.node if node.op_type == "QuantizeLinear" and len(node.input) > 2]
    for node in rounding[len(rounding) // 2 :]:
        if node.input[2] in held and node.input[0] not in held:
            values = numpy_helper.to_array(held[node.input[2]])
            if not values.ndim and values.dtype.kind in "iu":
                yield node.input[2], values


def _readers(model: onnx.ModelProto, name: str) -> frozenset[str]:
    """Return the operators that read a zero point, those before them, and what cuts the numbers behind them."""
    maker = {made: node for node in model.graph.node for made in node.output}
    nodes = [node for node in model.graph.node if name in node.input]
    before = [maker[node.input[0]] for node in nodes if node.op_type == "QuantizeLinear" and node.input[0] in maker]
    made = {name for node in nodes for name in node.output}
    behind = [node for node in model.graph.node if node.op_type in {"Relu", "Clip"} and node.input[0] in made]
    return frozenset(node.name for node in (*nodes, *before, *behind))


def _around(model: onnx.ModelProto, start: Any) -> frozenset[str]:
    """Return an operator's name, with those of what only hands on what it makes."""
    readers: dict[str, list[Any]] = {}
    for node in model.graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    found, front = {start.name}, [start]
    for _ in range(_STEPS_BEHIND):
        behind = [reader for node in front for name in node.output for reader in readers.get(name, ())]
        front = [node for node in behind if node.op_type in _ATTENDANTS and node.name not in found]
        found.update(node.name for node in front)
    return frozenset(found)

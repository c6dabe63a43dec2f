"""Use of integer inputs by a model: it calculates with them, divides by them, or takes them as indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polycmp.tensors import TensorMetadata, dtype_class
from polycmp_onnx.graph import STANDARD, GraphView

#: Inputs of operators that say where, how many or which shape; -1 means all but the first.
PLACES: Mapping[str, tuple[int, ...]] = {
    "Gather": (1,), "GatherElements": (1,), "GatherND": (1,), "Scatter": (1,), "ScatterElements": (1,),
    "ScatterND": (1,), "Reshape": (1,), "Expand": (1,), "Tile": (1,), "ConstantOfShape": (0,), "Range": (0, 1, 2),
    "OneHot": (0, 1), "TopK": (1,), "Slice": (-1,), "Pad": (1, 3), "Resize": (-1,), "Upsample": (1,), "Split": (1,),
    "Squeeze": (1,), "Unsqueeze": (1,), "CumSum": (1,), "Trilu": (1,), "Compress": (1,),
    "ReduceSum": (1,), "ReduceMean": (1,), "ReduceMax": (1,), "ReduceMin": (1,), "ReduceProd": (1,), "ReduceL1": (1,),
    "ReduceL2": (1,), "ReduceSumSquare": (1,), "CenterCropPad": (1,), "AffineGrid": (1,), "NonMaxSuppression": (2,),
    "MaxUnpool": (1, 2), "ReverseSequence": (1,), "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,),
    "MelWeightMatrix": (0, 1, 2), "STFT": (1, 3), "DFT": (1, 2), "SequenceAt": (1,), "SequenceInsert": (2,),
    "SequenceErase": (1,), "SplitToSequence": (1,), "NegativeLogLikelihoodLoss": (1,), "SoftmaxCrossEntropyLoss": (1,),
    "TensorScatter": (2,), "Attention": (6,), "RotaryEmbedding": (3,),
}  # fmt: skip
#: Operators of which no output holds the numbers that went in, or anything made of their values.
COUNTING = frozenset({"Shape", "Size", "ArgMax", "ArgMin", "NonZero", "EyeLike"})
#: Operators with graphs inside, which may read all tensors around them.
WITH_GRAPHS = frozenset({"If", "Loop", "Scan", "SequenceMap"})
#: The numbers that ONNX gives to types of whole numbers: (u)int8 to (u)int64.
WHOLE_TYPES = frozenset({2, 3, 4, 5, 6, 7, 12, 13})


def roles_of_whole_numbers(inputs: TensorMetadata, view: GraphView) -> dict[str, str]:
    """Return the roles of inputs: `divisor` where whole numbers are divided by them, `number` where none is a place.

    What an operator outside of ONNX does with a number is not known, which is as if it were a place. Where operators
    have graphs inside, nothing is known.

    Args:
        inputs: The model's inputs.
        view: Links of the model's graph.
    """
    whole = [name for name, entry in inputs.items() if entry.dtype and dtype_class(entry.dtype) == "integer"]
    if not whole or any(node.op_type in WITH_GRAPHS for node in view.nodes):
        return {}
    origins = view.origins(whole, lambda node, _: node.op_type not in COUNTING)
    same = view.origins(whole, lambda node, _: _stays_what_it_is(node))
    divisors: set[str] = set()
    places: set[str] = set()
    for node, operands in zip(view.nodes, view.operands, strict=True):
        if origins.keys().isdisjoint(operands):
            continue
        places.update(origin for place in _places(node) for origin in origins.get(operands[place], ()))
        if node.op_type in {"Div", "Mod"} and len(operands) == 2:
            divisors.update(same.get(operands[1], ()))
    numbers = (name for name in whole if name not in places)
    return dict.fromkeys(numbers, "number") | dict.fromkeys(divisors, "divisor")


def _places(node: Any) -> list[int]:
    """Return the positions of a node's inputs that say where, how many or which shape."""
    if node.domain not in STANDARD:
        return list(range(len(node.input)))
    known = PLACES.get(node.op_type, ())
    return [index for index in range(len(node.input)) if index in known or (-1 in known and index)]


def _stays_what_it_is(node: Any) -> bool:
    """Return whether an operator hands on the numbers that it reads, as whole numbers."""
    if node.op_type == "Cast":
        return next((item.i for item in node.attribute if item.name == "to"), 0) in WHOLE_TYPES
    return node.op_type in {"Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand", "Tile"}

"""Results that the operator's own definition leaves open, so that neither side is wrong.

Asked where one operator of such a kind would be accused, and no other is wrong by itself. It takes a run of each side,
with what the operator reads and makes as outputs: each element that differs has to be one that is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.layerwise import PartitionedRun
from polycmp.tensors import dtype_class, dtype_name, to_numpy
from polycmp_locate.causes.case import Case
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.row_rules import is_culprit
from polycmp_locate.values.judged import LEFT_OPEN, WORSE, WRONG, Judged
from polycmp_locate.values.measured import Row

Array = NDArray[Any]
Places = NDArray[np.bool_]
#: PyTorch's operators that promise no order of equal values.
_UNORDERED = frozenset({"topk", "sort", "argsort"})


@dataclass(frozen=True)
class LeftOpen:
    """An operator whose result is left open where both sides differ.

    Attributes:
        row: What it makes.
        count: Number of elements that differ.
        why: Why they are left open, in words.
    """

    row: Row
    count: int
    why: str

    def sentence(self, judged: Judged, candidate: str, reference: str) -> str:
        """Return the verdict as a sentence."""
        del judged
        who = f"{candidate} and {reference} make other numbers with {self.row.node.label}"
        return f"{LEFT_OPEN}: {who} in {self.count} elements of {self.row.tensor!r}, {self.why}; nothing else is wrong"


@dataclass(frozen=True)
class Reading:
    """One side's values around an operator.

    Attributes:
        row: What the operator makes.
        values: What it reads and makes, by name.
    """

    row: Row
    values: Mapping[str, Array]

    @property
    def result(self) -> Array:
        """What it makes."""
        return self.values[self.row.tensor]

    def operand(self, place: int) -> Array | None:
        """Return what it reads at an index; None where that was not seen."""
        return self.values.get(self.row.node.operand(place))


def ask(case: Case) -> Judged | None:
    """Return the verdict on an operator of which both sides make what is left open; None where that is not it."""
    judgement = case.of_operators
    row = judgement.origin or judgement.first_bad
    if row is None or judgement.verdict not in {WRONG, WORSE} or row.node.op_type not in _OPEN:
        return None
    if any(is_culprit(other) for other in case.rows if other.tensor not in row.node.outputs):
        return None
    sides = [_read(side, case, row) for side in (case.setting.candidate, case.setting.reference)]
    if None in sides:
        return None
    one, two = (side for side in sides if side is not None)
    differing = one.result != two.result if one.result.shape == two.result.shape else None
    undefined = _OPEN[row.node.op_type](one, two)
    if differing is None or undefined is None or (differing & ~undefined[0]).any():
        return None
    return case.nobody(verdict=LEFT_OPEN, cause=LeftOpen(row, int(np.count_nonzero(differing)), undefined[1]))


def _read(side: PartitionedRun, case: Case, row: Row) -> Reading | None:
    """Return a side's values around an operator; None where it does not show them."""
    feed = case.whole.feed
    computed = {name for node in side.graph.nodes for name in node.outputs}
    seen = side.run_whole(feed, [*(name for name in row.node.inputs if name in computed), row.tensor])
    if seen is None or row.tensor not in seen:
        return None
    return Reading(row, {name: to_numpy(array) for name, array in {**feed, **seen}.items()})


def _beyond_integers(one: Reading, two: Reading) -> tuple[Places, str] | None:
    """Return where Cast reads what the integers that it makes do not reach (ONNX: "undefined if OOR")."""
    read, kind = (one.operand(0), two.operand(0)), two.result.dtype
    if dtype_class(kind) != "integer":
        return None
    beyond = np.zeros(two.result.shape, np.bool_)
    for array in read:
        if array is None or dtype_class(array.dtype) != "float":
            return None
        whole, range_ = np.trunc(array.astype(np.float64)), np.iinfo(kind)
        beyond |= ~((whole >= float(range_.min)) & (whole < float(range_.max) + 1.0))
    return beyond, f"where it reads numbers beyond {dtype_name(kind)}, of which ONNX's Cast leaves the result open"


def _equal_values(one: Reading, two: Reading) -> tuple[Places, str] | None:
    """Return where both sides name equal values, of which PyTorch promises no order."""
    node, values = two.row.node, two.operand(0)
    kinds = {*node.candidate_ops, *node.reference_ops} if isinstance(node, PartNode) else set[str]()
    if not kinds & _UNORDERED or values is None or dtype_class(two.result.dtype) != "integer":
        return None
    axis = int(node.attributes.get("axis", -1))
    places = [side.result.astype(np.int64) for side in (one, two)]
    if any(((array < 0) | (array >= values.shape[axis])).any() for array in places):
        return None
    named = [np.take_along_axis(values, array, axis) for array in places]
    return named[0] == named[1], "which name equal values: PyTorch leaves open which of them come first"


#: What is left open, by the type of the operator: the elements, and why in words.
_OPEN: Mapping[str, Callable[[Reading, Reading], tuple[Places, str] | None]] = {
    "Cast": _beyond_integers,
    "TopK": _equal_values,
}

"""Products of matrices as one operator each: an export brings what they read into matrices, and the result back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from polycmp_executorch.program import LINEAR, Call, PteProgram

#: Products, and how many dimensions at the end of what they read are those of matrices.
_PRODUCTS: Mapping[str, int] = {LINEAR: 1, "aten::mm": 1, "aten::bmm": 2}
#: Operators that only count elements otherwise.
_SHAPING = frozenset({"aten::view_copy", "aten::expand_copy", "aten::_unsafe_view", "dim_order_ops::_clone_dim_order"})

_TRANSPOSING = frozenset({"aten::permute_copy", "aten::transpose_copy"})


def with_whole_products(program: PteProgram, calls: Sequence[Call]) -> tuple[list[Call], dict[int, tuple[int, ...]]]:
    """Return instructions with products that read, and make, what is around the reshaping for them.

    Args:
        program: The program.
        calls: Its instructions.

    Returns:
        The instructions, and the shapes of the tensors that are matrices in the program alone.
    """
    return _Products(program, calls).read()


class _Products:
    def __init__(self, program: PteProgram, calls: Sequence[Call]) -> None:
        self._program, self._calls = program, calls
        self._makers = {at: call for call in calls for at in call.makes}
        self._readers: dict[int, list[Call]] = {}
        for call in calls:
            for at in call.reads:
                self._readers.setdefault(at, []).append(call)
        self._left_out: set[int] = set()
        self._shapes: dict[int, tuple[int, ...]] = {}

    def read(self) -> tuple[list[Call], dict[int, tuple[int, ...]]]:
        whole: dict[int, Call] = {}
        sums: set[int] = set()
        for call in self._calls:
            kept = _PRODUCTS.get(call.operator)
            if kept is None and not sums.intersection(call.reads):
                continue
            reads = call.reads[1:] if call.operator == LINEAR else call.reads  # without what it is told not to add
            if kept is not None:
                reads = tuple(self._before(at, kept) if at in self._makers else at for at in reads)
            made = self._behind(call.makes[0], kept or 1)
            if kept != 2 and made == call.makes[0]:
                self._show_like(made, reads[0])
            if call.operator == LINEAR:
                sums.add(made)
            whole[made] = replace(call, reads=tuple(dict.fromkeys(reads)), makes=(made,))
        for call in self._calls:  # two transpositions, one right after the other, are one
            before = self._makers.get(call.reads[0]) if call.operator in _TRANSPOSING else None
            if before is not None and before.operator in _TRANSPOSING and self._is_inner(before.makes[0]):
                self._left_out.add(before.makes[0])
                before = whole.get(before.makes[0], before)
                whole[call.makes[0]] = replace(call, reads=before.reads)
        calls = (whole.get(call.makes[0], call) for call in self._calls if call.makes[0] not in self._left_out)
        return list(calls), self._shapes

    def _is_inner(self, at: int) -> bool:
        return len(self._readers.get(at, ())) == 1 and at not in self._program.outputs

    def _before(self, at: int, kept: int) -> int:
        """Return what a matrix is made of by shaping alone."""
        matrix = at
        while (call := self._makers.get(at)) is not None and call.operator in _SHAPING and self._is_inner(at):
            if not self._keeps(call.reads[0], matrix, kept):
                break
            self._left_out.add(at)
            at = call.reads[0]
        return at

    def _behind(self, at: int, kept: int) -> int:
        """Return what is made of a matrix by shaping alone."""
        matrix = at
        while self._is_inner(at) and self._readers[at][0].operator in _SHAPING:
            shaped = self._readers[at][0].makes[0]
            if not self._keeps(shaped, matrix, kept):
                break
            self._left_out.add(at)
            at = shaped
        return at

    def _show_like(self, made: int, read: int) -> None:
        """Show a matrix in the shape of what it was made of, but for the last dimension."""
        around = self._shapes.get(read) or self._program.entry(read)[1]
        shape = self._program.entry(made)[1]
        if (
            around
            and shape
            and len(around) > len(shape)
            and -1 not in (*around, *shape)
            and made not in self._program.outputs
        ):
            self._shapes[made] = (*around[:-1], shape[-1])

    def _keeps(self, one: int, other: int, kept: int) -> bool:
        """Return whether two tensors have the same elements, and the same dimensions at the end."""
        first, second = (self._shapes.get(at) or self._program.entry(at)[1] for at in (one, other))
        if first is None or second is None or -1 in (*first, *second):
            return False
        return math.prod(first) == math.prod(second) and first[-kept:] == second[-kept:]

"""Whole numbers and truth values that rounding turns: decisions between numbers that are nearly equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.builtin.judging.limits import MARGIN
from polycmp.tensors import dtype_class

#: Kinds of numbers that a decision makes.
_DECIDED = frozenset({"integer", "bool"})


def are_decisions(array: NDArray[Any]) -> bool:
    """Return whether a tensor holds whole numbers or truth values, which only a decision changes."""
    return dtype_class(array.dtype) in _DECIDED


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions in a tensor that rounding turns.

    Attributes:
        turned: Mask of the elements that change; None where nothing is known of any.
        largest: By how much at most.
        reshaped: Whether the tensor has other shapes, too.
    """

    turned: NDArray[np.bool_] | None = None
    largest: float = 0.0
    reshaped: bool = False

    def __add__(self, other: Decisions) -> Decisions:
        masks = [mask for mask in (self.turned, other.turned) if mask is not None]
        turned = np.logical_or.reduce(masks) if masks else None
        return Decisions(turned, max(self.largest, other.largest), self.reshaped or other.reshaped)

    def explain(self, candidate: NDArray[Any], reference: NDArray[Any]) -> bool:
        """Return whether two tensors differ where rounding turns decisions, by about as much, or in such a shape.

        Of those that differ by rounding samples leave a few as they are.
        """
        if candidate.shape != reference.shape:
            return self.reshaped
        gaps = _gaps(candidate, reference)
        if self.turned is None or self.turned.shape != gaps.shape:
            return False
        count, others = int(np.count_nonzero(gaps)), int(np.count_nonzero(gaps[~self.turned]))
        return MARGIN * others < count and float(gaps.max(initial=0.0)) <= MARGIN * self.largest

    def text(self, kind: str, *, of_shape: bool = False) -> str:
        """Return in words what rounding turns.

        Args:
            kind: The type that is rounded to.
            of_shape: Whether it is the tensor's shape that differs.
        """
        count = 0 if self.turned is None else int(np.count_nonzero(self.turned))
        what = "the shape" if of_shape else f"up to {count} of them, by up to {self.largest:.3g}"
        return f"rounding to {kind} may turn {what}, as decisions between nearly equal values"


def sampled_decisions(exact: NDArray[Any], perturbed: Iterable[NDArray[Any]]) -> Decisions:
    """Return the decisions in a tensor that differ between runs of its model.

    Args:
        exact: The tensor.
        perturbed: Samples of it, from runs with moved tensors.
    """
    samples = list(perturbed)
    gaps = [_gaps(sample, exact) for sample in samples if sample.shape == exact.shape]
    return Decisions(
        np.logical_or.reduce([gap > 0.0 for gap in gaps]) if gaps else None,
        max((float(gap.max(initial=0.0)) for gap in gaps), default=0.0),
        len(gaps) < len(samples),
    )


def _gaps(one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.float64]:
    return np.abs(one.astype(np.float64) - two.astype(np.float64))

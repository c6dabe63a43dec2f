"""Data about two arrays for a page: their error as an image, both sides against each other, and the worst elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.spec import Compared, RunObserver
from polycmp.tensors import dtype_class, to_numpy
from polycmp_report.pictures.errors import GROUP, NOTHING, error_images, errors_of, shrink

if TYPE_CHECKING:
    from polycmp.results import Outcome
    from polycmp.runs import RunStep

#: Pixels of an image along each side, points of a scatter plot, bins of a histogram, and elements that are listed.
PIXELS, POINTS, BINS, WORST = 96, 300, 40, 10
#: Elements that a histogram looks at.
_COUNTED = 100_000


@dataclass(frozen=True)
class Element:
    """One element of an output.

    Attributes:
        index: Position of the element.
        candidate: Value in the candidate.
        reference: Value in the reference.
        error: The absolute difference.
    """

    index: tuple[int, ...]
    candidate: float
    reference: float
    error: float


@dataclass(frozen=True)
class Look:
    """Data about one output for a page, from the iteration with its largest error.

    Attributes:
        iteration: That iteration, counted from 0.
        error: The largest absolute error.
        image: Absolute errors, `[rows, columns]`, each pixel the largest below it; `NOTHING` where no element is.
        image_of: Description of the content of the image.
        reference: Reference values of some elements, the worst among them.
        candidate: The candidate's values of the same elements.
        edges: Borders of the bins in which both sides are counted; empty if no value is finite.
        counts: Elements per bin, of the candidate and of the reference.
        worst: The elements with the largest errors, the largest first.
    """

    iteration: int
    error: float
    image: NDArray[np.float64]
    image_of: str
    reference: NDArray[np.float64]
    candidate: NDArray[np.float64]
    edges: NDArray[np.float64]
    counts: tuple[NDArray[np.int64], NDArray[np.int64]]
    worst: tuple[Element, ...]


class Looker(RunObserver):
    """Looks at each pair of outputs that is compared, and keeps what a page shows of it.

    Attributes:
        looks: By the candidate's label and the output's name.
    """

    def __init__(self) -> None:
        self.looks: dict[tuple[str, str], Look] = {}

    def on_step(self, step: RunStep) -> None:
        """Look at each output; those that are equal, texts or of unequal shapes show nothing."""
        for pair in step.pairs():
            self._look_at(pair)

    def finish(self, outcome: Outcome) -> None:
        """Hand over what was seen, for the rows of the page."""
        outcome.looks["html"] = self.looks

    def _look_at(self, pair: Compared) -> None:
        actual, expected = to_numpy(pair.made), to_numpy(pair.expected)
        kinds = {dtype_class(actual.dtype), dtype_class(expected.dtype)}
        if actual.shape != expected.shape or not actual.size or kinds & {"string", "complex"}:
            return
        best = worst_elements(actual, expected)
        known = self.looks.get((pair.candidate, pair.output))
        if best and (known is None or best[0].error > known.error):
            self.looks[pair.candidate, pair.output] = _look(pair.iteration, actual, expected, best)


def worst_elements(actual: NDArray[Any], expected: NDArray[Any]) -> tuple[Element, ...]:
    """Return the elements with the largest absolute errors, the largest first; none where all are equal.

    Args:
        actual: The candidate's array.
        expected: The reference's, of the same shape.
    """
    left, right = actual.reshape(-1), expected.reshape(-1)
    largest: list[tuple[float, int]] = []
    for start in range(0, left.size, GROUP):
        error, _, _ = errors_of(left[start : start + GROUP], right[start : start + GROUP])
        top = np.argpartition(error, -min(WORST, error.size))[-WORST:]
        largest += [(float(error[at]), start + int(at)) for at in top if error[at] > 0]
        largest = sorted(largest, key=lambda item: (-item[0], item[1]))[:WORST]
    return tuple(
        Element(tuple(map(int, np.unravel_index(at, actual.shape))), float(left[at]), float(right[at]), error)
        for error, at in largest
    )


def _look(iteration: int, actual: NDArray[Any], expected: NDArray[Any], worst: tuple[Element, ...]) -> Look:
    images = error_images(actual, expected)
    best = int(np.argmax(images.absolute.max(axis=(1, 2))))
    rows, columns = images.shape
    of = f"{rows} × {columns} elements"
    if images.folded:
        of = f"a vector folded into {rows} rows"
    elif images.total > 1:
        of += f", image {images.numbers[best]} of {images.total}, that with the largest error"
    flat, other = actual.reshape(-1), expected.reshape(-1)
    places = np.arange(0, flat.size, max(1, -(-flat.size // POINTS)))
    worst_at = [int(np.ravel_multi_index(item.index, actual.shape)) for item in worst] if actual.ndim else [0]
    places = np.unique(np.concatenate([places, worst_at]))
    step = max(1, -(-flat.size // _COUNTED))
    edges, counts = _histograms(flat[::step].astype(np.float64), other[::step].astype(np.float64))
    return Look(
        iteration,
        worst[0].error,
        shrink(images.absolute[best : best + 1], PIXELS)[0],
        of,
        other[places].astype(np.float64),
        flat[places].astype(np.float64),
        edges,
        counts,
        worst,
    )


def _histograms(
    actual: NDArray[np.float64], expected: NDArray[np.float64]
) -> tuple[NDArray[np.float64], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return common bins of both sides' finite values, and how many of each lie in them."""
    sides = [side[np.isfinite(side)] for side in (actual, expected)]
    known = np.concatenate(sides)
    nothing = np.zeros(0, np.int64)
    if not known.size:
        return np.zeros(0), (nothing, nothing)
    low, high = float(known.min()), float(known.max())
    if not np.isfinite(high - low) or low == high:
        return np.zeros(0), (nothing, nothing)
    edges = np.linspace(low, high, BINS + 1)
    left, right = (np.histogram(side, edges)[0].astype(np.int64) for side in sides)
    return edges, (left, right)


__all__ = ["NOTHING", "Element", "Look", "Looker", "worst_elements"]

"""The task `detect`: boxes and their classes, scored as COCO does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polycmp.errors import DataError
from polycmp_decide.coco import Picture
from polycmp_decide.scores import Floats, Places, Scores
from polycmp_decide.tasks.decoders import Boxes, areas, decode, overlaps, shared_areas
from polycmp_decide.tasks.task import Array, TaskOptions

#: How far boxes have to overlap, which shares of the boxes are looked at, and how many boxes of a class count: COCO's.
_OVERLAPS = np.linspace(0.5, 0.95, 10)
_RECALLS = np.linspace(0.0, 1.0, 101)
_MAX_BOXES = 100
#: A score takes a thousandth of a second for each class, and others a hundredth of that.
_RESAMPLES = 999


@dataclass(frozen=True)
class Truth:
    """The right boxes of a picture.

    Attributes:
        corners: Left, top, right and bottom of each box, as shares of the picture.
        classes: Numbers of their classes.
        crowds: Whether each is of a crowd, in which any number of boxes is right.
    """

    corners: Floats
    classes: Array
    crowds: Array


class Detect:
    """Finds boxes that are right at ten limits of overlap: the mean precision over limits, recalls and classes.

    Args:
        options: What a user said.
    """

    measure = "mAP"

    def __init__(self, options: TaskOptions) -> None:
        self._options = options

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return the boxes in each picture."""
        return [*decode(outputs, feed, self._options.decoder)]

    def truth(self, label: Any) -> Truth:
        """Return the boxes that are right.

        Raises:
            DataError: It is no picture of COCO's, or has a class that the model lacks.
        """
        if not isinstance(label, Picture):
            raise DataError(f"{label!r} says nothing of boxes", whose="--labels", hint="--labels FILE.json, as COCO's")
        names, known = label.names, self._options.classes
        if known and (unknown := [name for name in names if name not in known]):
            raise DataError(f"no class is called {unknown[0]!r}", whose="--classes")
        classes = [known.index(name) for name in names] if known else list(label.places)
        return Truth(label.corners, np.array(classes, np.int64), label.crowds)

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return COCO's mean average precision.

        Source: the evaluation of COCO (Lin et al., 2014): greedy matches, precision interpolated at 101 recalls.
        """
        classes = sorted({int(kind) for truth in truths for kind in truth.classes[~truth.crowds]})
        pairs = [(boxes, truth) for side in (new, old) for boxes, truth in zip(side, truths, strict=True)]
        by_class = [_Curve([_match(boxes, truth, kind) for boxes, truth in pairs]) for kind in classes]

        def total(places: Places) -> Floats:
            return np.array([_mean(by_class, item) for item in places.reshape(-1, places.shape[-1])]).reshape(
                places.shape[:-1]
            )

        each = total(np.arange(len(pairs))[:, None])
        return Scores(each[: len(new)], each[len(new) :], total, resamples=_RESAMPLES)

    def shown(self, prediction: Any) -> str:
        """Return the number of boxes: those of a prediction that are more likely right than not."""
        sure = int((prediction.scores > 0.5).sum()) if isinstance(prediction, Boxes) else len(prediction.classes)
        return f"{sure} box{'' if sure == 1 else 'es'}"


@dataclass(frozen=True)
class _Matches:
    """The boxes of one class in a picture.

    Attributes:
        scores: Their scores, the largest first.
        right: Whether each is right, by limit.
        ignored: Whether each does not count, by limit.
        number: Number of boxes that should be found.
    """

    scores: Floats
    right: Array
    ignored: Array
    number: int


def _match(boxes: Boxes, truth: Truth, kind: int) -> _Matches:
    box_places = np.flatnonzero(boxes.classes == kind)
    box_places = box_places[np.argsort(-boxes.scores[box_places], kind="stable")][:_MAX_BOXES]
    truth_places = np.flatnonzero(truth.classes == kind)
    truth_places = truth_places[np.argsort(truth.crowds[truth_places], kind="stable")]
    crowds = truth.crowds[truth_places]
    shares = overlaps(boxes.corners[box_places], truth.corners[truth_places])
    if crowds.any():  # of a box in a crowd it counts how much of the box lies in it
        shares[:, crowds] = _covered(boxes.corners[box_places], truth.corners[truth_places][crowds])
    right, ignored = (np.zeros((len(_OVERLAPS), len(box_places)), bool) for _ in range(2))
    for row, limit in enumerate(_OVERLAPS):
        matched = np.zeros(len(truth_places), bool)
        for at in range(len(box_places)):
            free = shares[at] >= min(limit, 1 - 1e-10)
            real, crowd = free & ~matched & ~crowds, free & crowds
            eligible = real if real.any() else crowd
            if eligible.any():
                # Of equal ones COCO takes the last.
                best = len(truth_places) - 1 - int(np.where(eligible, shares[at], -1)[::-1].argmax())
                matched[best] = True
                right[row, at], ignored[row, at] = not crowds[best], crowds[best]
    return _Matches(boxes.scores[box_places], right, ignored, int((~crowds).sum()))


def _covered(boxes: Floats, crowds: Floats) -> Floats:
    both, whole = shared_areas(boxes, crowds), areas(boxes)[:, None]
    shares: Floats = np.divide(both, whole, out=np.zeros_like(both), where=whole > 0)
    return shares


class _Curve:
    """Precision and recall of one class on any selection of pictures.

    Args:
        pictures: The matches in each picture.
    """

    def __init__(self, pictures: Sequence[_Matches]) -> None:
        scores = np.concatenate([item.scores for item in pictures])
        order = np.argsort(-scores, kind="stable")
        self._picture = np.repeat(np.arange(len(pictures)), [len(item.scores) for item in pictures])[order]
        self._right = np.concatenate([item.right for item in pictures], axis=1)[:, order]
        ignored = np.concatenate([item.ignored for item in pictures], axis=1)[:, order]
        self._wrong = ~self._right & ~ignored
        self._number = np.array([item.number for item in pictures])

    def precision(self, places: Places) -> float | None:
        """Return the average precision on a selection of pictures; None if it has no boxes of the class."""
        times = np.bincount(places, minlength=len(self._number))
        number = int(times @ self._number)
        if not number:
            return None
        weights = times[self._picture]
        is_selected = weights > 0
        weights = weights[is_selected]
        right = (self._right[:, is_selected] * weights).cumsum(1)
        wrong = (self._wrong[:, is_selected] * weights).cumsum(1)
        predicted = right + wrong
        precision = np.divide(right, predicted, out=np.zeros(right.shape), where=predicted > 0)
        precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        total = 0.0
        for row, recall in zip(precision, right / number, strict=True):
            at = np.searchsorted(recall, _RECALLS, side="left")
            total += float(row[at[at < len(row)]].sum())
        return total / (len(_OVERLAPS) * len(_RECALLS))


def _mean(classes: Sequence[_Curve], places: Places) -> float:
    """Return the mean over the classes in a selection of pictures; 1 if it has no boxes."""
    precisions = [value for item in classes if (value := item.precision(places)) is not None]
    return float(np.mean(precisions)) if precisions else 1.0

"""The task `segment`: the class of each pixel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.errors import DataError
from polycmp_decide.scores import Floats, Scores, ratios
from polycmp_decide.sources import open_picture
from polycmp_decide.tasks.task import Array, TaskOptions, is_real, only_output

#: The class of pixels that do not count, as data sets write it.
_IGNORED = 255


class Segment:
    """Counts for each class the pixels that both have, and those that either has: the mean of their ratios.

    Args:
        options: What a user said.
    """

    measure = "mIoU"

    def __init__(self, options: TaskOptions) -> None:
        self._output = options.output

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return the classes of the pixels."""
        del feed
        form = "scores [N, C, H, W] or classes [N, H, W]"
        _, array = only_output(outputs, self._output, _fits, form, "segment")
        if is_real(array):
            scores = array.astype(np.float32)
            return [*np.where(np.isnan(scores).any(1), _IGNORED, scores.argmax(1)).astype(np.uint8)]
        return [*array.reshape(array.shape[0], *array.shape[-2:]).astype(np.uint8)]

    def truth(self, label: Any) -> Array:
        """Return the classes in a picture.

        Raises:
            DataError: It has colours.
            FileError: It cannot be read.
        """
        with open_picture(label) as mask:
            if mask.mode not in {"L", "P", "1"}:
                raise DataError(
                    f"a mask of mode {mask.mode}", whose=str(label), hint="its pixels are numbers of classes"
                )
            return np.asarray(mask).astype(np.uint8)

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return the mean of the ratios over all classes that there are."""
        number = 1 + max(int(np.where(item == _IGNORED, 0, item).max(initial=0)) for item in (*new, *old, *truths))
        new_counts, old_counts = (
            [_pixels(mask, right, number) for mask, right in zip(side, truths, strict=True)] for side in (new, old)
        )
        return ratios(new_counts, old_counts, _mean_ratio)

    def shown(self, prediction: Any) -> str:
        """Return nothing; a mask is too large."""
        del prediction
        return ""


def _fits(array: Array) -> bool:
    if is_real(array):
        return array.ndim == 4 and array.shape[1] > 1
    whole = array.dtype.kind in "iu"
    return whole and (array.ndim == 3 or (array.ndim == 4 and array.shape[1] == 1))


def _pixels(mask: Array, right: Array, number: int) -> Floats:
    """Return the pixels of each class that both have, then those that either has."""
    if mask.shape != right.shape:  # the nearest pixel, as classes have no mean
        rows, columns = (np.arange(to) * of // to for of, to in zip(mask.shape, right.shape, strict=True))
        mask = mask[rows][:, columns]
    counts = right != _IGNORED
    mask, right = mask[counts], right[counts]
    both = np.bincount(right[mask == right], minlength=number)[:number]
    of_mask = np.bincount(mask, minlength=number)[:number]
    either = of_mask + np.bincount(right, minlength=number)[:number] - both
    return np.concatenate([both, either]).astype(np.float64)


def _mean_ratio(sums: Floats) -> Floats:
    both, either = np.split(sums, 2, axis=-1)
    is_present = either > 0
    each = np.divide(both, either, out=np.zeros_like(both), where=is_present)
    means: Floats = each.sum(-1) / np.maximum(is_present.sum(-1), 1)
    return means

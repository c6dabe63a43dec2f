"""The task `embed`: whether the nearest other sample is of the same class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.errors import DataError
from polycmp_decide.scores import Floats, Scores, hits
from polycmp_decide.tasks.task import Array, TaskOptions, is_real, only_output

#: Samples whose nearest ones are looked for at the same time.
_CHUNK = 1024


class Embed:
    """Looks for the sample whose vector has the largest cosine with that of a sample.

    Args:
        options: What a user said.
    """

    measure = "nearest of the same label"

    def __init__(self, options: TaskOptions) -> None:
        self._output = options.output

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return vectors of length 1."""
        del feed
        _, array = only_output(outputs, self._output, _fits, "vectors [N, D]", "embed")
        vectors = array.reshape(array.shape[0], -1).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return [*np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)]

    def truth(self, label: Any) -> str:
        """Return the label unchanged."""
        return str(label)

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return hits.

        Raises:
            DataError: No two samples have the same label.
        """
        labels = np.asarray(truths)
        if len(set(truths)) == len(truths):
            raise DataError(
                "no two samples have the same label", whose="--labels",
                why="a vector is right where the nearest other one has the same label",
            )  # fmt: skip
        return hits(labels[_nearest(np.stack(new))] == labels, labels[_nearest(np.stack(old))] == labels)

    def shown(self, prediction: Any) -> str:
        """Return a label; a vector says nothing in few characters."""
        return prediction if isinstance(prediction, str) else ""


def _fits(array: Array) -> bool:
    return is_real(array) and array.ndim >= 2 and array.shape[0] * max(array.shape[1:]) == array.size


def _nearest(vectors: Floats) -> Array:
    """Return the place of the nearest other vector of each; of equally near ones the first, of NaN itself."""
    places = []
    for start in range(0, len(vectors), _CHUNK):
        cosines = vectors[start : start + _CHUNK] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, rows + start] = -np.inf
        places.append(np.where(np.isnan(cosines), -np.inf, cosines).argmax(1))
    return np.concatenate(places)

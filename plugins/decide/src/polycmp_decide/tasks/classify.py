"""The task `classify`: the class with the largest score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polycmp_decide.scores import Scores, hits
from polycmp_decide.tasks.task import Array, TaskOptions, class_of, is_real, no_class, only_output


class Classify:
    """Looks at the class with the largest score; of equal ones the first.

    Args:
        options: What a user said.
    """

    measure = "top-1"

    def __init__(self, options: TaskOptions) -> None:
        self._options = options
        self._count = 0

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return the classes."""
        del feed
        _, scores = only_output(
            outputs, self._options.output, _fits, "scores of two or more classes [N, C]", "classify"
        )
        self._count = scores.shape[1]
        rows = scores.reshape(scores.shape[0], scores.shape[1]).astype(np.float64)
        # NaN is no class: numpy's argmax would name the first of them.
        return [-1 if np.isnan(row).any() else int(row.argmax()) for row in rows]

    def truth(self, label: Any) -> int:
        """Return the number of the class."""
        return class_of(label, self._options.classes)

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return hits.

        Raises:
            DataError: A label is the number of no class that the model has.
        """
        right = np.asarray(truths)
        if self._count and right.max(initial=0) >= self._count:
            raise no_class(str(right.max()), f"the model has {self._count} classes, 0 to {self._count - 1}")
        return hits(np.asarray(new) == right, np.asarray(old) == right)

    def shown(self, prediction: Any) -> str:
        """Return the name of the class, or its number."""
        names = self._options.classes
        return "NaN" if prediction < 0 else names[prediction] if prediction < len(names) else str(prediction)


def _fits(array: Array) -> bool:
    return is_real(array) and array.ndim >= 2 and array.shape[1] > 1 and array.size == array.shape[0] * array.shape[1]

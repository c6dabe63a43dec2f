"""The task `tokens`: the token with the largest score, at each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.errors import DataError
from polycmp_decide.scores import Scores, ratios
from polycmp_decide.tasks.task import Array, TaskOptions, class_of, only_output, scores_places

#: What programs that train write where nothing is to be learnt.
_IGNORED = "-100"


class Tokens:
    """Looks at the token with the largest score at each place; a sample is a sequence.

    Args:
        options: What a user said.
    """

    measure = "top-1 of tokens"

    def __init__(self, options: TaskOptions) -> None:
        self._options = options

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return the tokens of each sequence."""
        del feed
        _, scores = only_output(outputs, self._options.output, scores_places, "scores of tokens [N, T, V]", "tokens")
        return [np.where(np.isnan(of).any(-1), -1, of.argmax(-1)) for of in scores.astype(np.float64)]

    def truth(self, label: Any) -> Array:
        """Return the tokens of a label; -1 where there is nothing to be right."""
        words = str(label).split()
        return np.array([-1 if word == _IGNORED else class_of(word, self._options.classes) for word in words], np.int64)

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return the share of places that are right.

        Raises:
            DataError: A label has another number of tokens than there are places.
        """
        return ratios(
            _counts(new, truths), _counts(old, truths), lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1)
        )

    def shown(self, prediction: Any) -> str:
        """Return the first tokens."""
        return " ".join(map(str, prediction[:8])) + (" …" if len(prediction) > 8 else "")


def _counts(predictions: Sequence[Array], truths: Sequence[Array]) -> list[tuple[int, int]]:
    counts = []
    for number, (tokens, right) in enumerate(zip(predictions, truths, strict=True)):
        if tokens.shape != right.shape:
            raise DataError(
                f"{len(right)} tokens are right, and {len(tokens)} places have scores", whose=f"sample {number}",
                hint=f"write {_IGNORED} where nothing is to be right",
            )  # fmt: skip
        counts.append((int(((tokens == right) & (right >= 0)).sum()), int((right >= 0).sum())))
    return counts

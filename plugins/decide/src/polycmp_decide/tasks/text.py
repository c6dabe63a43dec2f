"""The tasks `ocr` and `asr`: texts in the scores that a network trained with CTC gives, read greedily."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polycmp.errors import DataError, PluginError, UsageError, describe_exception
from polycmp_decide.scores import Scores, ratios
from polycmp_decide.tasks.task import Array, TaskOptions, only_output, scores_places

#: Names that vocabularies have for the class that stands for no character.
_BLANKS = ("<blank>", "<pad>", "[PAD]")


class Characters:
    """Counts characters that are wrong, beside those that are right.

    Args:
        options: What a user said.

    Raises:
        UsageError: The classes, which are the characters, were not given.
    """

    measure = "characters"
    task = "ocr"

    def __init__(self, options: TaskOptions) -> None:
        self._output, self._characters = options.output, options.classes
        if not self._characters:
            raise UsageError(
                "which characters?", whose=f"--task {self.task}",
                hint="--classes FILE, with a character in each line, in the model's order",
            )  # fmt: skip

    def predictions(self, outputs: Mapping[str, Any], feed: Mapping[str, Any]) -> list[Any]:
        """Return the texts."""
        del feed
        form = "scores of characters [N, T, C] or [T, N, C]"
        _, scores = only_output(outputs, self._output, scores_places, form, self.task)
        if scores.shape[1] == 1 and scores.shape[0] > 1:
            scores = scores.transpose(1, 0, 2)
        names, blank = self._vocabulary(scores.shape[2])
        return [self._text(row, names, blank) for row in scores.astype(np.float64).argmax(-1)]

    def _vocabulary(self, number: int) -> tuple[Sequence[str], int]:
        """Return the characters by class, and the class that is none."""
        known = self._characters
        blank = next((known.index(name) for name in _BLANKS if name in known), None)
        if number == len(known) + 1 and blank is None:
            return ("", *known), 0
        if number != len(known) or blank is None:
            raise DataError(
                f"{len(known)} characters, and the model has {number} classes", whose="--classes",
                why="of these the one that is no character is called <blank>, or is the first and has no line",
            )  # fmt: skip
        return known, blank

    def _text(self, classes: Array, names: Sequence[str], blank: int) -> str:
        changes = classes[np.append(True, classes[1:] != classes[:-1])]
        return "".join(names[item] for item in changes if item != blank)

    def truth(self, label: Any) -> str:
        """Return the text."""
        return str(label)

    def scores(self, new: Sequence[Any], old: Sequence[Any], truths: Sequence[Any]) -> Scores:
        """Return 1 less the error rate, which may be below 0."""
        new_errors, old_errors = (
            [self._errors(right, text) for text, right in zip(side, truths, strict=True)] for side in (new, old)
        )
        return ratios(new_errors, old_errors, lambda sums: 1 - sums[..., 0] / np.maximum(sums[..., 1], 1))

    def _errors(self, right: str, text: str) -> tuple[int, int]:
        """Return the number of errors, and how long the right text is."""
        try:
            import jiwer
        except ImportError as error:
            raise PluginError(
                "counting errors in texts needs jiwer", whose="decide", why=describe_exception(error),
                hint="pip install 'polycmp-decide[text]'",
            ) from error  # fmt: skip
        if not right:
            return len(self._parts(text)), 0
        alignment = self._aligned(jiwer, right, text)
        wrong = alignment.substitutions + alignment.deletions
        return wrong + alignment.insertions, wrong + alignment.hits

    def _aligned(self, jiwer: Any, right: str, text: str) -> Any:
        return jiwer.process_characters(right, text)

    def _parts(self, text: str) -> Sequence[str]:
        return text

    def shown(self, prediction: Any) -> str:
        """Return the beginning of the text."""
        text = str(prediction)
        return text if len(text) <= 40 else text[:40] + "…"


class Words(Characters):
    """Counts words that are wrong, beside those that are right; the character `|` is a space."""

    measure = "words"
    task = "asr"

    def _text(self, classes: Array, names: Sequence[str], blank: int) -> str:
        return " ".join(super()._text(classes, names, blank).replace("|", " ").split())

    def _aligned(self, jiwer: Any, right: str, text: str) -> Any:
        return jiwer.process_words(right, text)

    def _parts(self, text: str) -> Sequence[str]:
        return text.split()

"""Texts of samples: characters that repeat, and errors over all samples."""

from __future__ import annotations

import numpy as np
import pytest
from task_outputs import only, totals

from polycmp.errors import DataError
from polycmp_decide.tasks import TaskOptions, make_task


def test_characters_that_repeat_are_one_unless_the_blank_is_between_them():
    task = make_task("ocr", TaskOptions(classes=("a", "b", "l")))
    classes = [1, 1, 0, 3, 3, 0, 3, 2]
    scores = np.eye(4)[classes]
    assert task.predictions(only(scores[None]), {}) == ["allb"]
    assert task.predictions(only(scores[:, None]), {}) == ["allb"]
    named = make_task("asr", TaskOptions(classes=("<pad>", "a", "|", "b")))
    assert named.predictions(only(np.eye(4)[[[1, 0, 2, 2, 3, 1]]]), {}) == ["a ba"]


def test_errors_in_texts_are_counted_over_all_samples():
    pytest.importorskip("jiwer")
    characters = make_task("ocr", TaskOptions(classes=("a",)))
    # kitten to sitting takes three, of six characters; nothing is wrong in the other six.
    found = characters.scores(["sitting", "bottle"], ["kitten", "bottle"], ["kitten", "bottle"])
    assert found.totals == (1 - 3 / 12, 1.0)
    assert found.new.tolist() == [0.5, 1.0]
    words = make_task("asr", TaskOptions(classes=("a",)))
    assert totals(words, ["the cat"], ["the cat sat"], ["the cat sat"]) == (pytest.approx(2 / 3), 1.0)
    assert totals(words, ["more"], [""], [""]) == (0.0, 1.0)


def test_another_number_of_characters_is_told():
    with pytest.raises(DataError, match="3 characters, and the model has 7 classes"):
        make_task("ocr", TaskOptions(classes=("a", "b", "c"))).predictions(only(np.zeros((1, 4, 7))), {})

"""Pixels of samples, scored as scikit-learn does."""

from __future__ import annotations

import numpy as np
import pytest
from task_outputs import only, totals

from polycmp_decide.tasks import TaskOptions, make_task


def test_ratios_of_pixels_are_those_of_scikit_learn(tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    task = make_task("segment", TaskOptions())
    scores = rng.random((4, 3, 8, 8))
    right = rng.integers(0, 3, (4, 8, 8))
    truths = []
    for number, mask in enumerate(right):
        image.fromarray(mask.astype(np.uint8)).save(tmp_path / f"{number}.png")
        truths.append(task.truth(str(tmp_path / f"{number}.png")))
    new = task.predictions(only(scores), {})
    found = task.scores(new, new, truths)
    expected = metrics.jaccard_score(right.ravel(), scores.argmax(1).ravel(), average="macro")
    assert found.totals[0] == pytest.approx(expected, abs=1e-12)
    one = metrics.jaccard_score(right[0].ravel(), scores[0].argmax(0).ravel(), average="macro")
    assert found.new[0] == pytest.approx(one, abs=1e-12)


def test_pixels_that_do_not_count_and_other_sizes():
    task = make_task("segment", TaskOptions())
    small = task.predictions(only(np.array([[[0, 1], [1, 0]]])), {})
    right = np.repeat(np.repeat(np.array([[0, 1], [0, 255]]), 2, 0), 2, 1).astype(np.uint8)
    # Class 0: 4 of 8 pixels; class 1: 4 of 8.
    assert totals(task, small, small, [right])[0] == 0.5

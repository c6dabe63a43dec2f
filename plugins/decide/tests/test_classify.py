"""Classes of samples: the first of equal scores, and labels that are none."""

from __future__ import annotations

import numpy as np
import pytest
from task_outputs import only, totals

from polycmp.errors import DataError
from polycmp_decide.tasks import TaskOptions, make_task


def test_the_first_of_equal_scores_is_the_class_and_nan_is_none():
    task = make_task("classify", TaskOptions())
    nan = np.nan
    assert task.predictions(only([[1.0, 3, 3], [nan, 0, 0]]), {}) == [1, -1]
    assert task.shown(-1) == "NaN"
    assert task.predictions(only(np.array([[1, 2.0]]).reshape(1, 2, 1, 1)), {}) == [1]
    assert totals(task, [1, -1], [1, 0], [1, 0]) == (0.5, 1.0)


def test_labels_that_are_no_class_are_told():
    with pytest.raises(DataError, match="'cat' is no class"):
        make_task("classify", TaskOptions()).truth("cat")
    assert make_task("classify", TaskOptions(classes=("dog", "cat"))).truth("cat") == 1

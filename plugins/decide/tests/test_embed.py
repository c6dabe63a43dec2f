"""Vectors of samples: right where the nearest other one has the same label."""

from __future__ import annotations

import numpy as np
import pytest
from task_outputs import only, totals

from polycmp.errors import DataError
from polycmp_decide.tasks import TaskOptions, make_task


def test_a_vector_is_right_where_the_nearest_other_one_has_its_label():
    task = make_task("embed", TaskOptions())
    good = task.predictions(only([[1.0, 0], [2, 0.1], [0, 1], [0.1, 3]]), {})
    bad = task.predictions(only([[1.0, 0], [0, 1], [0.1, 3], [2, 0.1]]), {})
    truths = ["a", "a", "b", "b"]
    assert totals(task, bad, good, truths) == (0.0, 1.0)
    with pytest.raises(DataError, match="no two samples"):
        task.scores(good, good, ["a", "b", "c", "d"])


def test_nearest_vectors_are_those_of_scikit_learn():
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(300, 8)).astype(np.float32), rng.integers(0, 4, 300)
    nearest = neighbors.NearestNeighbors(metric="cosine").fit(vectors).kneighbors(n_neighbors=1, return_distance=False)
    task = make_task("embed", TaskOptions())
    mine = task.predictions(only(vectors), {})
    found = task.scores(mine, mine, [str(label) for label in labels])
    assert found.new.tolist() == (labels[nearest[:, 0]] == labels).astype(float).tolist()

"""Tokens of samples: places without a label do not count."""

from __future__ import annotations

import numpy as np
import pytest
from task_outputs import only

from polycmp.errors import DataError
from polycmp_decide.tasks import TaskOptions, make_task


def test_places_without_a_label_do_not_count():
    task = make_task("tokens", TaskOptions())
    scores = np.eye(5)[[[1, 2, 3], [4, 4, 0]]]
    new = task.predictions(only(scores), {})
    truths = [task.truth("1 2 4"), task.truth("-100 4 -100")]
    found = task.scores(new, new, truths)
    assert found.new.tolist() == [2 / 3, 1.0]
    assert found.totals == (0.75, 0.75)
    with pytest.raises(DataError, match="2 tokens are right, and 3 places"):
        task.scores(new, new, [task.truth("1 2"), truths[1]])

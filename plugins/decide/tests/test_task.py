"""What all tasks share: the output that is meant."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import UsageError
from polycmp_decide.tasks import TaskOptions, make_task


def test_several_outputs_that_may_be_meant_are_told():
    task = make_task("classify", TaskOptions())
    outputs = {"a": np.zeros((1, 3)), "b": np.zeros((1, 5))}
    with pytest.raises(UsageError, match="a, b") as raised:
        task.predictions(outputs, {})
    assert raised.value.hint == "--output a"
    assert make_task("classify", TaskOptions("b")).predictions(outputs, {}) == [0]

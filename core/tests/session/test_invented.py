"""Numbers that were made up, told from those that somebody gave."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp._builtin_options import RandomOptions
from polycmp.plan import Choice, DataPlan
from polycmp.session.invented import invented_numbers

FEED = {"audio": np.zeros((1, 4), np.float32), "fmin": np.float32(0.25), "steps": np.array([3])}


def drawn(**options) -> DataPlan:
    return DataPlan(loader=Choice("random", RandomOptions(**options)))


@pytest.mark.parametrize(
    ("data", "invented"),
    [
        (drawn(), {"fmin": 0.25, "steps": 3.0}),
        (drawn(val_range={"fmin": (1.0, 2.0)}), {"steps": 3.0}),
        (drawn(val_range={"": (1.0, 2.0)}), {}),
        (DataPlan(files=("x.npz",)), {}),
        (DataPlan(script="feeds.py"), {}),
    ],
)
def test_single_numbers_of_the_default_loader_are_made_up_unless_a_range_is_given(data, invented):
    assert invented_numbers(FEED, data) == invented

"""Names of outputs that may belong together, by their values."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.runs.output_pairs import suggest_output_names


@pytest.mark.parametrize("known", [{}, {"a": "p"}])
def test_the_closest_values_belong_together(known):
    rng = np.random.default_rng(1)
    values = {name: rng.random(100, np.float32) for name in ("p", "q", "r")}
    mine = {"c": values["r"] * 1.01, "b": values["q"], "a": values["p"] + 1e-4}
    wanted = {"c": "r", "b": "q", "a": "p"}
    found = suggest_output_names(mine, values, known)
    assert found == {name: other for name, other in wanted.items() if name not in known}


def test_nothing_is_said_of_outputs_of_other_shapes_or_kinds():
    mine = {"a": np.zeros((2, 3), np.float32), "b": np.zeros(2, np.int64)}
    assert suggest_output_names(mine, {"c": np.zeros((3, 2), np.float32), "d": np.zeros(2, bool)}, {}) == {}

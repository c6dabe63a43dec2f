"""What a reduced model's own types do to tensors and weights."""

from __future__ import annotations

import json
from pathlib import Path

import low_precision_models as low_precision
import numpy as np
import pytest

from polycmp_locate.precision.rank.codes import _fitting


def test_steps_and_the_range_of_the_small_type_are_told(polycmp, models):
    words = models(low_precision.qdq, 1.0, layers=4, outlier=0)
    polycmp("locate", *words, "--rank", "--atol", "1", "--allow-blind", "--report", "found.json")
    layers = json.loads(Path("found.json").read_text())["layers"]
    matmul = next(item for item in layers if item["name"] == "matmul2")
    assert 0 <= matmul["more_steps_off"] <= 0.1
    assert 0 < matmul["one_step_off"] < 1
    assert all(0 < item["range_used"] <= 1 for item in matmul["types"])


@pytest.mark.parametrize(
    ("zero", "shape", "fitting"),
    [
        (None, (2, 3), 0),
        ([7], (2, 3), [7]),
        ([1, 2], (2, 3), [[1], [2]]),
        ([1, 2, 3], (2, 3), [[1, 2, 3]]),
        ([1, 2, 3], (2, 3, 4), [[[1], [2], [3]]]),
    ],
)
def test_codes_of_0_lie_along_the_axis_of_as_many_elements(zero, shape, fitting):
    found = _fitting(None if zero is None else np.array(zero, np.int8), shape)
    assert np.array_equal(found, fitting)
    assert np.broadcast_shapes(np.shape(found), shape) == shape

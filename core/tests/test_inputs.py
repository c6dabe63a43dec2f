"""Inputs that a plan asks for: where they come from, in which shapes, and what to type where those may be wrong."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp._builtin_options import RandomOptions
from polycmp._inputs import PlanSource
from polycmp.plan import Choice, DataPlan
from polycmp.plugins import Registry
from polycmp.tensors import TensorMetadata

RANDOM, TWICE = Choice("random", RandomOptions()), Choice("random", RandomOptions(iterations=2))


def test_a_failure_on_sizes_that_nobody_tried_says_which_are_open():
    source = PlanSource(DataPlan(RANDOM), Registry.discover())
    list(source(TensorMetadata().add("input", np.float32, [1, -1, 3]).add("sr", np.int64, [])))
    assert source.suggestion() == "if the sizes chosen here are why, give others for N: --input-shapes input:[1,N,3]"
    list(source(TensorMetadata().add("input", np.float32, None)))
    assert "the model does not say the shape of 'input'" in source.suggestion()
    list(source(TensorMetadata().add("input", np.float32, [1, 3])))
    assert source.suggestion() == ""


@pytest.mark.parametrize(
    ("plan", "shapes"),
    [
        (DataPlan(RANDOM), [[1, 3]]),
        (DataPlan(RANDOM, input_shapes={"x": (2, 5)}), [[2, 5]]),
        (DataPlan(TWICE, input_shapes={"x": (2, 5)}, further_shapes=({"x": (4, 5)},)), [[2, 5], [4, 5]]),
    ],
)
def test_open_dimensions_get_the_sizes_that_were_asked_for(plan, shapes):
    source = PlanSource(plan, Registry.discover())
    inputs = TensorMetadata().add("x", np.float32, ["n", 3 if not plan.input_shapes else "m"])
    feeds = [feed["x"] for _, feed in zip(shapes, source(inputs), strict=False)]
    assert [list(array.shape) for array in feeds] == shapes
    assert {array.dtype for array in feeds} == {np.dtype(np.float32)}


def test_the_same_seed_gives_the_same_numbers():
    def drawn(seed):
        source = PlanSource(DataPlan(Choice("random", RandomOptions(seed=seed))), Registry.discover())
        return next(iter(source(TensorMetadata().add("x", np.float32, [8]))))["x"].tolist()

    assert drawn(1) == drawn(1) != drawn(2)

"""What a reference makes of tensors and weights that are rounded to steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from polycmp.precision import UNITS
from polycmp_locate.measure.requantised import requantised
from polycmp_locate.pairing.parts import PartNode

#: The half of the largest step that 4 bits have, relative to the largest magnitude.
UNIT4 = 1 / 16


class Graph:
    """Holds weights."""

    def __init__(self, weights):
        self.held = weights
        self.weights = {name: array.nbytes for name, array in weights.items()}

    def values(self, names):
        return {name: self.held[name] for name in names}


class Reference:
    """Keeps what it is fed, and makes nothing of it but the one tensor that is asked for."""

    def __init__(self, weights=None, fails=False):
        self.graph, self.fed, self.fails = Graph(weights or {}), [], fails

    def run_part(self, feed, names):
        self.fed.append(feed)
        return None if self.fails else {names[0]: next(iter(feed.values()))}


def fed(weights=None, inputs=None, **node):
    """Return what the reference was fed in each run."""
    reference = Reference(weights)
    values = {"outputs": ("y",), "weights": tuple(weights or ()), "unit": UNITS["int8"], **node}
    made = list(requantised(reference, PartNode("MatMul", "n", **values), inputs or {}))
    assert len(made) == len(reference.fed)
    return reference.fed


def steps_in(array, step):
    """Return by how many steps numbers are from the nearest multiples of one, at most."""
    places = array.astype(np.float64) / step
    return np.abs(places - np.rint(places)).max()


def test_inputs_have_255_levels_between_their_ends_and_0_is_one_of_them():
    x = np.random.default_rng(0).uniform(-1.0, 3.0, 1000).astype(np.float32)
    x[:3] = 0.0, -1.0, 3.0
    runs = [feed["x"] for feed in fed(inputs={"x": x})]
    step = 4.0 / 255
    assert len(runs) == 4
    for made in runs:
        assert (made.dtype, made[0]) == (np.float32, 0.0)
        assert steps_in(made, step) < 1e-3
        assert np.abs(made - x).max() <= step
    assert np.abs(runs[0] - x).max() <= step / 2 + 1e-6  # the first is rounded to the nearest
    assert not any(np.array_equal(one, other) for one, other in pairwise(runs))


def test_weights_have_as_many_levels_on_both_sides_of_0():
    w = np.linspace(-1.0, 3.0, 4001, dtype=np.float32)
    made = fed(weights={"w": w})[0]["w"]
    assert steps_in(made, 6.0 / 255) < 1e-3
    assert steps_in(made, 4.0 / 255) > 0.1


def test_weights_are_rounded_as_they_are_once_a_factor_of_each_slice_is_multiplied_in():
    w = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 500)).astype(np.float32)
    w[:, 0] = 1.0
    made = fed(weights={"w": w}, folded={"w": np.array([1.0, 100.0])})[0]["w"]
    step = 2 * 100.0 / 255
    assert steps_in(made[0], step) < 1e-3
    assert steps_in(made[1], step / 100) < 1e-3
    assert len(np.unique(made[0])) <= 3 < len(np.unique(made[1]))


@pytest.mark.parametrize("factors", [np.array([1.0, 0.0]), np.array([1.0, 2.0, 3.0])])
def test_a_factor_that_cannot_be_divided_out_again_is_left_out(factors):
    w = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 500)).astype(np.float32)
    assert np.array_equal(fed(weights={"w": w}, folded={"w": factors})[0]["w"], fed(weights={"w": w})[0]["w"])


def test_weights_of_few_bits_have_steps_for_each_block():
    """Two columns of five rows in blocks of 4; the second column is 0 in its first block."""
    w = np.array([[8.0, 0], [1.2, 0], [-8.0, 0], [0.3, 0], [80.0, 0.8]], np.float32)
    made = fed(weights={"w": w}, unit=UNIT4, attributes={"block_size": 4})[0]["w"]
    np.testing.assert_allclose(made, [[8, 0], [1, 0], [-8, 0], [0, 0], [80, 0.8]], rtol=1e-6)


def test_without_the_size_of_blocks_or_real_weights_nothing_is_tried():
    w = np.ones((4, 2), np.float32)
    assert fed(weights={"w": w}, unit=UNIT4) == []
    assert fed(weights={"w": w.astype(np.int8)}, unit=UNIT4, attributes={"block_size": 4}) == []


@pytest.mark.parametrize("x", [np.arange(4), np.zeros((0, 4), np.float32), np.array([1.3, -3.4e38], np.float32)])
def test_whole_numbers_nothing_and_numbers_beside_masks_stay(x):
    assert fed(inputs={"x": x})[0]["x"] is x


def test_a_reference_that_fails_is_asked_once():
    reference = Reference(fails=True)
    node = PartNode("Relu", "n", outputs=("y",), unit=UNITS["int8"])
    assert list(requantised(reference, node, {"x": np.ones(2, np.float32)})) == []
    assert len(reference.fed) == 1

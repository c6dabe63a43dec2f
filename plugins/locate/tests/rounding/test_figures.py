"""Figures of a tensor: whether its rows are off by one factor."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp_locate.rounding.figures import gain


class TestGain:
    RNG = np.random.default_rng(0)
    VALUES = RNG.standard_normal((4, 64))

    @pytest.mark.parametrize("shape", [(4, 64), (4, 8, 8), (256,)])
    def test_a_row_off_by_one_factor(self, shape):
        values = self.VALUES.reshape(shape)
        made = values.copy()
        made[-1:] = made[-1:] * 1.004 if len(shape) > 1 else made[-1:]
        made = made if len(shape) > 1 else values * 1.004
        assert gain(made, values) == pytest.approx(0.004)

    def test_rounding_is_none(self):
        assert gain(self.VALUES.astype(np.float16), self.VALUES) == 0.0
        assert gain(self.VALUES + 0.01 * self.RNG.standard_normal((4, 64)), self.VALUES) == 0.0

    def test_a_few_numbers_that_outweigh_the_rest_tell_nothing(self):
        values = np.where(np.arange(64) < 15, 1.0, 1e-3)
        assert gain(values * 1.004, values) == 0.0

    @pytest.mark.parametrize("values", [np.zeros((0, 3)), np.zeros((2, 64)), np.full((2, 64), np.inf), np.float64(1)])
    def test_nothing_to_tell_it_by(self, values):
        assert gain(np.asarray(values) * 2, np.asarray(values)) == 0.0

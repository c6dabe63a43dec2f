"""Tensors that are moved by one unit."""

from __future__ import annotations

import numpy as np

from polycmp_locate.rounding.perturbing import one_ulp_apart


def test_nudging_moves_every_real_number_by_one_unit_up_and_down_in_turn():
    x = np.array([[1, 1], [np.inf, -2]], np.float32)
    moved = one_ulp_apart({"x": x, "k": np.array([3])})
    step = np.float32(2) ** -23
    assert moved["x"].tolist() == [[1 + step, 1 - step / 2], [np.inf, -2 - 2 * step]]
    assert moved["k"].tolist() == [3]
    assert x[0, 0] == 1

"""Scales of a tensor: which slices are channels with numbers of a size of their own."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.compare import scales_of

RANDOM = np.random.default_rng(0)


def along(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Return numbers of which a quarter of the slices along an axis are a million times as small as the others."""
    made = RANDOM.uniform(0.5, 1.0, shape)
    cut = [slice(None)] * len(shape)
    cut[axis] = slice(0, shape[axis] // 4)
    made[tuple(cut)] *= 1e-6
    return made.astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((16, 64), 0), ((16, 64), 1), ((1, 84, 50), 1), ((1, 50, 84), 2), ((1, 16, 8, 8), 1), ((1, 32, 32, 8), 3),
     ((1, 3, 8, 8, 85), 4)],
)  # fmt: skip
def test_channels_may_have_scales_of_their_own(shape, axis):
    scales = scales_of(along(shape, axis))
    assert (scales.axis, scales.count) == (axis, 2)


@pytest.mark.parametrize(("shape", "axis"), [((1, 1, 32, 48), 2), ((1, 1, 32, 48), 3), ((1, 3, 32, 32), 2)])
def test_rows_and_columns_of_a_picture_are_no_channels(shape, axis):
    """A map of where text is holds next to nothing in rows without text, and that is no output of its own."""
    assert scales_of(along(shape, axis)).count == 1

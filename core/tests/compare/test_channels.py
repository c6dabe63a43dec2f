"""Channels that hold one number in the candidate alone."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.compare.channels import channel_axis, dead_channels, describe_dead

REFERENCE = np.random.default_rng(0).uniform(0.5, 1.0, (2, 4, 3, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((2, 4, 3, 3), 1),
        ((1, 3, 8), 1),
        ((4,), None),  # a channel of one element is always constant
        ((2, 4), None),  # rows and columns are no channels
        ((2, 1, 8), None),  # one channel is the tensor
        ((1, 4, 7), None),  # too few elements to mean anything
        ((), None),
    ],
)
def test_channels_lie_along_the_second_axis(shape, axis):
    assert channel_axis(shape) == axis


def changed(*channels, value=0.0):
    candidate = REFERENCE.copy()
    candidate[:, list(channels)] = value
    return candidate


@pytest.mark.parametrize(
    ("candidate", "dead", "words"),
    [
        (REFERENCE, None, ""),
        (changed(2), [2], "1 of 4 channels"),
        (changed(0, 3), [0, 3], "2 of 4 channels"),
        (changed(1, value=0.7), [1], "one number each"),
    ],
    ids=["none", "one", "two", "no zeros"],
)
def test_a_channel_is_dead_where_it_varies_in_the_reference_alone(candidate, dead, words):
    mask = dead_channels(candidate, REFERENCE, 1, 0.05, 0.0)
    assert (None if mask is None else np.flatnonzero(mask).tolist()) == dead
    if mask is not None:
        assert words in describe_dead(mask, candidate, 1)


def test_a_channel_that_hardly_varies_in_the_reference_is_none():
    reference = REFERENCE.copy()
    reference[:, 2] = 1 + 1e-3 * REFERENCE[:, 2]
    assert dead_channels(changed(2), reference, 1, 0.05, 0.0) is None
    assert dead_channels(changed(2), reference, 1, 0.0, 1.0) is None
    assert dead_channels(changed(2), reference, 1, 0.0, 0.0) is not None


def test_whole_numbers_and_tensors_without_channels_have_none():
    assert dead_channels(changed(2).astype(np.int32), REFERENCE.astype(np.int32), 1, 0.05, 0.0) is None
    assert dead_channels(changed(2), REFERENCE, None, 0.05, 0.0) is None

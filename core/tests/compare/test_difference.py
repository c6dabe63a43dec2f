"""Differences of any two element types, beside Python's own numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.compare.difference import difference_of, is_extended

TINY = np.finfo(np.longdouble).tiny


def differences(candidate, reference):
    with np.errstate(all="ignore"):  # as the callers do
        return difference_of(candidate.dtype, reference.dtype)()(candidate, reference)


@pytest.mark.parametrize(
    ("candidate", "reference", "error", "size"),
    [
        (np.array([2**64 - 1], np.uint64), np.array([-(2**63)]), 2**64 - 1 + 2**63, 2**63),
        (np.array([-(2**63)]), np.array([2**63 - 1]), 2**64 - 1, 2**63 - 1),
        (np.array([True]), np.array([-3]), 4, 3),
        (np.array([127], np.int8), np.array([-128], np.int8), 255, 128),
        (np.array([3e38], np.float32), np.array([-3e38], np.float32), 2 * float(np.float32(3e38)), None),
        (np.array([1.0]).astype(ml_dtypes.bfloat16), np.array([-2.0], np.float16), 3, 2),
        (np.array([3 + 4j]), np.array([0j]), 5, 0),
        (np.array([3], np.complex64), np.array([-3.0]), 6, 3),
    ],
)
def test_no_difference_overflows_and_none_loses_its_sign(candidate, reference, error, size):
    errors, sizes = differences(candidate, reference)
    assert errors.dtype == sizes.dtype == np.float64
    assert errors[0] == float(error)
    assert size is None or sizes[0] == float(size)


@pytest.mark.skipif(not is_extended(np.dtype(np.longdouble)), reason="longdouble is float64 here")
def test_numbers_that_float64_does_not_hold_stay_different_and_finite():
    errors, _ = differences(np.array([TINY]), np.zeros(1, np.longdouble))
    assert errors[0] > 0
    _, sizes = differences(np.zeros(1), np.array([np.finfo(np.longdouble).max]))
    assert np.isfinite(sizes[0])
    assert is_extended(np.dtype(np.clongdouble))
    assert not is_extended(np.dtype(np.complex128))


def test_the_buffers_of_one_thread_serve_blocks_of_any_size():
    difference = difference_of(np.dtype(np.float32), np.dtype(np.float32))()
    for size in (8, 3, 12):
        a, b = np.arange(size, dtype=np.float32), np.full(size, 2, np.float32)
        errors, sizes = difference(a, b)
        assert errors.tolist() == np.abs(a - b).tolist()
        assert sizes.tolist() == b.tolist()

"""What each fault on demand does to numbers, held against its description."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import BackendError
from polycmp_checks.faults import ON_INPUT, ON_OUTPUTS, end_fatally, spoil
from polycmp_checks.plugin import FATAL, FAULTS


def spoiled(fault, values, dtype=np.float32):
    array = np.asarray(values, dtype)
    kept = array.copy()
    [found] = spoil(fault, {"t": array}).values()
    np.testing.assert_array_equal(array, kept, "the fault changed what it was given")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    return found


def test_every_fault_is_described_and_done():
    assert {*ON_INPUT, *ON_OUTPUTS, *FATAL} == set(FAULTS)


def test_fp16_keeps_what_float16_holds_and_rounds_the_rest():
    assert spoiled("fp16", [0.5, 1 + 2**-10, 1 + 2**-12, 1e5]).tolist() == [0.5, 1 + 2**-10, 1.0, np.inf]


def test_int32_loses_fractions_of_real_numbers_and_upper_bits_of_whole_ones():
    assert spoiled("int32", [1.75, -1.75, np.inf]).tolist()[:2] == [1.0, -1.0]
    assert np.isnan(spoiled("int32", [np.nan])[0])
    assert spoiled("int32", [2**40 + 3, 7], np.int64).tolist() == [3, 7]


def test_saturate_cuts_at_half_of_the_largest_finite_number():
    assert spoiled("saturate", [-8, -3, 1, 6, np.inf]).tolist() == [-4, -3, 1, 4, 4]
    assert spoiled("saturate", [100, -3], np.int8).tolist() == [50, -3]
    assert spoiled("saturate", np.zeros((0, 3))).size == 0


def test_ties_go_away_from_zero_behind_it():
    halves = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.25, 1.0], np.float32)
    assert np.round(spoiled("ties", halves)).tolist() == [1, 2, 3, -1, -3, 0, 1]


def test_nan_becomes_0_and_nothing_else_changes():
    assert spoiled("nan", [np.nan, np.inf, -1]).tolist() == [0, np.inf, -1]


def test_layout_is_that_of_the_last_axis_first():
    image = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    assert spoiled("layout", image).reshape(-1).tolist() == image.transpose(0, 3, 1, 2).reshape(-1).tolist()
    assert spoiled("layout", [[1, 2, 3], [4, 5, 6]]).tolist() == [[1, 4, 2], [5, 3, 6]]
    assert spoiled("layout", 5.0).tolist() == 5.0


def test_shuffle_reverses_the_last_axis():
    assert spoiled("shuffle", [[1, 2], [3, 4]]).tolist() == [[2, 1], [4, 3]]


def test_row_noise_differs_by_row_and_is_the_same_each_time():
    one, again = (spoiled("row-noise", np.ones((5, 3))) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert len(np.unique(one[:, 0])) == 5
    assert (one == one[:, :1]).all()
    assert np.abs(one - 1).max() <= 0.0101


@pytest.mark.parametrize("fault", [*ON_INPUT, *ON_OUTPUTS])
def test_what_a_fault_does_not_concern_is_handed_on(fault):
    text = np.array(["a", "b"], object)
    assert spoil(fault, {"t": text})["t"] is text


@pytest.mark.parametrize("fault", [fault for fault in [*ON_INPUT, *ON_OUTPUTS] if fault != "nan"])
def test_low_bit_types_are_spoiled_too(fault):
    import ml_dtypes

    array = np.linspace(-3, 3, 12).reshape(3, 4).astype(ml_dtypes.bfloat16)
    found = spoil(fault, {"t": array})["t"]
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    exact = {"fp16"}  # float16 holds what bfloat16 holds of such numbers
    assert np.array_equal(found.astype(np.float32), array.astype(np.float32)) == (fault in exact)


@pytest.mark.parametrize("fault", FATAL)
def test_fatal_faults_spare_a_process_that_is_no_worker(fault):
    with pytest.raises(BackendError, match="process of its own"):
        end_fatally(fault)

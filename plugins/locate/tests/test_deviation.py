"""How a constant of one file deviates from its counterpart in another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from ml_dtypes import bfloat16

from polycmp.graph import Constant
from polycmp_locate.network.deviation import deviation

FLOAT32 = 2.0**-24
WEIGHT = np.random.default_rng(0).standard_normal((8, 64))


def held(values: np.ndarray) -> Constant:
    return Constant("w", values.astype(np.float32), FLOAT32, np.asarray(2.0**-149), "float32")


def coded(codes: np.ndarray, steps: np.ndarray) -> Constant:
    return Constant("w", (codes * steps).astype(np.float32), 0.0, steps, "int8", coded=True)


def test_a_channel_that_was_pruned_has_no_code_and_lacks_none():
    """Observers make no step smaller than 1e-7, whatever a channel holds."""
    pruned = WEIGHT.copy()
    pruned[3] *= 1e-9
    steps = np.maximum(np.abs(pruned).max(axis=1, keepdims=True) / 127, 1e-7)
    assert deviation(coded(np.rint(pruned / steps), steps), held(pruned)) is None


def test_numbers_that_a_converter_to_float16_lifted_deviate_in_nothing():
    """onnxconverter-common makes 1e-7 of what is smaller, so that nothing becomes 0."""
    small = WEIGHT.copy()
    small[:, 3] = np.random.default_rng(1).uniform(1e-9, 3e-8, 8)
    lifted = np.where((small > 0) & (small < 1e-7), 1e-7, small).astype(np.float16)
    half = Constant("w", lifted.astype(np.float32), 2.0**-11, np.asarray(2.0**-24), "float16")
    assert deviation(half, held(small)) is None
    lifted[0, 3] = 1e-6
    assert deviation(replace(half, values=lifted.astype(np.float32)), held(small)) is not None


def test_a_channel_whose_step_is_beyond_all_that_it_holds_is_named():
    steps = np.abs(WEIGHT).max(axis=1, keepdims=True) / 127
    steps[3] = 100.0
    found = deviation(coded(np.rint(WEIGHT / steps), steps), held(WEIGHT))
    assert found is not None
    assert found.words.startswith("only 0 in place of up to")
    assert found.words.endswith("in 1 of 8 slices")


def test_a_bias_whose_small_numbers_are_rounded_to_0_by_steps_of_their_own_deviates_in_nothing():
    """A step for each number, as of a bias that is quantised by channels, has no slices to lose."""
    bias = WEIGHT[0]
    steps = np.full(bias.shape, 1e-6)
    bias = np.where(np.arange(bias.size) == 5, 4e-7, bias)
    assert deviation(coded(np.rint(bias / steps), steps), held(bias)) is None


def test_codes_of_16_bits_whose_scale_is_held_in_bfloat16_are_no_multiple():
    step = np.abs(WEIGHT).max() / 32767
    held_step = np.asarray(np.float64(bfloat16(step)))
    assert abs(held_step / step - 1) > 1e-4
    found = deviation(coded(np.rint(WEIGHT / step), held_step), held(WEIGHT))
    assert found is not None
    assert found.kind != "factor"


def test_codes_that_learnt_rounding_moved_are_not_called_another_order():
    step = np.asarray(0.25)
    codes = np.rint(WEIGHT / step) + np.random.default_rng(1).choice([-2, -1, 0, 1, 2], WEIGHT.shape)
    found = deviation(coded(codes, step), held(WEIGHT))
    assert found is not None
    assert found.kind == "other numbers"

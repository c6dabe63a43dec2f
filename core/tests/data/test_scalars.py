"""Single whole numbers with which models work."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp._builtin_options import RandomOptions
from polycmp.data.random import make_random, remarks
from polycmp.tensors import TensorEntry, TensorMetadata

WHOLE, REAL = np.dtype("i8"), np.dtype("f4")
NUMBERS = [
    ("sr", (), 16000),
    ("sample_rate", (1,), 16000),
    ("samplingRate", (), 16000),
    ("k", (), 2),
    ("num_steps", (1,), 2),
    ("input_lengths", (1,), 80),
    ("orig_target_sizes", (1, 2), [[80, 90]]),
]


@pytest.mark.parametrize("case", NUMBERS, ids=[case[0] for case in NUMBERS])
def test_a_single_number_is_what_its_name_says(case):
    name, shape, value = case
    inputs = TensorMetadata({"x": TensorEntry(REAL, (1, 3, 80, 90) if "sizes" in name else (1, 80))})
    inputs = TensorMetadata({**inputs, name: TensorEntry(WHOLE, shape), "last": TensorEntry(REAL, (3,))})
    (feed,) = make_random(RandomOptions())(inputs)
    assert np.array_equal(feed[name], np.broadcast_to(value, shape))
    assert "by its name" in remarks(RandomOptions(), inputs)[name]
    plain = TensorMetadata({**inputs, name: TensorEntry(np.dtype("i4"), shape, range=(0.0, 1.0))})
    (drawn,) = make_random(RandomOptions())(plain)
    assert np.array_equal(drawn["x"], feed["x"])  # nothing else is drawn otherwise
    (asked,) = make_random(RandomOptions(val_range={name: (7.0, 7.0)}))(inputs)
    assert (asked[name] == 7).all()


@pytest.mark.parametrize(("name", "dtype", "shape"), [("mask", "i8", ()), ("sr", "f4", ()), ("k", "i8", (5,))])
def test_other_numbers_are_drawn(name, dtype, shape):
    inputs = TensorMetadata({name: TensorEntry(np.dtype(dtype), shape)})
    (feed,) = make_random(RandomOptions())(inputs)
    assert ((feed[name] >= 0) & (feed[name] <= 1)).all()


def test_what_divides_is_not_zero():
    inputs = TensorMetadata({"n": TensorEntry(WHOLE, (1000,), role="divisor")})
    (feed,) = make_random(RandomOptions())(inputs)
    assert set(feed["n"]) == set(range(1, 9))
    assert "1 to 8" in remarks(RandomOptions(), inputs)["n"]

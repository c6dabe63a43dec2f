"""Outputs that tell nothing of a model, and single whole numbers with which models work."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp._builtin_options import RandomOptions, SimpleOptions
from polycmp.compare.blindness import silent_outputs
from polycmp.compare.pair import PairComparer
from polycmp.compare.simple import Simple
from polycmp.data.random import make_random, remarks
from polycmp.tensors import TensorEntry, TensorMetadata

NAN, INF = float("nan"), float("inf")
OUTPUTS = [
    ("next to nothing", np.linspace(-9e-8, 9e-8, 50, dtype=np.float32), True),
    ("the same everywhere", np.full(50, 0.5), True),
    ("the same whole number everywhere", np.full(50, 3), True),
    ("all false", np.zeros(3, bool), True),
    ("one that is next to nothing", np.array([1e-9]), True),
    ("real numbers", np.linspace(0, 1, 50), False),
    ("one element of many differs", np.r_[np.zeros(99_999), 1.0], False),
    ("one number", np.array([0.7]), False),
    ("one whole number", np.array(0), False),
    ("nothing at all", np.zeros((0, 3)), False),
    ("NaN", np.full(5, NAN), False),
    ("infinite", np.full(5, INF), False),
    ("text", np.array(["a", "a"], object), False),
]


@pytest.mark.parametrize("case", OUTPUTS, ids=[case[0] for case in OUTPUTS])
def test_which_outputs_say_nothing(case):
    _, array, silent = case
    functions = {"simple": Simple(SimpleOptions())}
    assert silent_outputs({"y": array}, functions) == (["y"] if silent else [])
    assert silent_outputs({"y": array}, functions, ["y"]) == []


@pytest.mark.parametrize(("atol", "silent"), [(1e-5, False), (0.5, True), (1e-12, False)])
def test_what_says_nothing_hangs_on_the_tolerance_as_the_verdict_does(atol, silent):
    outputs = {"y": np.random.default_rng(0).uniform(0.1, 0.4, (1, 64, 64)).astype(np.float32)}
    functions = {"simple": Simple(SimpleOptions(atol={"": atol}))}
    assert bool(silent_outputs(outputs, functions)) is silent
    comparer = PairComparer("a", "b", functions, accepted=())
    comparer.add(outputs, outputs)
    assert (comparer.result().inconclusive == "blind") is silent


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

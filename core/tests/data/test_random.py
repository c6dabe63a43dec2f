"""`random`: the numbers that the seed rule gives, for every element type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp._builtin_options import RandomOptions
from polycmp.data.random import make_random, remarks
from polycmp.data.shapes import apply_input_shapes
from polycmp.errors import UsageError
from polycmp.tensors import TensorEntry, TensorMetadata

INF = float("inf")

# Drawn with Polygraphy 0.53.6 and NumPy 2.4.6: DataLoader(seed=7, iterations=2, input_metadata={s: (7, 9)}, val_range=
# {"": (-1, 2), "i": (-5, 5), "u": (0, 200), "inf": (0, inf)}) for the inputs below.
EXPECTED = [
    {
        "x": [
            [-0.7710751295089722, 1.3397563695907593, 0.3152276873588562],
            [1.1703954935073853, 1.9339685440063477, 0.6154876351356506],
        ],
        "i": [3, 4, 5, 5],
        "b": [True, True, True, True, True],
        "h": [-0.9521484375, 0.58349609375, 1.6064453125],
        "u": [135, 177, 84, 172],
        "s": [7, 9],
        "d": [[0.1788269296125251, 1.022991268816864]],
        "inf": [INF, INF],
    },
    {
        "x": [
            [1.6202882528305054, 1.9056220054626465, 1.6075836420059204],
            [0.5925670862197876, -0.301815003156662, -0.9658035635948181],
        ],
        "i": [0, -4, -2, 5],
        "b": [True, True, True, True, True],
        "h": [1.6162109375, 1.779296875, -0.560546875],
        "u": [93, 85, 151, 179],
        "s": [7, 9],
        "d": [[1.282686726808787, 1.1371237222462738]],
        "inf": [INF, INF],
    },
]


def metadata():
    return (
        TensorMetadata()
        .add("x", "float32", (2, 3))
        .add("i", "int64", (4,))
        .add("b", "bool", (5,))
        .add("h", "float16", (3,))
        .add("u", "uint8", (4,))
        .add("s", "int32", (2,))
        .add("d", "float64", ("n", 2))
        .add("inf", "float32", (2,))
    )


def test_the_numbers_are_those_of_polygraphy():
    ranges = {"": (-1, 2), "i": (-5, 5), "u": (0, 200), "inf": (0, INF)}
    load = make_random(RandomOptions(seed=7, iterations=2, val_range=ranges))
    feeds = list(load(apply_input_shapes(metadata(), {"s": (7, 9)})))
    assert [{name: array.tolist() for name, array in feed.items()} for feed in feeds] == EXPECTED
    assert {name: array.dtype for name, array in feeds[0].items()} == {
        name: entry.dtype for name, entry in metadata().items()
    }


def one(dtype, shape=(64,), **options):
    inputs = TensorMetadata().add("x", dtype, shape)
    return next(iter(make_random(RandomOptions(**options))(inputs)))["x"]


def test_iterations_differ_and_repeat():
    inputs = TensorMetadata().add("x", "float32", (8,))
    load = make_random(RandomOptions(iterations=3))
    first, again = ([feed["x"].tolist() for feed in load(inputs)] for _ in range(2))
    assert first == again
    assert len({tuple(item) for item in first}) == 3
    shifted = next(iter(make_random(RandomOptions(seed=2))(inputs)))["x"].tolist()
    assert shifted == first[1]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8e4m3fn", "float8e5m2", "float4e2m1", "complex64", "float64"])
def test_low_bit_and_complex_types(dtype):
    array = one(dtype, val_range={"": (-2, 2)})
    numbers = array.astype(np.complex128 if dtype == "complex64" else np.float64)
    assert array.shape == (64,)
    assert len(np.unique(numbers)) > 3
    assert np.abs(numbers.real).max() <= 2


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8", "uint8", "int64", "uint64"])
def test_whole_numbers_include_both_ends(dtype):
    assert set(one(dtype).astype(int).tolist()) == {0, 1}
    assert set(one(dtype, val_range={"x": (2, 4)}).astype(int).tolist()) == {2, 3, 4}


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "int4"])
def test_the_whole_range_of_a_type_can_be_asked_for(dtype):
    info = ml_dtypes.iinfo(one(dtype).dtype)
    array = one(dtype, val_range={"": (float(info.min), float(info.max))})
    assert len(set(array.astype(object).tolist())) > 8


@pytest.mark.parametrize(("dtype", "bounds"), [("uint8", (-1, 5)), ("int4", (0, 8)), ("int32", (0, INF))])
def test_a_range_outside_the_type_is_an_error_with_a_range_that_fits(dtype, bounds):
    with pytest.raises(UsageError, match=dtype) as caught:
        one(dtype, val_range={"": bounds})
    assert "--val-range x:[0," in caught.value.hint


def test_text_and_unknown_types_have_sensible_values():
    assert one("string", (2, 2)).tolist() == [["0", "1"], ["2", "3"]]
    assert one(None, (2,)).dtype == np.float32


def test_a_range_for_an_input_nobody_has_is_wrong_usage():
    load = make_random(RandomOptions(val_range={"imge": (0, 1)}))
    with pytest.raises(UsageError, match="imge") as caught:
        load(TensorMetadata().add("image", "float32", (1,)))
    assert "'image'" in caught.value.why


def test_unknown_dimensions_take_the_smallest_shape_the_backend_says():
    inputs = TensorMetadata().add("x", "float32", ("n", 3), min_shape=(4, 3), max_shape=(8, 3))
    assert next(iter(make_random(RandomOptions())(inputs)))["x"].shape == (4, 3)


def test_torch_tensors_keep_to_the_range():
    torch = pytest.importorskip("torch")
    options = {"backend_module": "torch", "val_range": {"": (-3, -1)}}
    array = one("float32", **options)
    assert isinstance(array, torch.Tensor)
    assert -3 <= float(array.min()) <= float(array.max()) <= -1
    generator = torch.Generator()
    generator.manual_seed(1)
    assert torch.equal(array, torch.rand(64, generator=generator) * 2 - 3)


@pytest.mark.parametrize("dtype", ["bool", "int64", "int8", "float16", "bfloat16", "float64"])
def test_torch_makes_every_element_type_that_it_has(dtype):
    torch = pytest.importorskip("torch")
    array = one(dtype, backend_module="torch")
    assert array.dtype == getattr(torch, dtype)
    assert 0 <= float(array.min()) <= float(array.max()) <= 1


def ranged(dtype, shape, span):
    return TensorMetadata({"ids": TensorEntry(np.dtype(dtype), shape, range=span)})


def test_indices_are_drawn_from_the_rows_of_their_table():
    [feed] = make_random(RandomOptions())(ranged("int64", (4, 64), (0.0, 30521.0)))
    assert (feed["ids"].min() >= 0, feed["ids"].max() <= 30521, len(np.unique(feed["ids"])) > 200) == (True, True, True)
    [feed] = make_random(RandomOptions(val_range={"ids": (3, 5)}))(ranged("int64", (4, 64), (0.0, 30521.0)))
    assert set(feed["ids"].reshape(-1)) == {3, 4, 5}


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
def test_masks_are_ones_with_padding_at_the_end(dtype):
    inputs = TensorMetadata().add("attention_mask", dtype, (16, 9))
    [feed] = make_random(RandomOptions())(inputs)
    rows = feed["attention_mask"].astype(int)
    assert set(rows[:, 0]) == {1}
    assert set(rows[:, -1]) == {0}
    assert (np.diff(rows, axis=1) <= 0).all()
    assert len(set(rows.sum(axis=1))) > 1
    [free] = make_random(RandomOptions(val_range={"attention_mask": (1, 1)}))(inputs)
    assert free["attention_mask"].all()


def test_what_is_drawn_is_said():
    inputs = (
        TensorMetadata({**ranged("int64", (2, 4), (0.0, 9.0))}).add("mask", "int64", (2, 4)).add("x", "float32", (2,))
    )
    said = remarks(RandomOptions(), inputs)
    assert list(said) == ["ids", "mask"]
    assert "from 0 to 9" in said["ids"]
    assert "padding at the end" in said["mask"]
    assert remarks(RandomOptions(val_range={"": (0, 5)}), inputs) == {}

"""The data loader `stress`: what each kind holds, which shapes come, and that a feed can be made again alone."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import DataError, UsageError
from polycmp.tensors import TensorEntry, TensorMetadata, as_dtype
from polycmp.testing import DataLoaderContract
from polycmp_checks.stress.feeds import make_stress
from polycmp_checks.stress.options import STRESS_KINDS, StressOptions
from polycmp_checks.stress.shapes import shape_sweep


def one(kind, dtype, shape=(4, 5), name="x", seed=1, **fields):
    """Return the only feed of one kind for one input."""
    inputs = TensorMetadata({name: TensorEntry(as_dtype(dtype), shape, **fields)})
    [feed] = make_stress(StressOptions(kinds=(kind,), seeds=(seed,)))(inputs)
    assert feed[name].dtype == as_dtype(dtype)
    return feed[name]


class TestContract(DataLoaderContract):
    """What every data loader must do."""

    capabilities = {"dynamic_shapes", "repeatable", "several"}

    def make_data_loader(self):
        return make_stress(StressOptions())


FLOATS = ("float64", "float32", "float16", "bfloat16")


@pytest.mark.parametrize("dtype", FLOATS)
class TestRealNumbers:
    def test_signed_has_both_signs_within_1(self, dtype):
        values = one("signed", dtype).astype(np.float64)
        assert (values < 0).any()
        assert (values > 0).any()
        assert np.abs(values).max() <= 1

    def test_large_is_large_and_can_be_squared(self, dtype):
        values = one("large", dtype)
        assert np.abs(values.astype(np.float64)).max() > 100
        assert np.isfinite((values * values).astype(np.float64)).all()

    def test_tiny_is_normal_and_denormal_is_not(self, dtype):
        import ml_dtypes

        smallest = float(ml_dtypes.finfo(as_dtype(dtype)).smallest_normal)
        tiny, denormal = (np.abs(one(kind, dtype).astype(np.float64)) for kind in ("tiny", "denormal"))
        assert (tiny >= smallest * 0.99).all()
        assert tiny.max() <= max(1.01e-4, 2.1 * smallest)
        assert (denormal <= smallest).all()
        assert (denormal > 0).any()

    def test_boundary_has_zeros_of_both_signs_and_halves(self, dtype):
        values = one("boundary", dtype, (20, 20)).astype(np.float64)
        zeros = values[values == 0]
        assert set(np.signbit(zeros)) == {True, False}
        assert {0.5, 1.5, 2.5, -2.5} <= set(values.reshape(-1))
        assert np.abs(values).max() == 2.5

    def test_limits_has_one_element_near_the_end_of_the_type(self, dtype):
        import ml_dtypes

        values = np.abs(one("limits", dtype).astype(np.float64))
        assert np.sort(values.reshape(-1))[-2] <= 2.5
        assert values.max() == pytest.approx(float(ml_dtypes.finfo(as_dtype(dtype)).max) / 2)


def test_equal_is_one_number_and_seeds_change_it():
    values = {float(one("equal", "float32", seed=seed).reshape(-1)[0]) for seed in range(20)}
    assert len(values) > 2
    assert np.ptp(one("equal", "float32")) == 0


@pytest.mark.parametrize("dtype", ["bool", "int64", "int32"])
def test_masks(dtype):
    def mask(kind):
        return one(kind, dtype, (2, 4), "attention_mask").astype(int).tolist()

    assert mask("masked") == [[0] * 4] * 2
    assert mask("unmasked") == [[1] * 4] * 2
    assert mask("mask-first") == [[1, 0, 0, 0]] * 2
    assert mask("mask-last") == [[0, 0, 0, 1]] * 2
    assert {value for row in mask("equal") for value in row} <= {0, 1}


def test_a_mask_that_is_one_number():
    found = {kind: bool(one(kind, "bool", ())) for kind in ("masked", "unmasked", "mask-first", "mask-last")}
    assert found == {"masked": False, "unmasked": True, "mask-first": True, "mask-last": True}


def test_indices_stay_in_their_range_and_reach_both_ends():
    for kind in ("boundary", "equal", "signed"):
        values = one(kind, "int64", (50,), "ids", range=(0.0, 29.0))
        assert values.min() >= 0
        assert values.max() <= 29
    assert set(one("boundary", "int64", (50,), "ids", range=(0.0, 29.0))) == {0, 29}


def test_whole_numbers_of_which_nothing_is_known_are_0_or_1_and_bytes_are_bytes():
    assert set(one("boundary", "int64", (50,))) == {0, 1}
    assert set(one("boundary", "uint8", (50,))) == {0, 255}
    assert set(one("boundary", "int8", (50,))) == {-128, 127}


def test_no_kind_leaves_the_range_that_was_given():
    inputs = TensorMetadata().add("x", "float32", (64,))
    options = StressOptions(val_range={"x": (0.25, 0.75)})
    for feed in make_stress(options)(inputs):
        assert feed["x"].min() >= 0.25, feed.label
        assert feed["x"].max() <= 0.75, feed.label


def test_values_of_a_shape_tensor_are_kept():
    inputs = TensorMetadata({"shape": TensorEntry(np.dtype(np.int64), (2,), values=(3, 4))}).add("x", "float32", (2,))
    for feed in make_stress(StressOptions())(inputs):
        assert feed["shape"].tolist() == [3, 4]


def test_several_seeds_by_default_and_only_kinds_that_apply():
    floats = list(make_stress(StressOptions())(TensorMetadata().add("x", "float32", (2,))))
    kinds = ["signed", "large", "tiny", "denormal", "boundary", "limits", "equal", "nan", "infinite"]
    assert [feed.label for feed in floats] == [f"{kind}, seed {seed}" for seed in (1, 2, 3) for kind in kinds]
    assert not np.array_equal(floats[0]["x"], floats[8]["x"])
    inputs = TensorMetadata().add("mask", "bool", (2,)).add("x", "float32", (2,))
    inputs = TensorMetadata({**inputs, "n": TensorEntry(np.dtype("i8"), (2,), role="number")})
    everything = make_stress(StressOptions(seeds=(1,)))(inputs)
    assert [feed.label.partition(",")[0] for feed in everything] == list(STRESS_KINDS)


def test_a_kind_for_which_the_model_has_no_input_is_an_error():
    with pytest.raises(DataError, match="--stress-kinds masked"):
        list(make_stress(StressOptions(kinds=("masked",)))(TensorMetadata().add("x", "float32", (2,))))


def test_a_range_for_an_unknown_input_is_an_error():
    with pytest.raises(UsageError, match="no input 'z'"):
        list(make_stress(StressOptions(val_range={"z": (0.0, 1.0)}))(TensorMetadata().add("x", "float32", (2,))))


@pytest.mark.parametrize(
    "fields", [{"kinds": ("huge",)}, {"seeds": (-1,)}, {"sizes": (-1,)}, {"layouts": ("diagonal",)}, {"kinds": ()}]
)
def test_options_that_cannot_be_right(fields):
    with pytest.raises(ValueError):
        StressOptions(**fields)


class TestShapes:
    def test_a_shared_name_means_one_size_and_others_differ(self):
        inputs = TensorMetadata().add("a", "float32", ("batch", 3, "seq")).add("b", "int64", ("batch", "seq"))
        shapes = shape_sweep(inputs, (1, 2, 3))
        assert {shape["a"][0] for shape in shapes} == {1, 2, 3}
        for shape in shapes:
            assert shape["a"] == (shape["b"][0], 3, shape["b"][1])
            assert shape["b"][0] != shape["b"][1]

    def test_sizes_stay_between_the_smallest_and_the_largest_shape_and_reach_both(self):
        inputs = TensorMetadata().add("a", "float32", ("n", 3), min_shape=(2, 3), max_shape=(20, 3))
        assert {shape["a"][0] for shape in shape_sweep(inputs, (1, 2, 7, 32))} == {2, 7, 20}

    def test_empty_inputs_are_tried_only_if_they_are_asked_for(self):
        inputs = TensorMetadata().add("x", "float32", ("n", 3)).add("ids", "int64", ("n",)).add("mask", "bool", ("n",))
        feeds = [*make_stress(StressOptions(sizes=(0, 2), seeds=(1,), layouts=("sliced",)))(inputs)]
        assert {feed["x"].shape for feed in feeds} == {(0, 3), (2, 3)}
        assert {feed["mask"].size for feed in feeds if not feed["x"].size} == {0}
        limited = TensorMetadata().add("x", "float32", ("n",), max_shape=(4,))
        assert {shape["x"] for shape in shape_sweep(limited, (1, 2))} == {(1,), (2,), (4,)}

    def test_nothing_dynamic_is_one_shape(self):
        assert shape_sweep(TensorMetadata().add("a", "float32", (2, 3)), (1, 2)) == [{"a": (2, 3)}]

    def test_dimensions_without_name_stand_alone(self):
        inputs = TensorMetadata().add("a", "float32", (-1,)).add("b", "float32", (-1,))
        assert all(shape["a"] != shape["b"] for shape in shape_sweep(inputs, (1, 2)))

    def test_the_first_round_of_kinds_does_not_fix_their_shapes(self):
        inputs = TensorMetadata().add("a", "float32", ("n",))
        feeds = list(make_stress(StressOptions(kinds=("signed", "large"), sizes=(1, 2), seeds=(1, 2)))(inputs))
        assert {(feed.label.partition(",")[0], feed["a"].size) for feed in feeds} == {
            ("signed", 1), ("large", 2), ("signed", 2), ("large", 1),
        }  # fmt: skip


def test_a_feed_depends_on_kind_seed_and_shape_alone():
    inputs = TensorMetadata().add("x", "float32", ("n", 3)).add("mask", "bool", ("n",))
    for feed in make_stress(StressOptions())(inputs):
        [kind], [seed] = feed.repeat["stress-kinds"], feed.repeat["stress-seeds"]
        shapes = {name: array.shape for name, array in feed.items()}
        pinned = TensorMetadata()
        for name, entry in inputs.items():
            pinned.add(name, entry.dtype, shapes[name])
        [again] = make_stress(StressOptions(kinds=(kind,), seeds=(seed,)))(pinned)
        assert all(np.array_equal(again[name], feed[name], equal_nan=True) for name in feed), feed.label


@pytest.mark.parametrize(
    ("layout", "shape", "strides"),
    [("contiguous", (2, 3, 4), (12, 4, 1)), ("transposed", (2, 3, 4), (12, 1, 3)),
     ("channels-last", (2, 3, 4), (12, 1, 3)), ("channels-last", (2, 3, 4, 5), (60, 1, 15, 3)),
     ("channels-last", (3, 4), (4, 1)), ("sliced", (3, 4), (9, 2)),
     ("expanded", (3, 4), (0, 1)), ("transposed", (3,), (1,)), ("sliced", (), ())],
)  # fmt: skip
def test_layouts_are_the_same_values_with_other_strides(layout, shape, strides):
    inputs = TensorMetadata().add("x", "float32", shape)
    options = {"kinds": ("signed",), "seeds": (1,)}
    [plain] = make_stress(StressOptions(**options))(inputs)
    [feed] = make_stress(StressOptions(**options, layouts=(layout,)))(inputs)
    assert tuple(stride // 4 for stride in feed["x"].strides) == strides
    wanted = np.broadcast_to(plain["x"][:1], shape) if layout == "expanded" else plain["x"]
    assert np.array_equal(feed["x"], wanted)


def test_seeds_take_the_layouts_in_turn_and_a_feed_can_be_made_again():
    inputs = TensorMetadata().add("x", "float32", (3, 4))
    feeds = [*make_stress(StressOptions(kinds=("signed", "large"), layouts=("contiguous", "sliced")))(inputs)]
    assert [feed["x"].flags.c_contiguous for feed in feeds] == [True, True, False, False, True, True]
    assert feeds[2].label == "signed, seed 2, sliced"
    assert feeds[2].repeat == {"stress-kinds": ["signed"], "stress-seeds": [2], "stress-layouts": ["sliced"]}
    [again] = make_stress(StressOptions(kinds=("signed",), seeds=(2,), layouts=("sliced",)))(inputs)
    assert again["x"].strides == feeds[2]["x"].strides
    assert np.array_equal(again["x"], feeds[2]["x"])


@pytest.mark.parametrize("dtype", FLOATS)
def test_two_elements_are_infinite(dtype):
    values = one("infinite", dtype).astype(np.float64)
    assert sorted(values[np.isinf(values)]) == [-np.inf, np.inf]
    assert np.max(np.abs(values[np.isfinite(values)])) <= 1


@pytest.mark.parametrize("kind", ["nan", "infinite"])
def test_real_and_imaginary_parts_of_complex_numbers_are_drawn_alone(kind):
    values = one(kind, "complex64", (40,))
    for part in (values.real, values.imag):
        assert (~np.isfinite(part)).sum() == (1 if kind == "nan" else 2)


NUMBER = {"role": "number"}
DIVISOR = {"role": "divisor"}


@pytest.mark.parametrize("dtype", FLOATS)
def test_one_element_is_nan(dtype):
    values = one("nan", dtype).astype(np.float64)
    assert np.isnan(values).sum() == 1
    assert np.nanmax(np.abs(values)) <= 1
    limited = make_stress(StressOptions(kinds=("nan",), val_range={"": (0.0, 1.0)}))
    (feed, *_) = limited(TensorMetadata({"x": TensorEntry(as_dtype(dtype), (4, 5))}))
    assert not np.isnan(feed["x"].astype(np.float64)).any()


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint64", "uint32", "uint8", "int4"])
def test_whole_numbers_that_are_only_calculated_with_take_all_sizes(dtype):
    import ml_dtypes

    info = ml_dtypes.iinfo(as_dtype(dtype))
    low, high = int(info.min), int(info.max)
    small, wide, bits = (set(one(kind, dtype, (4000,), **NUMBER).tolist()) for kind in ("small", "wide", "bits"))
    small, wide, bits = ({int(number) for number in numbers} for numbers in (small, wide, bits))
    assert small == {number for number in range(-9, 10) if low <= number <= high}
    assert {low, high} <= wide
    if high >= 2**32:
        assert {2**31 - 1, 2**31, 2**32 + 1} <= wide
        assert len(wide) > 30
    assert bits == set(range(min((high - low).bit_length(), high) + 1))
    for shape in ((), (1,), (2, 3)):
        assert one("bits", dtype, shape, **NUMBER).max() == max(bits)
    assert one("bits", dtype, (0, 3), **NUMBER).shape == (0, 3)


@pytest.mark.parametrize("kind", ["small", "wide", "bits", "boundary", "equal"])
def test_what_divides_is_never_zero(kind):
    for dtype in ("int64", "uint32", "int8"):
        values = one(kind, dtype, (4000,), **DIVISOR)
        assert (values != 0).all()
        if kind == "wide":
            assert (values.astype(np.int64) != -1).all()


def test_whole_numbers_of_unknown_use_and_indices_stay_what_they_are():
    with pytest.raises(DataError, match="only calculates with"):
        one("wide", "int64")
    with pytest.raises(DataError, match="only calculates with"):
        one("wide", "int64", range=(0.0, 9.0), **NUMBER)


def test_a_rate_stays_one():
    inputs = TensorMetadata().add("x", "float32", (2, 300)).add("sr", "int64", ())
    assert {int(feed["sr"]) for feed in make_stress(StressOptions())(inputs)} == {16000}

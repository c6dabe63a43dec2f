"""Which sample fits which input, and what then lies in the array."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.errors import DataError
from polycmp.tensors import TensorEntry, TensorMetadata
from polycmp_samples.loader import make_sample, remarks
from polycmp_samples.options import SampleOptions
from polycmp_samples.stored import picture, speech


def entry(dtype, *shape, **more):
    return TensorEntry(np.dtype(dtype), shape, **more)


def feeds(inputs, **options):
    return list(make_sample(SampleOptions(**options))(TensorMetadata(inputs)))


def first(inputs, **options):
    return feeds(inputs, **options)[0]


IDS = (0.0, 30521.0)
FITTING = [
    ("photographs, channels first", {"x": entry("f4", 1, 3, 64, 48)}, "x", "resized to 64x48, 0..1"),
    ("photographs, channels last", {"x": entry("f4", 2, 32, 40, 3)}, "x", "resized to 32x40, 0..1"),
    ("one without a batch", {"x": entry("f2", 3, 32, 40)}, "x", "resized to 32x40, 0..1"),
    ("frames", {"x": entry("f4", 1, 3, 8, 32, 40)}, "x", "resized to 32x40, 0..1"),
    ("the model normalises", {"x": entry("f4", 1, 3, 32, 32, role="pixels")}, "x", "resized to 32x32, 0..255"),
    ("bytes of a picture", {"x": entry("u1", 1, 32, 32, 3)}, "x", "resized to 32x32, 0..255"),
    ("sound", {"audio": entry("f4", 1, 16000)}, "audio", "speech at 16 kHz, 1 s"),
    ("sound with a channel", {"x": entry("f4", 1, 1, 8000)}, "x", "speech at 16 kHz, 0.5 s"),
    ("sound, channel last", {"x": entry("f4", 1, 43844, 1)}, "x", "speech at 16 kHz, 2.7 s"),
    ("sound in whole numbers", {"x": entry("i2", 16000)}, "x", "speech at 16 kHz, 1 s"),
    ("frames of sound", {"x": entry("f4", 8, 576), "h": entry("f4", 1, 1, 64)}, "x", "speech at 16 kHz, 0.036 s"),
    ("a state", {"x": entry("f4", 1, 512), "state": entry("f4", 2, 1, 64)}, "state", "zeros"),
    ("a rate", {"x": entry("f4", 1, 512), "sr": entry("i8")}, "sr", "16000"),
    ("a length", {"x": entry("f4", 1, 512), "x_lens": entry("i8", 1)}, "x_lens", "512"),
    ("words", {"input_ids": entry("i8", 1, 8, range=IDS)}, "input_ids", "the ids of a sentence"),
    ("few words", {"ids": entry("i4", 1, 8, range=(0.0, 99.0))}, "ids", "the bytes of a sentence modulo 100"),
    ("bytes", {"bytes": entry("i4", 1, 2048)}, "bytes", "the bytes of a sentence"),
]


@pytest.mark.parametrize("case", FITTING, ids=[case[0] for case in FITTING])
def test_a_sample_fits_by_type_shape_and_name(case):
    _, inputs, name, words = case
    assert words in remarks(SampleOptions(), TensorMetadata(inputs))[name]
    made = first(inputs)[name]
    assert (made.shape, made.dtype) == (inputs[name].shape, inputs[name].dtype)
    if not words.startswith(("zeros", "16000", "512")):
        assert made.astype(float).std() > 0


def test_what_goes_with_text_has_the_values_that_it_has_with_text():
    inputs = {
        "input_ids": entry("i8", 2, 6, range=IDS),
        "attention_mask": entry("i8", 2, 6),
        "token_type_ids": entry("i8", 2, 6, range=(0.0, 1.0)),
        "position_ids": entry("i8", 2, 6, range=(0.0, 511.0)),
    }
    feed = first(inputs)
    assert feed["input_ids"][0].tolist() == [101, 1996, 4248, 2829, 4419, 14523]
    assert (feed["attention_mask"] == 1).all()
    assert (feed["token_type_ids"] == 0).all()
    assert feed["position_ids"].tolist() == [[0, 1, 2, 3, 4, 5]] * 2


@pytest.mark.parametrize(
    "inputs",
    [
        {"x": entry("f4", 1, 8)},
        {"n": entry("i8", 1, 8)},
        {"input_features": entry("f4", 1, 768)},
        {"x": entry("f4", 1, 16, 96)},
    ],
    ids=["few numbers", "unknown whole numbers", "features", "features of frames"],
)
def test_where_nothing_fits_it_says_so(inputs):
    with pytest.raises(DataError, match="no image, speech or text sample fits"):
        feeds(inputs)


def test_each_iteration_shows_another_picture_and_each_row_the_next():
    made = [feed["x"] for feed in feeds({"x": entry("f4", 2, 3, 64, 64)})]
    assert len(made) == 3
    for one, two in zip(made, [*made[1:], made[0]], strict=True):
        np.testing.assert_array_equal(one[1], two[0])
        assert not np.array_equal(one[0], one[1])
    (page,) = feeds({"x": entry("f4", 1, 1, 64, 640)}, pictures=("page",))
    assert page.label == "page of text"


def test_a_feed_is_made_again_by_the_options_that_it_names():
    inputs = {"x": entry("f4", 2, 3, 32, 32), "noise": entry("f4", 5)}
    for feed in feeds(inputs):
        options = {key.removeprefix("sample-"): value for key, value in feed.repeat.items()}
        options["pictures"] = tuple(options["pictures"])
        np.testing.assert_array_equal(first(inputs, **options)["x"], feed["x"])


def test_layouts_and_ranges_of_values_show_the_same_picture():
    def shown(*shape, **options):
        return first({"x": entry("f4", *shape)}, pictures=("coffee",), **options)["x"]

    plain = shown(1, 3, 40, 40)
    assert 0 <= plain.min() < 0.2
    assert 0.8 < plain.max() <= 1
    np.testing.assert_array_equal(shown(1, 40, 40, 3)[0].transpose(2, 0, 1), plain[0])
    np.testing.assert_allclose(shown(1, 3, 40, 40, scale="0..255"), plain * 255, rtol=1e-5)
    np.testing.assert_allclose(shown(1, 3, 40, 40, scale="-1..1"), plain * 2 - 1, atol=1e-5)
    mean = np.array([0.485, 0.456, 0.406], np.float32)[:, np.newaxis, np.newaxis]
    deviation = np.array([0.229, 0.224, 0.225], np.float32)[:, np.newaxis, np.newaxis]
    np.testing.assert_allclose(shown(1, 3, 40, 40, scale="imagenet"), (plain - mean) / deviation, atol=1e-4)
    signed = first({"x": entry("i1", 1, 3, 40, 40)}, pictures=("coffee",))["x"]
    np.testing.assert_allclose(signed.astype(float) + 128, plain * 255, atol=0.51)


def test_a_picture_in_its_own_size_is_itself():
    made = first({"x": entry("u1", 320, 320, 3)}, pictures=("astronaut",))["x"]
    np.testing.assert_array_equal(made, picture("astronaut"))
    assert 60 < made.mean() < 180


def test_sounds_go_on_from_row_to_row_and_begin_where_somebody_speaks():
    made = first({"x": entry("f4", 4, 512)})["x"]
    heard = speech().astype(np.float32) / 32768
    start = int(np.flatnonzero(np.isclose(heard, made[0, 0], atol=0) & np.isclose(np.roll(heard, -1), made[0, 1]))[0])
    np.testing.assert_array_equal(made.reshape(-1), heard[start : start + 2048])
    assert np.abs(made).max() > 0.1


def test_low_precision_takes_samples_too():
    made = first({"x": entry(ml_dtypes.bfloat16, 1, 16000)})["x"]
    assert made.dtype == ml_dtypes.bfloat16


def test_the_page_shows_a_line_where_an_input_is_low():
    low = first({"x": entry("f4", 1, 1, 48, 320)}, pictures=("page",))["x"]
    assert 0.05 < (low < 0.5).mean() < 0.4  # ink of large letters
    assert (low[..., :10] > 0.5).all()  # the margin

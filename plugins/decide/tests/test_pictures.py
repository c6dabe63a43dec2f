"""The data loader `pictures`."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.errors import DataError, UsageError
from polycmp.tensors import TensorMetadata
from polycmp_decide.pictures import make_pictures
from polycmp_decide.plugin import PictureOptions
from polycmp_decide.sources import list_pictures

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path):
    """Two pictures, the first of one colour and wider than high."""
    Image.new("RGB", (8, 4), (255, 0, 51)).save(tmp_path / "9.png")
    Image.new("RGB", (4, 4), (0, 0, 0)).save(tmp_path / "10.png")
    return str(tmp_path)


def feeds(folder, shape, dtype=np.float32, **options):
    return list(make_pictures(PictureOptions(folder=folder, **options))(TensorMetadata().add("x", dtype, shape)))


def test_ten_comes_after_nine(folder):
    assert list_pictures(folder) == ["9.png", "10.png"]


def test_layout_and_size_are_those_of_the_input(folder):
    first, _ = feeds(folder, (1, 3, 2, 6))
    assert first["x"].shape == (1, 3, 2, 6)
    assert first["x"][0, :, 0, 0] == pytest.approx([1, 0, 0.2])
    first, _ = feeds(folder, (1, 2, 6, 3), bgr=True)
    assert first["x"][0, 0, 0] == pytest.approx([0.2, 0, 1])


def test_mean_and_deviation_are_taken_off_after_the_scale(folder):
    first, _ = feeds(folder, (1, 3, 2, 6), mean=(0.5, 0.0, 0.2), std=(0.5, 1.0, 1.0))
    assert first["x"][0, :, 0, 0] == pytest.approx([1, 0, 0], abs=1e-6)


def test_whole_numbers_stay_as_they_are(folder):
    first, _ = feeds(folder, (1, 2, 6, 3), np.uint8)
    assert first["x"][0, 0, 0].tolist() == [255, 0, 51]


def test_a_fixed_batch_is_filled_up(folder):
    (Image.new("RGB", (4, 4), (255, 255, 255))).save(f"{folder}/11.png")
    first, last = feeds(folder, (2, 3, 2, 2))
    assert first["x"].shape == last["x"].shape == (2, 3, 2, 2)
    assert (last["x"] == 1).all()


@pytest.mark.parametrize(
    ("shape", "says"), [((1, 3, -1, -1), "is open"), ((1, 4, 8, 8), "takes no pictures"), ((1, 5), "takes no pictures")]
)
def test_an_input_that_takes_no_pictures_is_told(folder, shape, says):
    with pytest.raises(DataError, match=says):
        feeds(folder, shape)


def test_values_for_other_channels_are_told(folder):
    with pytest.raises(UsageError, match="for 3 channels"):
        feeds(folder, (1, 3, 2, 2), mean=(0.5, 0.5))

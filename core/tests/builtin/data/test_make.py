"""`data from-images` and `data from-numpy`, as a user sees them."""

from __future__ import annotations

import numpy as np
import pytest
from saved_data import read

from polycmp.results.files import open_inputs


@pytest.fixture
def photos(tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, color in ((2, (255, 0, 0)), (10, (0, 255, 0)), (1, (0, 0, 255))):
        image.new("RGB", (6, 4), color).save(folder / f"p{number}.png")
    (folder / "notes.txt").write_text("no image")
    return folder


def test_images_become_inputs_in_the_order_of_their_numbers(polycmp, photos, tmp_path):
    done = polycmp("data", "from-images", "photos", "--name", "image", "--size", "2x3", "-o", "in.npz")
    assert done.status == 0, done.err
    feeds = [feed["image"] for feed in open_inputs([tmp_path / "in.npz"])]
    assert [(feed.shape, feed.dtype.name) for feed in feeds] == [((1, 3, 2, 3), "float32")] * 3
    assert [tuple(feed[0, :, 0, 0]) for feed in feeds] == [(0, 0, 1), (1, 0, 0), (0, 1, 0)]


def test_images_are_normalised_and_laid_out_as_wanted(polycmp, photos, tmp_path):
    words = ("--layout", "nhwc", "--batch", "2", "--bgr", "--mean", "0.5", "--std", "0.5", "0.25", "0.125")
    done = polycmp("data", "from-images", "photos", "--name", "image", *words, "-o", "in.npz")
    assert done.status == 0, done.err
    feeds = [feed["image"] for feed in open_inputs([tmp_path / "in.npz"])]
    assert [feed.shape for feed in feeds] == [(2, 4, 6, 3), (1, 4, 6, 3)]
    assert tuple(feeds[0][0, 0, 0]) == (1.0, -2.0, -4.0)  # blue comes first


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("photos",), 2, "which input"),
        (("photos", "--name", "i", "--size", "big"), 2, "--size 224x224"),
        (("photos", "--name", "i", "--mean", "1", "2"), 2, "2 values for 3 channels"),
        (("photos", "--name", "i", "--std", "0"), 2, "cannot divide by 0"),
        (("photos/notes.txt", "--name", "i"), 3, "cannot read this image"),
        (("empty", "--name", "i"), 3, "holds no images"),
        (("nowhere", "--name", "i"), 3, "no such file or folder"),
    ],
)
def test_images_that_cannot_be_used(polycmp, photos, tmp_path, words, status, text):
    (tmp_path / "empty").mkdir()
    done = polycmp("data", "from-images", *words, "-o", "in.npz")
    assert (done.status, text in done.err) == (status, True), done.err
    assert not (tmp_path / "in.npz").exists()


def test_a_folder_of_arrays_is_one_iteration_and_each_folder_inside_another(polycmp, tmp_path):
    for index in (0, 1, 10, 9):
        (tmp_path / "feeds" / str(index)).mkdir(parents=True)
        np.save(tmp_path / "feeds" / str(index) / "x.npy", np.full(2, index))
        np.save(tmp_path / "feeds" / str(index) / "mask.npy", np.ones(1))
    assert polycmp("data", "from-numpy", "feeds", "-o", "in.json").status == 0
    assert read(tmp_path / "in.json") == [{"mask": 1, "x": index} for index in (0, 1, 9, 10)]
    assert polycmp("data", "from-numpy", "feeds/1", "-o", "in.json").status == 0
    assert read(tmp_path / "in.json") == [{"mask": 1, "x": 1}]


def test_arrays_for_one_input_and_arrays_of_several_iterations(polycmp, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(3, 2))
    assert polycmp("data", "from-numpy", "a.npy", "a.npy", "--name", "x", "-o", "in.json").status == 0
    assert [feed["x"].shape for feed in open_inputs([tmp_path / "in.json"])] == [(3, 2), (3, 2)]
    assert polycmp("data", "from-numpy", "a.npy", "--name", "x", "--split", "-o", "in.json").status == 0
    assert read(tmp_path / "in.json") == [{"x": 0}, {"x": 2}, {"x": 4}]


def test_pickled_arrays_are_not_read(polycmp, tmp_path):
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert polycmp("data", "from-numpy", "a.npy", "-o", "in.json").status == 3

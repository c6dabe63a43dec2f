"""`inspect data`, `data concat`, `data merge`, `data from-images` and `data from-numpy`, as a user sees them."""

from __future__ import annotations

import numpy as np
import pytest

from polycmp.results.files import InputsWriter, OutputsWriter, open_inputs, open_runs


def inputs(path, *feeds):
    with InputsWriter(path) as writer:
        for feed in feeds:
            writer.add({name: np.float32(value) * np.ones((1, 2), np.float32) for name, value in feed.items()})


def outputs(path, label, *values):
    with OutputsWriter(path) as writer:
        for value in values:
            writer.add(label, {"o": np.full(3, value)}, 0.5)


def read(path):
    return [{name: float(array.flat[0]) for name, array in feed.items()} for feed in open_inputs([path])]


@pytest.fixture(params=["json", "npz", "safetensors", "folder"])
def suffix(request):
    if request.param == "safetensors":
        pytest.importorskip("safetensors")
    return "" if request.param == "folder" else f".{request.param}"


def test_concat_appends_iterations_of_any_format(polycmp, tmp_path, suffix):
    inputs(tmp_path / f"a{suffix}", {"x": 1}, {"x": 2})
    inputs(tmp_path / "b.json", {"x": 3})
    done = polycmp("data", "concat", f"a{suffix}", "b.json", "-o", f"all{suffix}")
    assert done.status == 0, done.err
    assert read(tmp_path / f"all{suffix}") == [{"x": 1}, {"x": 2}, {"x": 3}]


def test_concat_of_outputs_keeps_the_runs_apart(polycmp, tmp_path):
    outputs(tmp_path / "a.json", "one", 1, 2)
    outputs(tmp_path / "b.npz", "two", 3)
    outputs(tmp_path / "c.json", "one", 4)
    assert polycmp("data", "concat", "a.json", "b.npz", "c.json", "-o", "all.json").status == 0
    found = {run.label: [float(item["o"][0]) for item in run.iterations] for run in open_runs(tmp_path / "all.json")}
    assert found == {"one": [1, 2, 4], "two": [3]}
    assert [item.runtime for run in open_runs(tmp_path / "all.json") for item in run.iterations] == [0.5] * 4


def test_concat_refuses_inputs_with_outputs_and_tells_other_names(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1})
    inputs(tmp_path / "b.json", {"z": 1})
    outputs(tmp_path / "o.json", "one", 1)
    done = polycmp("data", "concat", "a.json", "o.json", "-o", "all.json")
    assert (done.status, "holds outputs" in done.err) == (2, True)
    assert not (tmp_path / "all.json").exists()
    done = polycmp("data", "concat", "a.json", "b.json", "-o", "all.json")
    assert (done.status, "b.json holds z" in done.err) == (0, True)


def test_merge_is_right_for_several_iterations(polycmp, tmp_path, suffix):
    inputs(tmp_path / f"a{suffix}", {"x": 1}, {"x": 2})
    inputs(tmp_path / "b.json", {"z": 3}, {"z": 4})
    outputs(tmp_path / "o.json", "one", 5, 6)
    done = polycmp("data", "merge", f"a{suffix}", "b.json", "o.json", "-o", f"all{suffix}")
    assert done.status == 0, done.err
    assert read(tmp_path / f"all{suffix}") == [{"x": 1, "z": 3, "o": 5}, {"x": 2, "z": 4, "o": 6}]


def test_merge_repeats_a_single_iteration_and_stops_with_the_shortest(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1}, {"x": 2}, {"x": 3})
    inputs(tmp_path / "one.json", {"mask": 7})
    inputs(tmp_path / "two.json", {"z": 8}, {"z": 9})
    done = polycmp("data", "merge", "a.json", "one.json", "-o", "all.json")
    assert (done.status, "one.json: the only iteration is repeated" in done.err) == (0, True)
    assert "not read further" not in done.err
    assert [feed["mask"] for feed in read(tmp_path / "all.json")] == [7, 7, 7]
    done = polycmp("data", "merge", "a.json", "two.json", "-o", "all.json")
    assert (done.status, "two.json ends after 2 iterations" in done.err) == (0, True)
    assert len(read(tmp_path / "all.json")) == 2


def test_merge_says_which_tensors_replace_others(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1})
    inputs(tmp_path / "b.json", {"x": 2})
    done = polycmp("data", "merge", "a.json", "b.json", "-o", "all.json")
    assert (done.status, "x of b.json replaces what came before" in done.err) == (0, True)
    assert read(tmp_path / "all.json") == [{"x": 2}]


@pytest.mark.parametrize("command", ["concat", "merge"])
@pytest.mark.parametrize(("name", "content"), [("nowhere.json", None), ("bad.json", "{"), ("bad.txt", "x")])
def test_files_that_cannot_be_joined(polycmp, tmp_path, command, name, content):
    inputs(tmp_path / "a.json", {"x": 1})
    if content is not None:
        (tmp_path / name).write_text(content)
    done = polycmp("data", command, "a.json", name, "-o", "all.json")
    assert (done.status, name in done.err) == (3, True)
    assert not (tmp_path / "all.json").exists()


def test_a_folder_that_is_read_is_not_overwritten(polycmp, tmp_path):
    inputs(tmp_path / "feeds", {"x": 1}, {"x": 2})
    done = polycmp("data", "concat", "feeds", "feeds", "-o", "feeds")
    assert done.status == 2
    assert read(tmp_path / "feeds") == [{"x": 1}, {"x": 2}]


# --- from images and arrays


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


# --- looking


def test_what_is_in_a_file(polycmp, tmp_path):
    inputs(tmp_path / "in.npz", {"x": 1}, {"x": 2})
    outputs(tmp_path / "out.json", "one", 1, 2)
    shown = polycmp("inspect", "data", "out.json").out
    assert "---- one (2 iterations) ----" in shown
    assert "o [int64[3]] mean=1" in shown
    assert "mean=2" not in shown
    shown = polycmp("inspect", "data", "in.npz", "--all", "-s", "--histogram", "-n", "-1").out
    assert ("iteration 1" in shown, "[[2. 2.]]" in shown, "#" in shown) == (True, True, True)


def test_messages_go_where_the_options_say(polycmp, tmp_path):
    inputs(tmp_path / "a.json", {"x": 1})
    inputs(tmp_path / "b.json", {"z": 1})
    done = polycmp("data", "concat", "a.json", "b.json", "-o", "c.json", "--silent", "--log-file", "log.txt")
    assert (done.status, done.err) == (0, "")
    assert polycmp("inspect", "data", "c.json", "-vv", "--log-format", "no-colors").status == 0

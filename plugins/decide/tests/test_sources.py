"""Samples and labels of data sets of Hugging Face's form, made on disk."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from polycmp.errors import DataError, FileError, UsageError
from polycmp_decide.sources import DataSet

if find_spec("datasets") is None:
    pytest.skip("datasets is not installed", allow_module_level=True)
Image = pytest.importorskip("PIL.Image")
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


@pytest.fixture(scope="module")
def datasets():
    """The library, which takes more than a second to import: as each process of the tests collects all of them."""
    return pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def own_cache(datasets, monkeypatch, tmp_path):
    """Keep what is read of files out of the user's cache."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture(scope="module")
def saved(datasets, digits, tmp_path_factory):
    """A folder with the pictures of `digits` as a data set with names of classes."""
    paths = sorted((digits / "pictures").glob("*/*.png"))
    features = datasets.Features({"scan": datasets.Image(), "digit": datasets.ClassLabel(names=NAMES)})
    rows = {"scan": [str(path) for path in paths], "digit": [int(path.parent.name) for path in paths]}
    folder = tmp_path_factory.mktemp("data set")
    test = datasets.Dataset.from_dict(rows, features)
    test.save_to_disk(folder / "test")
    datasets.DatasetDict({"train": test.select(range(5)), "test": test}).save_to_disk(folder / "both")
    (folder / "files").mkdir()
    test.to_parquet(folder / "files" / "test.parquet")
    return folder


def test_pictures_and_labels_of_a_data_set_give_the_same_answer_as_a_folder(digits, decide, saved):
    known = decide("damaged.onnx float.onnx -b onnxrt --data pictures", digits)
    for source in ("test", "both#test", "files"):
        said = decide(f"damaged.onnx float.onnx -b onnxrt --data 'hf:{saved / source}'", digits)
        assert said.status == known.status == 1, said.err
        assert said.document["p"] == known.document["p"]
        assert (said.document["lost"], said.document["won"]) == (known.document["lost"], known.document["won"])
        assert {item["right"] for item in said.document["changed"]} <= set(NAMES)
        assert "locate" not in said.out  # there is no file of a row


def test_labels_of_a_data_set_for_inputs_of_a_file(digits, decide, saved, tmp_path):
    paths = sorted((digits / "pictures").glob("*/*.png"))
    pictures = np.stack([np.asarray(Image.open(path), np.float32)[None] / 255 for path in paths])
    np.savez(tmp_path / "in.npz", picture=pictures)
    words = f"--load-inputs {tmp_path / 'in.npz'} --labels 'hf:{saved / 'test'}'"
    said = decide(f"damaged.onnx float.onnx -b onnxrt {words}", digits)
    assert said.status == 1, said.err
    assert said.document["samples"] == 797


def test_a_page_shows_pictures_of_a_data_set(digits, decide, saved, tmp_path):
    pytest.importorskip("polycmp_report")
    words = f"--data 'hf:{saved / 'test'}' --report {tmp_path / 'page.html'}"
    assert decide(f"damaged.onnx float.onnx -b onnxrt {words}", digits).status == 1
    assert (tmp_path / "page.html").read_text("utf-8").count("data:image/png;base64,") >= 50


def test_what_is_no_data_set_is_told(datasets, saved, tmp_path):
    with pytest.raises(UsageError, match="which of the splits train, test"):
        DataSet(f"hf:{saved / 'both'}")
    with pytest.raises(UsageError, match="there is no split 'tests'"):
        DataSet(f"hf:{saved / 'both'}#tests")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="cannot read this data set"):
        DataSet(f"hf:{tmp_path / 'empty'}")
    datasets.Dataset.from_dict({"text": ["a"], "more": [1]}).save_to_disk(tmp_path / "other")
    other = DataSet(f"hf:{tmp_path / 'other'}")
    with pytest.raises(DataError, match="no column of labels, nor one called label"):
        _ = other.labels
    with pytest.raises(DataError, match="no column of pictures"), other.open("0"):
        pass

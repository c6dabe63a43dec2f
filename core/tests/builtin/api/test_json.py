"""Any mixture of arrays, results and plain values as JSON, and what is no such file."""

from __future__ import annotations

import base64
import io
import json
import sys

import numpy as np
import pytest

from polycmp.builtin.formats.run_results import RunResults
from polycmp.errors import FileError
from polycmp.json import load_json, save_json
from polycmp.results.runs import IterationResult


def test_json_holds_any_mixture(tmp_path):
    results = RunResults([("trt", [IterationResult({"y": np.array([1, np.nan], np.float32)}, 0.5, "trt")])])
    mixture = {"runs": results, "list": [1, None, "ä", {"x": np.arange(3)}], "scalar": np.float32(0.5), "inf": np.inf}
    save_json(mixture, tmp_path / "m.json")
    read = load_json(tmp_path / "m.json")
    assert read["runs"] == results
    assert read["list"][:3] == [1, None, "ä"]
    assert read["list"][3]["x"].tolist() == [0, 1, 2]
    assert (read["scalar"], read["inf"]) == (0.5, np.inf)


def npy(array, save=np.save) -> bytes:
    stream = io.BytesIO()
    save(stream, array)
    return stream.getvalue()


def test_old_spellings_are_read(tmp_path):
    array = np.array([[1.5, 2.5]], np.float32)
    marked = {
        "array": base64.b64encode(npy(array)).decode(),
        "__polygraphy_encoded_ndarray": "polygraphy_serialized_json_type",
    }
    latin = {"array": npy(array).decode("latin-1"), "polygraphy_class": "ndarray"}
    archive = {"array": base64.b64encode(npy(array, np.savez)).decode(), "polygraphy_class": "ndarray"}
    lazy = {"values": latin, "polygraphy_class": "LazyNumpyArray"}
    (tmp_path / "old.json").write_text(json.dumps([marked, latin, archive, lazy]))
    for read in load_json(tmp_path / "old.json"):
        assert read.dtype == np.float32
        assert np.array_equal(read, array)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"polygraphy_class": "RunResult"}', ["unknown class 'RunResult'", "'RunResults'"]),
        ('{"polygraphy_class": "RunResults"}', ["'RunResults'", "damaged"]),
        ('{"polygraphy_class": "RunResults", "lst": [["a", [1]]]}', ["'RunResults'", "damaged"]),
        ('{"polygraphy_class": "ndarray", "array": "AAAA"}', ["'ndarray'", "damaged"]),
        ('{"polygraphy_class": "ndarray", "array": "k05V****"}', ["'ndarray'", "damaged", "invalid"]),
        ('{"polygraphy_class": "ndarray", "array": 5}', ["'ndarray'", "damaged"]),
        ("[" * 100_000, ["not JSON"]),
        ("[1, 2", ["not JSON"]),
        ("", ["not JSON"]),
    ],
)
def test_damaged_json_is_a_file_error_with_its_name(tmp_path, text, words):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(FileError) as caught:
        load_json(tmp_path / "bad.json")
    assert [word for word in ["bad.json", *words] if word not in str(caught.value)] == []


def test_arrays_of_pickled_objects_are_not_read(tmp_path):
    raw = npy(np.array([{"a": 1}], dtype=object))
    text = json.dumps({"array": base64.b64encode(raw).decode(), "polygraphy_class": "ndarray"})
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(FileError, match="'ndarray'") as caught:
        load_json(tmp_path / "bad.json")
    assert "pickled" in str(caught.value)


def test_what_json_cannot_hold_is_refused_and_the_old_file_stays(tmp_path):
    save_json([1], tmp_path / "a.json")
    with pytest.raises(FileError, match="set"):
        save_json({"x": {1, 2}}, tmp_path / "a.json")
    assert load_json(tmp_path / "a.json") == [1]


def test_a_torch_tensor_without_torch_names_the_command_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "t.json").write_text(json.dumps([{"x": {"tensor": "AAAA", "polygraphy_class": "Tensor"}}]))
    with pytest.raises(FileError, match=r"t\.json.*PyTorch") as caught:
        load_json(tmp_path / "t.json")
    assert caught.value.hint == "pip install torch"


def test_missing_json_is_a_file_error(tmp_path):
    with pytest.raises(FileError, match=r"missing\.json|cannot read"):
        load_json(tmp_path / "missing.json")

"""JSON as Polygraphy writes it: every array comes back bit for bit, and what is damaged is refused."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from polycmp.builtin.formats import jsoncode
from polycmp.builtin.formats.jsoncode import array_from_npy, decode, decode_file, encode
from polycmp.errors import FileError


def text_of(value):
    return b"".join(encode(value))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array(2.5),
        np.zeros((0, 3), np.int8),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.array([1, 2], ">i4"),
        np.arange(4).astype(ml_dtypes.bfloat16),
        np.arange(4).astype(ml_dtypes.int4),
        np.arange(4).astype(ml_dtypes.float8_e4m3fn),
        np.array(["a", "é\n", ""], object),
        np.array(["ends with \0", "\udc80", "x" * 5000], object),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_an_array_comes_back(monkeypatch, array, chunk):
    monkeypatch.setattr(jsoncode, "_CHUNK", chunk)
    made = decode(text_of({"y": array}), {})["y"]
    assert (made.shape, made.dtype) == (array.shape, array.dtype)
    assert made.tobytes() == array.tobytes() or made.tolist() == array.tolist()


def test_an_array_is_what_numpy_saves_in_base64():
    array = np.arange(5, dtype=np.float32)
    saved = io.BytesIO()
    np.save(saved, array)
    members = json.loads(text_of(array))
    assert members == {"array": base64.b64encode(saved.getvalue()).decode(), "polygraphy_class": "ndarray"}
    assert array_from_npy(saved.getvalue()).flags.writeable


def test_values_of_json_and_of_numpy_are_themselves():
    value = {"a": [1, None, "é", []], "b": {"c": np.float32(0.5), "d": np.int8(3)}, "e": ()}
    assert decode(text_of(value), {}) == {"a": [1, None, "é", []], "b": {"c": 0.5, "d": 3}, "e": []}
    with pytest.raises(FileError, match="cannot save a object as JSON"):
        text_of({"a": object()})


def damaged(**members):
    return json.dumps({"polygraphy_class": "ndarray", **members})


ARRAY = json.loads(text_of(np.arange(3)))["array"]


@pytest.mark.parametrize(
    ("text", "what", "rest"),
    [
        ("{", "not JSON, or only a part of it", ""),
        ("[" * 100_000, "not JSON, or only a part of it", ""),
        (damaged(), "class 'ndarray' in it is damaged", "array"),
        (damaged(array=ARRAY[:-8]), "is damaged", ""),
        (damaged(array="!" + ARRAY[1:]), "is damaged", ""),
        (damaged(array=ARRAY, polycmp_dtype="float3"), "is damaged", ""),
        (damaged(array=3), "is damaged", ""),
        ('{"polygraphy_class": "Ndarray"}', "unknown class 'Ndarray'", "ndarray"),
        ('{"polygraphy_class": "TacticReplayData"}', "class 'TacticReplayData'", "polycmp inspect tactics FILE"),
    ],
)
def test_what_is_damaged_or_unknown_is_refused(text, what, rest):
    with pytest.raises(FileError) as caught:
        decode(text, {})
    assert what in caught.value.what
    assert rest in f"{caught.value.why} {caught.value.hint}"


def test_files_of_the_first_versions_are_read():
    saved = io.BytesIO()
    np.savez(saved, np.arange(3))
    members = {
        "array": saved.getvalue().decode("latin-1"),
        "__polygraphy_encoded_ndarray": "polygraphy_serialized_json_type",
    }
    assert decode(json.dumps(members), {}).tolist() == [0, 1, 2]


def test_a_file_may_have_a_byte_order_mark_and_must_be_text(tmp_path):
    path = Path(tmp_path, "a.json")
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}')
    assert decode_file(path, {}) == {"a": "é"}
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FileError, match="this is not JSON"):
        decode_file(path, {})

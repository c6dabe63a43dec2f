"""Arrays that no container holds as they are, and that come back bit for bit."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp.errors import FileError
from polycmp.results import pack, unpack

WORDS = np.array([["Grüße", ""], ["a\0", "b "]], object)
ARRAYS = {
    "float32": np.array([1.5, np.nan], np.float32),
    "bfloat16": np.array([[1.5, -0.0]], ml_dtypes.bfloat16),
    "float8": np.array([0.5, 448.0], ml_dtypes.float8_e4m3fn),
    "int4": np.array([[-8, 7, 0]], ml_dtypes.int4),
    "one number": np.array(2.0, ml_dtypes.bfloat16),
    "texts": WORDS,
    "bytes": np.array([b"\xff\x00", b""], object),
    "numpy's texts": np.array(["ab", "c"]),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_what_comes_back_is_what_was_packed(array):
    stored, dtype = pack("x", array)
    assert stored.dtype.kind in "biufc"
    back = unpack(stored, dtype, array.shape)
    assert back.shape == array.shape
    assert back.tolist() == array.tolist() or (back.dtype == array.dtype and back.tobytes() == array.tobytes())


@pytest.mark.parametrize(
    ("array", "says"),
    [(np.array([1, "a"], object), "it holds a int"), (np.array(["2020-01-01"], "M8[D]"), "datetime64")],
)
def test_what_is_neither_numbers_nor_texts_is_refused(array, says):
    with pytest.raises(FileError, match="cannot save tensor 'x'") as refused:
        pack("x", array)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("stored", "dtype", "shape"),
    [
        (np.zeros(3, np.uint16), "bfloat16", (2,)),
        (np.zeros(3, np.uint8), "no such type", (3,)),
        (np.frombuffer(b"[1", np.uint8), "string", (1,)),
    ],
)
def test_bytes_that_do_not_fit_are_damaged(stored, dtype, shape):
    with pytest.raises(FileError, match="is damaged"):
        unpack(stored, dtype, shape)

"""Arrays at the border between the core and a backend."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp._arrays import checked_outputs, copied, read_only

ARRAYS = [
    np.ones((2, 3), np.float32),
    np.ones((2, 3), ">f4"),
    np.array(7, np.int64),
    np.empty((0, 3)),
    np.arange(16.0).reshape(4, 4)[::2, ::-2],
    np.broadcast_to(np.ones(1), (3,)),
    np.array(["a", "b"], object),
    np.array([True, False]),
    np.ones(3, np.complex64),
    np.ones(3, np.float16),
    np.ones((1,) * 32, np.float32),
    np.ones(3, ml_dtypes.bfloat16),
    np.ones((3, 2), ml_dtypes.int4).T,
    np.ones(2, ml_dtypes.float8_e5m2),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}-{array.shape}"[:40])
class TestReadOnly:
    def test_it_is_the_same_memory(self, array):
        view = read_only(array)
        assert (view.dtype, view.shape) == (array.dtype, array.shape)
        assert array.size == 0 or np.shares_memory(view, array)
        assert view.astype(object).tolist() == array.astype(object).tolist()

    def test_it_cannot_be_written_nor_made_writable(self, array):
        view = read_only(array)
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True

    def test_the_original_and_a_copy_can_be_written(self, array):
        before = array.flags.writeable
        made = copied(read_only(array))
        assert made.flags.writeable
        assert not np.shares_memory(made, array)
        assert array.flags.writeable == before


class TestOutputs:
    def test_text_of_any_class_becomes_plain_text(self):
        class Text(str):
            __slots__ = ()

            def __eq__(self, other):
                return True

            __hash__ = str.__hash__

        made = checked_outputs({"y": np.array([[Text("a"), np.str_("b"), b"c"]], object)}, "me")["y"]
        assert made.shape == (1, 3)
        assert [type(item) for item in made[0]] == [str, str, bytes]

    def test_byte_order_is_this_machines(self):
        made = checked_outputs({"y": np.arange(3, dtype=">i4")}, "me")["y"]
        assert made.dtype.isnative
        assert made.tolist() == [0, 1, 2]

    def test_arrays_that_need_no_change_are_not_copied(self):
        array = np.ones(3)
        assert checked_outputs({"y": array}, "me")["y"] is array

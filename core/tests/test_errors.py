"""Whose failure an exception is, and arrays at the border between the core and a backend."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from polycmp._arrays import checked_outputs, copied, read_only
from polycmp.errors import BackendError, DataError, OthersCode, describe_exception, hide_passwords, is_users_failure
from polycmp.runs.buffer_reuse import sharing_memory

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


def raised(function):
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def raise_it(error):
    raise error


class TestFailures:
    @pytest.mark.parametrize("kind", [Exception, SystemExit, GeneratorExit, BaseException, MemoryError])
    def test_what_called_code_raises_is_its_failure(self, kind):
        assert is_users_failure(raised(lambda: raise_it(kind())))

    def test_an_interrupt_is_nobodys_failure(self):
        assert not is_users_failure(raised(lambda: raise_it(KeyboardInterrupt())))

    def test_closing_a_generator_is_nobodys_failure(self):
        seen = []

        def generator():
            with OthersCode(DataError, "failed"):
                try:
                    yield 1
                except BaseException as error:
                    seen.append(is_users_failure(error))
                    raise

        running = generator()
        next(running)
        running.close()
        assert seen == [False]

    @pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), RuntimeError("x")])
    def test_a_block_names_whose_code_failed(self, error):
        with pytest.raises(DataError, match="it failed") as caught, OthersCode(DataError, "it failed", whose="me"):
            raise_it(error)
        assert caught.value.whose == "me"
        assert type(error).__name__ in caught.value.why

    def test_errors_of_ours_pass_through_a_block(self):
        with pytest.raises(BackendError, match="mine"), OthersCode(DataError, "it failed"):
            raise_it(BackendError("mine"))

    def test_a_long_text_is_cut(self):
        text = describe_exception(ValueError("word " * 1_000_000))
        assert len(text) < 5000
        assert text.endswith("(5000000 characters)")


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


class TestSharing:
    def test_of_memory_that_somebody_can_write(self):
        buffer = np.zeros(10)
        assert sharing_memory({"y": buffer[2:5]}, {"one": {"a": buffer[4:6]}, "two": {"a": buffer[5:]}}) == ["one"]
        assert sharing_memory({"y": buffer[::-1]}, {"one": {"a": buffer[:1]}}) == ["one"]

    def test_views_of_inputs_and_constants_may_be_shared(self):
        given = read_only(np.zeros(10))
        assert not sharing_memory({"y": given[:5]}, {"one": {"y": given[:5]}})
        constant = np.frombuffer(bytes(40), np.float32)
        assert not sharing_memory({"y": constant.reshape(2, 5)}, {"one": {"y": constant}})

    def test_nothing_is_shared_where_there_is_nothing(self):
        empty = np.zeros((0, 3))
        assert not sharing_memory({"y": empty}, {"one": {"y": empty}})


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


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("oip:url=http://me:secret@host:8000/v2", "oip:url=http://me:***@host:8000/v2"),
        ("oip:url=http://:sec:ret@host,name=a", "oip:url=http://:***@host,name=a"),
        ("oip:url=http://me:sec@ret@host", "oip:url=http://me:***@host"),
        ("oip:url=https://host/m?token=secret,name=a", "oip:url=https://host/m?***,name=a"),
        ("onnxrt:ssh=me:secret@board,threads=1", "onnxrt:ssh=me:***@board,threads=1"),
        ("onnxrt:ssh='me:secret@board'", "onnxrt:ssh='me:***@board'"),
        *[
            (text, text)
            for text in (
                "onnxrt:ssh=me@board:2222,python=venv/bin/python",
                "oip:url=http://host:8000/v2/models/a@b,name=c",
                "trt:config=file.py:name",
                "openvino:config=[A:b,C:d]",
            )
        ],
    ],
)
def test_secrets_in_addresses_are_not_shown(typed, shown):
    assert hide_passwords(typed) == shown

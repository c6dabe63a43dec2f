"""Whose failure an exception is."""

from __future__ import annotations

import pytest

from polycmp.errors import BackendError, DataError, OthersCode, describe_exception, hide_passwords, is_users_failure


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

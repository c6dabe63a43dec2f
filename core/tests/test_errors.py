"""Whose failure an exception is."""

from __future__ import annotations

import pytest

from polycmp.errors import BackendError, DataError, OthersCode, describe_exception, is_users_failure


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

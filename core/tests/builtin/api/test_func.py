"""Functions that extend loaders."""

from __future__ import annotations

import pytest

from polycmp import func
from polycmp.errors import InvalidValueError


def add(a: int, b: int) -> int:
    return a + b


def test_extending_passes_on_the_arguments_of_the_call():
    @func.extend(add)
    def check(a, b, made):
        assert made == a + b
        return made * 10

    assert check(1, 2) == 30
    assert check(1, b=2) == 30


def test_extending_what_returns_nothing_calls_without_arguments():
    calls = []

    @func.extend(lambda: None)
    def then():
        calls.append(1)

    assert then() is None
    assert calls == [1]


def test_a_wrong_number_of_parameters_is_told():
    @func.extend(lambda: (1, 2))
    def wants_three(a, b, c):
        return a

    with pytest.raises(InvalidValueError, match=r"wants_three\(\) has 3 parameters, but .* returns 2"):
        wants_three()


def test_any_number_of_parameters_is_refused_when_the_function_is_defined():
    with pytest.raises(InvalidValueError, match="any number of arguments"):

        @func.extend(add)
        def everything(*args):
            return args

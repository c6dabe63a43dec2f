"""Loaders that take keywords by other names."""

from __future__ import annotations

import inspect

import pytest

from polycmp.loader import Loader, keyword_aliases


@keyword_aliases("copy", weights="model")
class Named(Loader[str]):
    def __init__(self, model: str, times: int = 1) -> None:
        self.model = model
        self.times = times

    def call_impl(self) -> str:
        return self.model * self.times


def test_a_class_takes_keywords_by_other_names():
    assert Named(weights="a", times=2, copy=True)() == "aa"
    assert Named("a")() == "a"
    assert repr(Named(weights="a")) == "Named(weights='a')"
    with pytest.raises(TypeError, match="both"):
        Named(model="a", weights="a")
    assert list(inspect.signature(Named).parameters) == ["model", "times", "weights", "copy"]

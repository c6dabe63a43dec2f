"""Commands that Polygraphy has and polycmp does not."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("plugin autotune m.onnx", "polycmp plugin replace"),
        ("multi-device shard m.onnx", "several devices"),
        ("template shard-hints m.onnx -o h.json", "several devices"),
        ("surgeon extrac m.onnx", "did you mean 'surgeon extract'"),
    ],
)
def test_words_of_polygraphy_that_mean_something_else_here(polycmp, words, text):
    done = polycmp(*words.split())
    assert (done.status, text in done.err) == (2, True), done.err

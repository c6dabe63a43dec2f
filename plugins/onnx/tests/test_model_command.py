"""Commands over models take the options of those who read and write models, and no others."""

from __future__ import annotations


def test_help_of_convert_shows_what_convert_uses(polycmp):
    shown = polycmp("convert", "--help").out
    assert [
        word for word in ("--fp-to-fp16", "--onnx-outputs", "--save-external-data", "-o") if word not in shown
    ] == []
    assert [word for word in ("--atol", "--report", "--save-onnx", "--onnxrt-", "--warm-up") if word in shown] == []

"""`debug reduce` that cannot be: the words on the command line contradict each other, or lack something."""

from __future__ import annotations

import sys

import pytest
from faulty_models import layers


class TestWrongUsage:
    @pytest.mark.parametrize(
        ("words", "text"),
        [
            (("--check",), "needs a command after it"),
            ((), "no --check is given"),
            (("-b", "onnxrt", "-b", "onnx", "--check", "true"), "both say what fails"),
            (("--fail-code", "1", "--ignore-fail-code", "2", "--check", "true"), "exclude each other"),
            (("--fail-regex", "(", "--check", "true"), "is not a regular expression"),
            (("--check", "no-such-command-at-all"), "cannot run 'no-such-command-at-all'"),
            (("--check", "polycmp", "run", "--no-such-option"), "the command is used wrongly"),
        ],
    )
    def test_reduce(self, polycmp, tmp_path, monkeypatch, words, text):
        layers(tmp_path / "chain.onnx", 4)
        with open("/dev/null") as nothing:
            monkeypatch.setattr(sys, "stdin", nothing)
            done = polycmp("debug", "reduce", "chain.onnx", *words)
        assert (done.status, text in done.err) == (2, True), done.out + done.err

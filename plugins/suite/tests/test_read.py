"""The suite file: what it stands for, and what is said of mistakes."""

from __future__ import annotations

import pytest


def test_every_mistake_is_named_with_its_line(suite):
    suite.write("""nmae = "x"
[defaults]
backends = ["onnxrt", "onnx"]

[[case]]
model = "one.onnx"
atoll = 1

[[case]]
model = "nothing-*.onnx"

[[case]]
model = [
  "two.onnx",
]
timeout = -3
atol = "much"

[[case]]
model = "one.onnx"
name = "other"
backends = ["onnxrt:optimisation=off"]

[[case]]
model = "two.onnx"
name = "other2"
expected-failure = { until = 2027-01-01 }
""")
    done = suite("suite.toml", status=2)
    for words in (
        "suite.toml has 6 mistakes; nothing was started",
        "line 1: there is no key 'nmae'",
        "line 7: there is no option 'atoll' (did you mean 'atol'",
        "line 10: no file matches model = 'nothing-*.onnx'",
        "line 16: timeout: a number of seconds above 0",
        "line 22: -b onnxrt:optimisation=off",
        "line 27: expected-failure: a reason is missing",
    ):
        assert words in done.stderr, (words, done.stderr)
    assert not (suite.folder / "suite-results").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[case]\n", "not valid TOML"),
        ("", "there is no [[case]]"),
        ('[[case]]\nmodel = "one.onnx"\n', "no backend given"),
        ('[[case]]\nbackend = "onnx"\n', "no model given"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "nobody"\n', "line 3: there is no backend 'nobody'"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\ncommand = "lcoate"\n', "did you mean 'locate'"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nreport = ["x.json"]\n', "'report' is not allowed in a case"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nbackends = "onnx"\n', "repeats another key"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\n' * 2, "the case 'one' is already in line 1"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nmatrix = { atol = 3 }\n', "is a list of values"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nmatrix = { retries = [-1] }\n', "line 4: retries: a whole"),
        ("case = 3\n", "cases are written as [[case]]"),
        ('defaults = 3\n[[case]]\nmodel = "one.onnx"\n', "defaults are a table"),
    ],
)
def test_a_wrong_file_is_wrong_usage(suite, text, words):
    suite.write(text)
    done = suite("suite.toml", status=2)
    assert words in done.stderr.replace("\n        ", " "), done.stderr


def test_a_missing_file_is_said(suite):
    done = suite("nothing.toml", status=3)
    assert "no such suite file or folder: nothing.toml" in done.stderr

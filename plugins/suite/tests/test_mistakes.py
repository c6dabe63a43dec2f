"""Mistakes of a suite file are told all at once."""

from __future__ import annotations


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

"""The command that writes the model."""

from __future__ import annotations


def test_a_command_that_does_not_write_the_model_is_wrong_usage(place):
    words = ("bisect", "out.onnx", "-b", "onnxrt", "-b", "onnx", "--over", "toyconv", "--", "toyconv", "m.onnx", "o")
    done = place.polycmp(*words)
    assert (done.returncode, "no word of the command is out.onnx" in done.stderr) == (2, True), done.stderr

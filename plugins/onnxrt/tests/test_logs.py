"""What ONNX Runtime writes: silent by default, through logging when asked for, and other text passed on."""

from __future__ import annotations

import logging
import os

import numpy as np
import pytest
from onnx import helper
from onnxrt_models import model, value

from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx


def noisy():
    """A model about which ONNX Runtime has a warning: the declared shape is wrong."""
    node = helper.make_node("Concat", ["x", "x"], ["y"], axis=0)
    return model([node], [value("x")], [value("y", shape=(3,))])


def run_noisy():
    with OnnxrtRunner(SessionFromOnnx(noisy())) as runner:
        runner.infer({"x": np.ones(4, np.float32)})


@pytest.mark.parametrize("level", [logging.WARNING, logging.INFO])
def test_silent_by_default(capfd, caplog, level):
    caplog.set_level(level, logger="polycmp.onnxrt")
    run_noisy()
    captured = capfd.readouterr()
    assert (captured.out, captured.err, caplog.records) == ("", "", [])


@pytest.mark.parametrize(("level", "most"), [(logging.DEBUG, logging.DEBUG), (7, 7), (4, 4)])
def test_messages_go_through_logging_when_asked_for(capfd, caplog, level, most):
    caplog.set_level(level, logger="polycmp.onnxrt")
    run_noisy()
    assert any("shape" in record.message for record in caplog.records)
    assert min(record.levelno for record in caplog.records) == most
    assert ":onnxruntime:" not in capfd.readouterr().err  # as ONNX Runtime begins its own lines


def test_other_peoples_text_is_passed_on_while_capturing(capfd, caplog):
    from polycmp_onnxrt.logs import captured

    caplog.set_level(logging.DEBUG, logger="polycmp.onnxrt")
    with captured():
        os.write(2, b"hello\n")
    assert "hello" in capfd.readouterr().err
    assert caplog.records == []

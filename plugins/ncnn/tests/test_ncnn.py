"""What users see of the backend `ncnn`: commands, types and errors."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from engine_models import FindsAnotherWeight, operator, polycmp, printed
from onnx import TensorProto

from polycmp.errors import BackendError, ModelError
from polycmp_ncnn import NcnnRunner

pytest.importorskip("ncnn", reason="needs ncnn: make test-ncnn")


class TestFindsAnotherWeight(FindsAnotherWeight):
    backend = "ncnn"


def test_half_precision_is_judged_by_its_type(model, capsys):
    assert polycmp("run", model, "-b", "ncnn:fp16", "-b", "onnxrt") == 0
    assert "float16" in printed(capsys)


def test_convolutions_agree_with_and_without_winograd(model):
    assert polycmp("run", model, "-b", "ncnn:winograd=false", "-b", "ncnn") == 0


def test_nothing_that_pnnx_prints_reaches_standard_output(model, capfd):
    assert polycmp("run", model, "-b", "ncnn", "-q") == 0
    assert "pnnx" not in capfd.readouterr().out


def test_open_sizes_are_converted_as_they_come():
    with NcnnRunner(operator("Relu", TensorProto.FLOAT)) as runner:
        for shape in ((2, 3), (5, 4), (2, 3)):
            array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
            assert np.array_equal(runner.infer({"x": array})["y"], np.maximum(array, 0))


def test_an_operator_that_it_does_not_know_is_an_error_in_words():
    with (
        NcnnRunner(operator("Hardmax", TensorProto.FLOAT)) as runner,
        pytest.raises(ModelError, match="cannot take the model"),
    ):
        runner.infer({"x": np.ones((2, 3), np.float32)})


def test_a_type_that_pnnx_does_not_take_is_an_error_in_words():
    with (
        NcnnRunner(operator("Not", TensorProto.BOOL)) as runner,
        pytest.raises(BackendError, match="takes no bool"),
    ):
        runner.infer({"x": np.ones((2, 3), bool)})


def test_a_process_that_ends_is_an_error_in_words():
    with NcnnRunner(operator("Relu", TensorProto.FLOAT)) as runner:
        runner.infer({"x": np.ones((2, 3), np.float32)})
        runner._child.kill()
        with pytest.raises(BackendError, match="its process died"):
            runner.infer({"x": np.ones((2, 3), np.float32)})


def test_without_pnnx_the_command_that_installs_it_is_shown(model, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pnnx", None)
    assert polycmp("run", model, "-b", "ncnn") == 3
    assert "pip install --no-deps pnnx" in printed(capsys)

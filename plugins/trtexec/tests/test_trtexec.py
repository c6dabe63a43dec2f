"""The backend with a stand-in for the program, `standin.py`: the real trtexec was not run."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from commandline import polycmp, toybox
from onnx import TensorProto, helper, numpy_helper

from polycmp.errors import BackendError
from polycmp_trtexec import TrtexecRunner

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")

__all__ = ["polycmp", "toybox"]

STANDIN = Path(__file__).with_name("standin.py")


@pytest.fixture
def trtexec(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bin" / "trtexec"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STANDIN}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def save(shape, name="x", scale=(1.0, -2.0, 3.0), cast=0):
    nodes = [helper.make_node("Mul", [name, "w"], ["y"]), helper.make_node("Greater", ["y", "zero"], ["above"])]
    nodes += [helper.make_node("Log", [name], ["log"])] if cast else []
    weights = [numpy_helper.from_array(np.array(scale, np.float32), "w"),
               numpy_helper.from_array(np.float32(0), "zero")]  # fmt: skip
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
               helper.make_tensor_value_info("above", TensorProto.BOOL, shape)]  # fmt: skip
    outputs += [helper.make_tensor_value_info("log", TensorProto.FLOAT, shape)] if cast else []
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)], outputs, weights
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
    return "m.onnx"


def test_a_model_is_built_once_and_run_for_each_feed(trtexec):
    with TrtexecRunner(save([2, 3]), path=trtexec, flags=["--fp16"]) as runner:
        for value in (0.5, -1.25):
            outputs = runner.infer({"x": np.full((2, 3), value, np.float32)})
            np.testing.assert_allclose(outputs["y"], np.full((2, 3), value) * [1, -2, 3], rtol=1e-5)
            assert outputs["above"].dtype == bool
            assert outputs["above"].tolist() == (np.full((2, 3), value) * [1, -2, 3] > 0).tolist()
        assert runner.last_inference_time() == pytest.approx(0.0025)
    calls = Path("calls.txt").read_text().splitlines()
    assert ["--saveEngine" in call for call in calls] == [True, False, False]
    assert all("--fp16" in call and "hapes=" not in call for call in calls)


def test_open_shapes_get_an_engine_each_and_names_may_hold_colons(trtexec):
    with TrtexecRunner(save(["n", 3], name="in:0"), path=trtexec) as runner:
        for rows in (2, 5, 2):
            assert runner.infer({"in:0": np.ones((rows, 3), np.float32)})["y"].shape == (rows, 3)
    calls = Path("calls.txt").read_text().splitlines()
    assert sum("--saveEngine" in call for call in calls) == 2
    assert "--minShapes='in:0':2x3" in calls[0]


def test_what_is_no_number(trtexec):
    with TrtexecRunner(save([3], cast=1), path=trtexec) as runner:
        log = runner.infer({"x": np.array([-1, 0, 1], np.float32)})["log"]
    assert np.isnan(log[0]) and log[1] == -np.inf and log[2] == 0


def test_a_run_beside_onnx_runtime(polycmp, trtexec, tmp_path):
    save([2, 3])
    done = polycmp("run", "m.onnx", "--trtexec", "--trtexec-path", trtexec, "-b", "onnxrt")
    assert (done.status, "PASSED: 2 outputs" in done.out) == (0, True), done.out + done.err
    assert "six digits" in done.out + done.err
    done = polycmp("run", "m.onnx", "-b", f"trtexec:path={trtexec},arguments=noSuchThing", "-b", "onnxrt")
    assert (done.status, "Unknown option: --noSuchThing" in done.out + done.err) == (3, True)


def test_a_program_that_is_not_there(polycmp, tmp_path):
    save([2, 3])
    done = polycmp("run", "m.onnx", "--trtexec", "--trtexec-path", "gone-trtexec", "-b", "onnxrt")
    assert (done.status, "there is no program 'gone-trtexec'" in done.out + done.err) == (3, True)
    with pytest.raises(BackendError, match="no program 'gone-trtexec'"):
        TrtexecRunner("m.onnx", path="gone-trtexec").activate()

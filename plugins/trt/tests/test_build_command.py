"""`polycmp build` as far as it goes without a device: where engines go, what is refused, what became of each."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import faulty_models
import pytest

from polycmp.cli.main import main
from polycmp.errors import UsageError
from polycmp.plan import BackendPlan, Plan
from polycmp_trt.build_command import engine_files
from polycmp_trt.options import Options


def plan(*labels, **options):
    return Plan("m.onnx", backends=tuple(BackendPlan(label, "trt", Options(**options)) for label in labels))


def test_each_backend_has_a_file_of_its_own():
    two = engine_files(plan("trt", "trt:fp16,tf32"), "out")
    assert two == [Path("out/trt.engine"), Path("out/trt_fp16_tf32.engine")]
    assert engine_files(plan("trt"), "x/one.plan") == [Path("x/one.plan")]
    assert engine_files(plan("trt", save_engine="mine.engine"), "out") == [Path("mine.engine")]


def test_two_engines_never_share_a_file():
    with pytest.raises(UsageError, match="one file for them"):
        engine_files(plan("a", "b"), "one.engine")
    with pytest.raises(UsageError, match="two engines would be written to"):
        engine_files(plan("a b", "a:b"), "out")


def test_other_backends_are_refused(tmp_path, capsys):
    pytest.importorskip("polycmp_onnxrt")
    model = faulty_models.chain(tmp_path / "m.onnx")
    assert main(["build", str(model), "-b", "trt", "-b", "onnxrt", "-o", str(tmp_path / "out")]) == 2
    assert "onnxrt builds no engines" in capsys.readouterr().err
    assert main(["build", str(model)]) == 2
    assert f"polycmp build {model} -b trt" in capsys.readouterr().err


@pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is installed")
def test_each_engine_that_was_not_built_says_why(tmp_path, capsys):
    model, report = faulty_models.chain(tmp_path / "m.onnx"), tmp_path / "r.json"
    words = ["-b", "trt", "-b", "trt:fp16", "-j", "2", "-o", str(tmp_path / "out"), "--report", str(report)]
    assert main(["build", str(model), *words]) == 3
    shown = capsys.readouterr()
    assert "ERROR: built 0 of 2 engines" in shown.out + shown.err
    found = json.loads(report.read_text())["engines"]
    assert [item["backend"] for item in found] == ["trt", "trt:fp16"]
    assert all(re.search("'tensorrt'.* not installed", item["error"]) for item in found)
    assert "pip install 'polycmp-trt[cu12]'" in shown.out + shown.err

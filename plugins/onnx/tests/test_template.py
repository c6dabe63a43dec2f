"""`polycmp template onnx-gs`: a script to begin with, which is Python and names the model."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from commandline import polycmp, toybox
from small_models import small_model

__all__ = ["polycmp", "toybox"]


@pytest.fixture
def model(tmp_path):
    """A small model in the folder where commands run."""
    onnx.save(small_model(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_writes_an_executable_script(polycmp, model):
    done = polycmp("template", "onnx-gs", "model.onnx", "-o", "script.py")
    assert done.status == 0, done.err
    source = Path("script.py").read_text()
    ast.parse(source)
    assert "import_onnx" in source
    assert "model.onnx" in source
    assert os.access("script.py", os.X_OK)


def test_a_model_that_is_not_there(polycmp):
    done = polycmp("template", "onnx-gs", "gone.onnx", "-o", "script.py")
    assert (done.status, "no such model file: gone.onnx" in done.err) == (3, True)
    assert not Path("script.py").exists()


@pytest.mark.parametrize(
    "name", ["it's.onnx", 'a"b.onnx', 'tri"""ple.onnx', "back\\slash.onnx", "ünï.onnx", "{x}.onnx"]
)
def test_any_file_name(polycmp, model, name):
    model.rename(model.with_name(name))
    assert polycmp("template", "onnx-gs", name, "-o", "script.py").status == 0
    ast.parse(Path("script.py").read_text())


def test_the_script_changes_the_model(polycmp, model):
    pytest.importorskip("onnx_graphsurgeon")
    pytest.importorskip("onnxruntime")
    polycmp("template", "onnx-gs", "model.onnx", "-o", "script.py")
    subprocess.run([sys.executable, "script.py"], check=True, capture_output=True)
    assert polycmp("run", "model_updated.onnx", "-b", "onnxrt", "-b", "onnxrt:model=model.onnx").status == 0

"""`polycmp template`: scripts to begin with, which are Python and name the model."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

COMMANDS = {"onnx-gs": "import_onnx", "trt-network": "load_network", "trt-config": "load_config"}
NAMES = ["it's.onnx", 'a"b.onnx', 'tri"""ple.onnx', "back\\slash.onnx", "ünï.onnx", "{x}.onnx"]


@pytest.mark.parametrize(("name", "word"), COMMANDS.items())
def test_writes_an_executable_script(polycmp, model, name, word):
    done = polycmp("template", name, "model.onnx", "-o", "script.py")
    assert done.status == 0, done.err
    source = Path("script.py").read_text()
    ast.parse(source)
    assert word in source
    assert "model.onnx" in source
    assert os.access("script.py", os.X_OK)


@pytest.mark.parametrize("name", ["trt-network", "trt-config"])
def test_a_model_is_not_needed(polycmp, name):
    assert polycmp("template", name, "-o", "script.py").status == 0
    ast.parse(Path("script.py").read_text())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_model_that_is_not_there(polycmp, name):
    done = polycmp("template", name, "gone.onnx", "-o", "script.py")
    assert (done.status, "no such model file: gone.onnx" in done.err) == (3, True)
    assert not Path("script.py").exists()


@pytest.mark.parametrize(
    "text", ["it's.onnx", 'a"b.onnx', 'tri"""ple.onnx', "back\\slash.onnx", "ünï.onnx", "{x}.onnx"]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_any_file_name(polycmp, model, name, text):
    model.rename(text)
    assert polycmp("template", name, text, "-o", "script.py").status == 0
    ast.parse(Path("script.py").read_text())


def test_the_script_changes_the_model(polycmp, model):
    pytest.importorskip("onnx_graphsurgeon")
    import subprocess
    import sys

    polycmp("template", "onnx-gs", "model.onnx", "-o", "script.py")
    subprocess.run([sys.executable, "script.py"], check=True, capture_output=True)
    assert polycmp("run", "model_updated.onnx", "-b", "onnxrt", "-b", "onnxrt:model=model.onnx").status == 0

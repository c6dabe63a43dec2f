"""`polycmp template trt-network` and `trt-config`: scripts to begin with, which are Python and name the model."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import guilty
import pytest
from commandline import polycmp, toybox

__all__ = ["polycmp", "toybox"]

COMMANDS = {"trt-network": "load_network", "trt-config": "load_config"}


@pytest.mark.parametrize(("name", "word"), COMMANDS.items())
def test_writes_an_executable_script(polycmp, tmp_path, name, word):
    guilty.chain(tmp_path / "model.onnx")
    done = polycmp("template", name, "model.onnx", "-o", "script.py")
    assert done.status == 0, done.err
    source = Path("script.py").read_text()
    ast.parse(source)
    assert word in source
    assert "model.onnx" in source
    assert os.access("script.py", os.X_OK)


@pytest.mark.parametrize("name", COMMANDS)
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
def test_any_file_name(polycmp, tmp_path, name, text):
    guilty.chain(tmp_path / text)
    assert polycmp("template", name, text, "-o", "script.py").status == 0
    ast.parse(Path("script.py").read_text())

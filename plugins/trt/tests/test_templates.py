"""`polycmp template trt-network` and `trt-config`: scripts to begin with, which are Python and name the model."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import faulty_models
import pytest
from commandline import polycmp, toybox

__all__ = ["polycmp", "toybox"]

COMMANDS = {"trt-network": "load_network", "trt-config": "load_config"}


@pytest.mark.parametrize(("name", "word"), COMMANDS.items())
def test_writes_an_executable_script(polycmp, tmp_path, name, word):
    faulty_models.chain(tmp_path / "model.onnx")
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


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("trt-config", "--fp16"), "fp16=True"),
        (("trt-config", "--int8", "--calibration-cache", "c.bin"), "CalibratorFromData(data_loader, 'c.bin'"),
        (("trt-config", "--trt-min-shapes", "x:[1,8]", "--trt-opt-shapes", "x:[2,8]", "--trt-max-shapes", "x:[4,8]"),
         "Profile().add('x', min=(1, 8), opt=(2, 8), max=(4, 8))"),
        (("trt-network", "--model-type", "onnx", "--trt-outputs", "y", "model.onnx"), "ModifyNetworkOutputs("),
    ],
)  # fmt: skip
def test_options_of_the_builder_stand_in_the_script(polycmp, tmp_path, words, text):
    faulty_models.chain(tmp_path / "model.onnx")
    done = polycmp("template", *words, "-o", "script.py")
    assert done.status == 0, done.err
    source = Path("script.py").read_text()
    assert text in source
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    imported = {alias.asname or alias.name for node in ast.walk(ast.parse(source))
                if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names}  # fmt: skip
    assert names - imported - {"data_loader"} == set()
    assert "data_loader" not in names or "data_loader = DataLoader()" in source


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
    faulty_models.chain(tmp_path / text)
    assert polycmp("template", name, text, "-o", "script.py").status == 0
    ast.parse(Path("script.py").read_text())

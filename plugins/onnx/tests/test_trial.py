"""Loading a model in a process that may die of it."""

from __future__ import annotations

import onnx
from onnx_results import ABORTS, relu

from polycmp_onnx.trial import attempt


def test_a_backend_that_dies_while_it_loads_a_file_ends_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(relu(), "model.onnx")
    with open("sitecustomize.py", "w") as file:
        file.write("import onnxruntime, os\n" + ABORTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = attempt("onnxrt", "model.onnx")
    assert not found.loaded and "SIGABRT" in found.fault and "while loading it" in found.fault

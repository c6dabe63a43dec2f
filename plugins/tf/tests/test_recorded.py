"""`polycmp record` on programs that run LiteRT: what it keeps is replayed to the bit by the backend `tf`."""

from __future__ import annotations

import shlex
import sys

import pytest

from polycmp.cli.main import main

pytest.importorskip("ai_edge_litert")
pytest.importorskip("polycmp_record")

PROGRAM = """
import numpy as np
from ai_edge_litert.interpreter import Interpreter
random = np.random.default_rng(0)
for interpreter in (Interpreter("toy.tflite"), Interpreter("toy.tflite", num_threads=1)):
    interpreter.allocate_tensors()
    (given,) = interpreter.get_input_details()
    for _ in range(2):
        interpreter.set_tensor(given["index"], random.random((1, 8), dtype=np.float32))
        interpreter.invoke()
    interpreter.get_signature_runner()(x=random.random((1, 8), dtype=np.float32))
Interpreter(model_content=open("toy.tflite", "rb").read()).get_signature_runner()(x=np.ones((1, 8), np.float32))
"""


def test_calls_of_every_kind_are_kept_and_replayed(tmp_path, monkeypatch, capfd):
    tensorflow = pytest.importorskip("tensorflow")

    class Toy(tensorflow.Module):
        @tensorflow.function(input_signature=[tensorflow.TensorSpec([1, 8], tensorflow.float32, name="x")])
        def run(self, x):
            return {"out": tensorflow.tanh(x - 0.5)}

    toy = Toy()
    tensorflow.saved_model.save(toy, str(tmp_path / "saved"), signatures={"serving_default": toy.run})
    made = tensorflow.lite.TFLiteConverter.from_saved_model(str(tmp_path / "saved"))
    (tmp_path / "toy.tflite").write_bytes(made.convert())
    (tmp_path / "app.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert main(["record", "-o", "calls", "--", sys.executable, "app.py"]) == 0
    said = capfd.readouterr().err
    assert said.count("recorded 3 calls of toy.tflite by ai_edge_litert") == 2
    assert "recorded 1 call of model.tflite by ai_edge_litert" in said
    commands = [line.removeprefix("  next: ") for line in said.splitlines() if line.startswith("  next: ")]
    assert len(commands) == 3
    for command in commands:
        assert main([*shlex.split(command)[1:], "--atol", "0", "--rtol", "0"]) == 0

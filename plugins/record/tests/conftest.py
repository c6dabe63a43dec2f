"""What the tests of this package share: a model, a program that runs it, and commands in their process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from polycmp.cli.main import run

MODEL = """
import numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper
weights = numpy_helper.from_array(np.random.default_rng(0).random((8, 4), dtype=np.float32), "w")
graph = h.make_graph(
    [h.make_node("MatMul", ["x", "w"], ["y"]), h.make_node("Sigmoid", ["y"], ["z"])],
    "toy",
    [h.make_tensor_value_info("x", T.FLOAT, ["n", 8])],
    [h.make_tensor_value_info(name, T.FLOAT, ["n", 4]) for name in ("z", "y")],
    [weights],
)
"""
PROGRAM = """
import sys
import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("toy.onnx", providers=["CPUExecutionProvider"])
for seed in map(int, sys.argv[1:]):
    x = np.random.default_rng(seed).random((2, 8), dtype=np.float32)
    z, y = session.run(None, {"x": x})
    print(seed, z.shape)
    print("a line of the program", file=sys.stderr)
"""


class Place:
    """A folder with the model `toy.onnx` and the program `app.py`, where commands run."""

    def __init__(self, folder: Path, capfd) -> None:
        self.folder = folder
        self._capfd = capfd
        self.out = self.err = ""

    def polycmp(self, *words: str) -> int:
        """Run a command, keep what it prints, and return its exit status."""
        self._capfd.readouterr()
        status = run(words)
        self.out, self.err = self._capfd.readouterr()
        return status

    def record(self, *words: str, options: tuple[str, ...] = ()) -> int:
        """Record a program in this interpreter."""
        return self.polycmp("record", "-o", "calls", *options, "--", sys.executable, *words)

    def write(self, name: str, text: str) -> None:
        """Write a file of a program."""
        (self.folder / name).write_text(text, encoding="utf-8")

    def calls(self, model: str = "toy") -> int:
        """Return how many calls of a model were kept."""
        return len(list((self.folder / "calls" / model / "inputs").iterdir()))


@pytest.fixture
def place(tmp_path, capfd, monkeypatch):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    made: dict = {}
    exec(MODEL, made)
    opset = [made["h"].make_opsetid("", 17)]
    onnx.save(made["h"].make_model(made["graph"], opset_imports=opset, ir_version=8), tmp_path / "toy.onnx")
    monkeypatch.chdir(tmp_path)
    here = Place(tmp_path, capfd)
    here.write("app.py", PROGRAM)
    return here

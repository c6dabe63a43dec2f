"""A third-party distribution found through a path, a model that it answers for, and both ways of running commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SITE = Path(__file__).parent / "site"


def three_outputs() -> onnx.ModelProto:
    """x [2,4] -> y = 2x, z = x + 1, w = x: what the backend `hostile` computes when it is honest."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["y"]),
        helper.make_node("Add", ["x", "one"], ["z"]),
        helper.make_node("Identity", ["x"], ["w"]),
    ]
    weights = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in (("two", 2), ("one", 1))]
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xyzw"}
    graph = helper.make_graph(nodes, "g", [values["x"]], [values[name] for name in "yzw"], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(count: int = 10, final: bool = False) -> onnx.ModelProto:
    """x [2,4] -> y0 = -x -> y1 = -y0 -> …, all of them outputs or only the last."""
    names = [f"y{i}" for i in range(count)]
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ["x", *names]}
    nodes = [helper.make_node("Neg", [one], [two]) for one, two in zip(["x", *names], names, strict=False)]
    outputs = [values[name] for name in (names[-1:] if final else names)]
    graph = helper.make_graph(nodes, "g", [values["x"]], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def many(hostile) -> Path:
    """So many outputs that the model is run part by part."""
    onnx.save(chain(), "many.onnx")
    return Path("many.onnx")


@pytest.fixture
def deep(hostile) -> Path:
    """One output, and tensors inside that can be looked at."""
    onnx.save(chain(final=True), "deep.onnx")
    return Path("deep.onnx")


@pytest.fixture
def hostile(monkeypatch, tmp_path, polycmp) -> Path:
    """Put the plugin on the path of this process and of its workers; return the model, in the current folder."""
    for name in [name for name in sys.modules if name.startswith("polycmp.cli.")]:
        monkeypatch.delitem(sys.modules, name)  # commands remember the plugins that were found first
    monkeypatch.syspath_prepend(str(SITE))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(SITE), os.environ.get("PYTHONPATH", "")))))
    onnx.save(three_outputs(), tmp_path / "m.onnx")
    return Path("m.onnx")


@pytest.fixture
def fresh(hostile, tmp_path):
    """Run `polycmp` in a process of its own, with files for its output: whoever is left would keep a pipe open."""

    def run(*words: object, closed: str = "", **environ: str) -> tuple[int, str, str]:
        out, err = tmp_path / "stdout.txt", tmp_path / "stderr.txt"
        command: list[Any] = [sys.executable, "-m", "polycmp", *map(str, words)]
        if closed:
            command = ["sh", "-c", f'exec "$@" {closed}', "sh", *command]
        with out.open("wb") as stdout, err.open("wb") as stderr:
            done = subprocess.run(
                command, stdout=stdout, stderr=stderr, env={**os.environ, **environ}, timeout=60, check=False
            )
        return done.returncode, out.read_text(errors="replace"), err.read_text(errors="replace")

    return run

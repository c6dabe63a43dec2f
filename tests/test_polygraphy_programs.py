"""Programs of the shapes that public repositories have run unchanged, and print what they print with Polygraphy.

Each file of `polygraphy_programs/` is written for Polygraphy 0.53.6, in the calls of a public program. What it prints
there stands in `data/polygraphy-0.53.6/programs.json`; where POLYGRAPHY_PYTHON names an interpreter that has it, the
programs are run with it as well.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from copied_processes import ran_python
from live_polygraphy import POLYGRAPHY_PYTHON, live
from onnx import TensorProto, helper, numpy_helper, save
from public_programs import PAGE, PROGRAMS, table
from tutorial_folders import identity_model

TESTS = Path(__file__).parent
PRINTED = json.loads((TESTS / "data/polygraphy-0.53.6/programs.json").read_text(encoding="utf-8"))
#: Messages of Polygraphy, and what they go on with in further lines.
MESSAGE = re.compile(r"(\x1b\[[\d;]*m)?(\[[USXVIWE!]\]|    )")
EACH = pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)


def model_of(nodes, inputs, outputs, weights):
    values = [
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in side] for side in (inputs, outputs)
    ]
    initializers = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "net", *values, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_models(folder: Path) -> None:
    """Write the files that the programs read."""
    conv = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], name="pool"),
        helper.make_node("Flatten", ["p"], ["y"], name="flatten"),
    ]
    weight = (np.arange(108, dtype=np.float32).reshape(4, 3, 3, 3) % 7 - 3) / 8
    sides = [("x", TensorProto.FLOAT, (1, 3, 8, 8))], [("y", TensorProto.FLOAT, (1, 4))]
    for name, factor in (("conv", 1), ("conv_copy", 1), ("conv_off", 1.25)):
        save(model_of(conv, *sides, {"w": weight * np.float32(factor)}), folder / f"{name}.onnx")
    folded = [
        helper.make_node("Shape", ["k"], ["s"]),
        helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceProd", ["f"], ["n"], keepdims=0),
        helper.make_node("Mul", ["x", "n"], ["m"]),
        helper.make_node("Relu", ["m"], ["y"]),
        helper.make_node("Neg", ["m"], ["z"]),
    ]
    sides = [("x", TensorProto.FLOAT, (2, 3))], [(name, TensorProto.FLOAT, (2, 3)) for name in "yz"]
    save(model_of(folded, *sides, {"k": np.zeros((2, 4), np.float32)}), folder / "foldable.onnx")
    embed = [
        helper.make_node("Gather", ["table", "ids"], ["e"]),
        helper.make_node("Unsqueeze", ["mask", "axes"], ["u"]),
        helper.make_node("Cast", ["u"], ["v"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["e", "v"], ["hidden"]),
    ]
    inputs = [(name, TensorProto.INT64, ("batch", "length")) for name in ("ids", "mask")]
    weights = {"table": np.eye(6, 5, dtype=np.float32), "axes": np.array([2], np.int64)}
    outputs = [("hidden", TensorProto.FLOAT, ("batch", "length", 5))]
    save(model_of(embed, inputs, outputs, weights), folder / "dynamic.onnx")
    save(identity_model("x", [1, 1, 2, 2], "y"), folder / "identity.onnx")


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a program has printed besides messages."""
    assert done.returncode == 0, done.stdout + done.stderr
    return "".join(line for line in done.stdout.splitlines(keepends=True) if not MESSAGE.match(line))


@EACH
def test_a_program_prints_the_same_unchanged(program, tmp_path):
    write_models(tmp_path)
    assert printed(ran_python("-m", "polycmp_polygraphy", program, cwd=tmp_path)) == PRINTED[program.stem]


def test_what_is_recorded_is_of_these_programs():
    assert sorted(PRINTED) == [program.stem for program in PROGRAMS]
    assert len(PROGRAMS) >= 30


def test_the_page_holds_the_table():
    assert table() in PAGE.read_text(encoding="utf-8")


@live
@EACH
def test_the_real_tool_prints_what_is_recorded(program, tmp_path):
    write_models(tmp_path)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [POLYGRAPHY_PYTHON, str(program)]
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert printed(done) == PRINTED[program.stem]

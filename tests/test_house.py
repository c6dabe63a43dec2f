"""The page that leads through the code by one request names functions that this request calls, in that order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from polycmp.cli.main import run

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "house-in-ten-minutes.md"
CORE = ROOT / "core" / "src" / "polycmp"
STOP = re.compile(r"^\| `([\w/]+\.py):([\w.]+)` \|", re.MULTILINE)


def stops() -> list[tuple[Path, str]]:
    """Return the file and the last name of each stop of the walk."""
    found = STOP.findall(PAGE.read_text(encoding="utf-8"))
    return [(located(file), name.rpartition(".")[2]) for file, name in found]


def located(name: str) -> Path:
    """Return where a file or folder of the page lies: in the core, or from the top."""
    return CORE / name if (CORE / name).exists() else ROOT / name


def trace(words: list[str], watched: set[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return the calls of some functions that a command makes, in order."""
    called: list[tuple[Path, str]] = []
    known = {(str(file.resolve()), name): (file, name) for file, name in watched}

    def note(frame, event, _argument):
        if event == "call" and (stop := known.get((frame.f_code.co_filename, frame.f_code.co_name))):
            called.append(stop)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        status = run(words)
    finally:
        sys.setprofile(before)
    assert status == 0
    return called


def test_the_walk_is_what_happens(tmp_path):
    path = tmp_path / "model.onnx"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 512]) for name in "xy"]
    weights = np.random.default_rng(0).standard_normal((2, 512, 512)).astype(np.float32) / 16
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["h"]),
        helper.make_node("MatMul", ["h", "w1"], ["y"]),
    ]
    held = [numpy_helper.from_array(weight, f"w{index}") for index, weight in enumerate(weights)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    walk = stops()
    assert len(walk) > 20
    # In float64, since on some processors both backends make the same bits in float32.
    called = iter(trace(["run", str(path), "-b", "onnxrt", "-b", "onnx:dtype=float64"], set(walk)))
    assert [stop for stop in walk if stop not in called] == []  # each is looked for behind the one before


def test_the_functions_and_files_that_the_page_names_exist():
    names = re.findall(r"`([\w/]+(?:\.py|/))(?::[\w.]+)?`", PAGE.read_text(encoding="utf-8"))
    names = [name for name in names if "/" in name]
    assert names
    assert [name for name in names if not located(name).exists()] == []
    functions = re.findall(r"`([\w/]+\.py):([\w.]+)`", PAGE.read_text(encoding="utf-8"))
    defined = {
        (file, name)
        for file, name in functions
        if re.search(rf"^ *(?:def|class) {name.rpartition('.')[2]}\b", located(file).read_text("utf-8"), re.MULTILINE)
    }
    assert set(functions) - defined == set()

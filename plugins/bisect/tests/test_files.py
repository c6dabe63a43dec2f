"""`--over files`: the first of a row of files that is wrong, in this process alone."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


@pytest.fixture
def exports(tmp_path):
    def write(*factors):
        for number, factor in enumerate(factors):
            graph = helper.make_graph(
                [helper.make_node("Mul", ["x", "k"], ["y"])],
                "g",
                [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
                [onnx.numpy_helper.from_array(np.float32(factor), "k")],
            )
            made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
            onnx.save(made, tmp_path / f"n{number}.onnx")
        return [f"n{number}.onnx" for number in range(len(factors))]

    return write


def bisect(folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", "bisect", *words, "--over", "files", "--no-locate", "--report", "r.json"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    report = folder / "r.json"
    return done, json.loads(report.read_text()) if report.exists() else {}


def test_the_first_file_that_differs_is_named(exports, tmp_path):
    files = exports(2, 2, 2, 2, 3, 3, 3)
    done, report = bisect(tmp_path, *files, "-b", "onnxrt", "-b", "onnxrt:model=n0.onnx")
    assert done.returncode == 1, done.stderr
    assert (report["first_bad"], report["last_good"]) == ("n4.onnx", "n3.onnx")
    assert "first bad file n4.onnx, last good n3.onnx" in done.stdout


def test_files_that_are_all_right_are_no_failure(exports, tmp_path):
    done, report = bisect(tmp_path, *exports(2, 2, 2), "-b", "onnxrt", "-b", "onnxrt:model=n0.onnx")
    assert (done.returncode, report["first_bad"]) == (0, None), done.stderr
    assert "n2.onnx is good" in done.stdout


def test_one_file_is_nothing_to_search_over(exports, tmp_path):
    done, _ = bisect(tmp_path, *exports(2), "-b", "onnxrt", "-b", "onnx")
    assert (done.returncode, "at least two files" in done.stderr) == (2, True)

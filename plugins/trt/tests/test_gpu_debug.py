"""`polycmp debug build` on a real device, as the documents of users spell it."""

from __future__ import annotations

import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.cli.main import main

pytestmark = pytest.mark.gpu


def test_engines_are_built_checked_and_their_replays_sorted(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 2, 2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "net", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), "identity.onnx")
    assert main(["run", "identity.onnx", "--onnxrt", "--save-outputs", "golden.json"]) == 0
    build = (
        "debug build identity.onnx --fp16 --save-tactics replay.json --artifacts-dir replays --artifacts replay.json"
    )
    check = "--until=3 --check polycmp run polycmp_debug.engine --trt --load-outputs golden.json"
    # In a process of its own, as users have it: this one may use CUDA already, and the check starts as a copy of it.
    words = [sys.executable, "-X", "utf8", "-m", "polycmp", *f"{build} {check}".split()]
    done = subprocess.run(words, check=False, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "polycmp_debug.engine").exists()
    assert not (tmp_path / "replays" / "bad").exists()
    assert "Passed: 3/3 | Pass Rate: 100.0%" in done.stdout
    assert main(["inspect", "diff-tactics", "--dir", "replays"]) == 0

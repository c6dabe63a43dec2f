"""`polycmp debug build` on a real device, as the documents of users spell it."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from polycmp.cli.main import main

pytestmark = pytest.mark.gpu


def test_engines_are_built_checked_and_their_replays_sorted(tmp_path, monkeypatch, capfd):
    pytest.importorskip("polycmp_locate")
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
    done = main(f"{build} {check}".split())
    assert done == 0, capfd.readouterr()
    assert not (tmp_path / "polycmp_debug.engine").exists()
    assert not (tmp_path / "replays" / "bad").exists()
    assert "3 of 3 steps passed" in capfd.readouterr().out
    assert main(["inspect", "diff-tactics", "--dir", "replays"]) == 0

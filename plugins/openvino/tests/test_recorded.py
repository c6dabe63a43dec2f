"""`polycmp record` on programs that run OpenVINO: what it keeps is replayed to the bit by the backend `openvino`."""

from __future__ import annotations

import shlex
import sys

import pytest

from polycmp.cli.main import main

pytest.importorskip("openvino")
pytest.importorskip("polycmp_record")

PROGRAM = """
import numpy as np, openvino as ov
core, random = ov.Core(), np.random.default_rng(0)
compiled = core.compile_model("toy.onnx", "CPU")
x = [random.random((2, 8), dtype=np.float32) for _ in range(5)]
compiled({"x": x[0]})
compiled([x[1]], share_inputs=False)
request = core.compile_model(core.read_model("toy.onnx"), "CPU").create_infer_request()
request.infer({0: x[2]})
request.start_async({"x": x[3]})
request.wait()
request.wait()
compiled.infer_new_request({"x": x[4]})
"""


def test_calls_of_every_kind_are_kept_and_replayed(tmp_path, monkeypatch, capfd):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Gelu", ["x"], ["y"])],
        "toy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), tmp_path / "toy.onnx")
    (tmp_path / "app.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    assert main(["record", "-o", "calls", "--", sys.executable, "app.py"]) == 0
    said = capfd.readouterr().err
    assert "recorded 5 calls of toy.onnx by openvino" in said
    (command,) = [line.removeprefix("  next: ") for line in said.splitlines() if line.startswith("  next: ")]
    assert main([*shlex.split(command)[1:], "--atol", "0", "--rtol", "0"]) == 0

"""The operator at which a backend fails, by an error or with its process."""

from __future__ import annotations

from pathlib import Path

import faulty_models
import numpy as np
import onnx
from located import REPORT, locate_files, located
from onnx import helper, numpy_helper, save_model


def test_the_operator_that_kills_a_backend_is_named(polycmp, tmp_path):
    model = faulty_models.chain(tmp_path / "m.onnx", 4)
    words = ("-b", "faulty:backend=onnxrt,fault=crash,at=c3", "-b", "onnxrt", "--use-subprocess", *REPORT, "--explain")
    done = polycmp("locate", model, *words)
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["operator"]["name"]) == ("the backend fails here", "c3")
    assert "SIGSEGV" in next(iter(found["backends"].values()))["error"]


def test_the_operator_that_a_backend_lacks_is_named(polycmp, tmp_path):
    """Found without any process of its own, since the backend only raises."""
    model = onnx.load(faulty_models.chain(tmp_path / "m.onnx", 4))
    (tmp_path / "ops.py").write_text(
        "from onnx.reference.op_run import OpRun\n"
        "class Softplus(OpRun):\n"
        "    op_domain = ''\n"
        "    def _run(self, x):\n"
        "        raise ValueError('no such luck')\n"
        "new_ops = [Softplus]\n"
    )
    model.graph.node[3].op_type = "Softplus"
    onnx.save(model, tmp_path / "m.onnx")
    done = polycmp(
        "locate", "m.onnx", "-b", "onnx:ops=ops.py", "-b", "onnxrt", "--max-memory", "20K", *REPORT, "--explain"
    )
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["operator"]["name"]) == ("the backend fails here", "r2")
    assert "no such luck" in " ".join(done.out.split())


def test_operators_that_run_as_one_are_all_named_where_the_backend_fails_in_them(polycmp, tmp_path):
    """onnxslim 0.1.90 makes MatMul and Add a Gemm, whose bias has more rows than its product."""
    weights = {"w": np.ones((4, 5), np.float32), "b": np.arange(15, dtype=np.float32).reshape(3, 5)}

    def saved(name: str, *nodes: onnx.NodeProto) -> Path:
        held = [helper.make_tensor_value_info(*item) for item in (("x", 1, [1, 4]), ("y", 1, [3, 5]))]
        graph = helper.make_graph(
            nodes, "g", held[:1], held[1:], [numpy_helper.from_array(v, k) for k, v in weights.items()]
        )
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / name)
        return tmp_path / name

    last = helper.make_node("Relu", ["a"], ["y"], name="y")
    matmul = helper.make_node("MatMul", ["x", "w"], ["m"], name="m")
    good = saved("good.onnx", matmul, helper.make_node("Add", ["m", "b"], ["a"], name="a"), last)
    slim = saved("slim.onnx", helper.make_node("Gemm", ["x", "w", "b"], ["a"], name="m"), last)
    assert locate_files(polycmp, slim, good).status == 1
    assert "cannot run Gemm 'm' and Relu 'y' (nothing between them" in located(tmp_path)["sentence"]

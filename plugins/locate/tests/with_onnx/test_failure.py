"""The operator at which a backend fails, by an error or with its process."""

from __future__ import annotations

import faulty_models
import onnx
from located import REPORT, located


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

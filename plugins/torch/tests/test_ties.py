"""Equal values that a module and its ONNX file name in another order: no fault; a value more that is named is one."""

from __future__ import annotations

import runpy

import numpy as np
import onnx
import pytest

from polycmp.cli.main import main

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

SCRIPT = """
import torch

class Nearest(torch.nn.Module):
    def forward(self, a, b):
        return torch.topk(((a[:, None] - b[None]) ** 2).sum(-1), 3, dim=1, largest=False)

def load_model():
    return Nearest()
"""


@pytest.fixture
def words(tmp_path, monkeypatch):
    """What compares the exported file with the module, on inputs with many equal distances."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nearest.py").write_text(SCRIPT)
    rng = np.random.default_rng(0)
    feed = {name: rng.integers(0, 3, (count, 2)).astype(np.float32) for name, count in (("a", 5), ("b", 40))}
    np.savez("x.npz", **feed)
    torch.onnx.export(
        runpy.run_path("nearest.py")["load_model"](), tuple(map(torch.tensor, feed.values())), "m.onnx", dynamo=False,
        input_names=["a", "b"], output_names=["distances", "indices"], opset_version=17,
    )  # fmt: skip
    return ["m.onnx", "-b", "onnxrt", "-b", "torch:script=nearest.py", "--load-inputs", "x.npz"]


def test_which_of_equal_values_topk_names_first_is_left_open(words, capfd):
    assert main(["run", *words]) == 1
    assert "next: polycmp locate m.onnx -b onnxrt -b torch:script=nearest.py" in capfd.readouterr().out
    assert main(["locate", *words]) == 0
    said = " ".join(capfd.readouterr().out.split())
    assert "NO FAULT: left open: " in said
    assert "PyTorch leaves open which of them come first; nothing else is wrong" in said


def test_the_farthest_in_place_of_the_nearest_are_a_fault(words, capfd):
    model = onnx.load("m.onnx")
    [node] = [node for node in model.graph.node if node.op_type == "TopK"]
    next(item for item in node.attribute if item.name == "largest").i = 1
    onnx.save(model, "m.onnx")
    assert main(["locate", *words]) == 1
    assert "TopK" in capfd.readouterr().out.rpartition("FOUND")[2]

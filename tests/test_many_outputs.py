"""Two files in other types: `run` judges their outputs by its tolerances, however many there are."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model


def heads(count: int) -> onnx.ModelProto:
    """Return x [4,16] -> MatMul, Tanh, once for each output."""
    rng, node = np.random.default_rng(0), helper.make_node
    nodes, weights = [], []
    for place in range(count):
        weights.append((f"w{place}", (rng.standard_normal((16, 16)) / 4).astype(np.float32)))
        nodes += [
            node("MatMul", ["x", f"w{place}"], [f"m{place}"], name=f"m{place}"),
            node("Tanh", [f"m{place}"], [f"y{place}"], name=f"y{place}"),
        ]
    ends = [(f"y{place}", TensorProto.FLOAT, [4, 16]) for place in range(count)]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [4, 16])], ends, weights)


@pytest.mark.parametrize("count", [7, 8])
def test_a_file_in_float16_is_judged_alike_however_many_outputs_it_has(polycmp, tmp_path, count):
    onnx.save(heads(count), tmp_path / "old.onnx")
    assert polycmp("convert", "old.onnx", "--fp-to-fp16", "-o", "new.onnx").status == 0
    pair = ["new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx"]
    assert [polycmp(*words, *pair).status for words in (["run", "--save-outputs", "a.npz"], ["locate"])] == [0, 0]
    said = polycmp("run", *pair, "--atol", "1e-5", "--rtol", "1e-5")
    assert said.status == 1, said.out
    assert f"{count} of {count} outputs differ" in " ".join(said.out.split()), said.out
    assert polycmp("run", *pair, "--tolerance", "auto").status == 0
    assert polycmp("run", *pair, "--mark-all").status == 0

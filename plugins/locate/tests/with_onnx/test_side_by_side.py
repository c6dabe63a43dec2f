"""polycmp run --mark-all over two models that differ."""

from __future__ import annotations

import converted_models as converted
import numpy as np
import pytest
from equalised_models import FACTORS, equalised
from onnx import TensorProto


@pytest.mark.parametrize(("last", "status"), [("Exp", 0), ("Neg", 1)], ids=["right", "wrong"])
def test_a_name_that_an_optimiser_gave_to_a_tensor_of_another_shape_is_no_fault_where_outputs_agree(
    polycmp, tmp_path, last, status
):
    turned = {"perm": [1, 0, 2]}
    nodes = [converted.node("Relu", "x", "r"), converted.node("Transpose", "r", "a", **turned)]
    nodes += [converted.node("Transpose", "a", "b", **turned), converted.node("Exp", "b", "y")]
    converted.save(tmp_path / "old.onnx", nodes, {})
    converted.save(tmp_path / "new.onnx", [converted.node("Relu", "x", "a"), converted.node(last, "a", "y")], {})
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(5).random((2, 5, converted.WIDTH), np.float32))
    words = ["-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx", "--load-inputs", "x.npz"]
    done = polycmp("run", "new.onnx", *words, "--mark-all")
    assert done.status == status, done.out


FLOAT = TensorProto.FLOAT


@pytest.mark.parametrize(("changes", "status"), [({}, 0), ({"times": 1.3}, 1), ({"undone": False}, 1)])
def test_every_tensor_is_judged_beside_outputs_that_agree(polycmp, tmp_path, changes, status):
    new, old = equalised(tmp_path / "new.onnx", factors=FACTORS, **changes), equalised(tmp_path / "old.onnx")
    done = polycmp("run", new, "-b", "onnxrt", "-b", f"onnxrt:name=old,model={old}", "--mark-all")
    assert done.status == status, done.out

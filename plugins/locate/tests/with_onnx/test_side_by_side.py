"""polycmp run --mark-all over two models that differ."""

from __future__ import annotations

import converted_models as converted
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model


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


ONES = np.ones(8, np.float32)


FACTORS = np.exp(np.linspace(-1.5, 1.5, 8)).astype(np.float32)


def equalised(path, *, factors=ONES, times=1.0, undone=True):
    """conv1 -> Relu -> conv2 -> y; channels between the two are multiplied by factors, which conv2 undoes."""
    random = np.random.default_rng(0)
    first, bias = random.standard_normal((8, 3, 3, 3)), random.standard_normal(8)
    second = times * random.standard_normal((5, 8, 3, 3))
    factors = factors.astype(np.float64)
    shaped = factors[:, None, None, None]
    undoing = 1.0 / factors if undone else np.ones(8)
    weights = {
        "w1": first * shaped,
        "b1": bias * factors,
        "w2": second * undoing[None, :, None, None],
        "b2": random.standard_normal(5),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="conv1"),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["y"], name="conv2"),
    ]
    held = [(name, array.astype(np.float32)) for name, array in weights.items()]
    onnx.save(graph_model(nodes, [("x", FLOAT, [1, 3, 8, 8])], [("y", FLOAT, [1, 5, 4, 4])], held), path)
    return path


@pytest.mark.parametrize(("changes", "status"), [({}, 0), ({"times": 1.3}, 1), ({"undone": False}, 1)])
def test_every_tensor_is_judged_beside_outputs_that_agree(polycmp, tmp_path, changes, status):
    new, old = equalised(tmp_path / "new.onnx", factors=FACTORS, **changes), equalised(tmp_path / "old.onnx")
    done = polycmp("run", new, "-b", "onnxrt", "-b", f"onnxrt:name=old,model={old}", "--mark-all")
    assert done.status == status, done.out

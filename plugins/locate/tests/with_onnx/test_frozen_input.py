"""A number of the example inputs that an export holds as a constant, where the model reads it anew each time."""

from __future__ import annotations

import numpy as np
import pytest
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph

FLOAT, WHOLE = TensorProto.FLOAT, TensorProto.INT64
ENDS = [("x", FLOAT, [2, 3]), ("k", WHOLE, [])], [("y", FLOAT, [2, 3])]
X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def written(path, nodes, weight, value):
    """A file that makes y of the tangent of x and of k."""
    first = helper.make_node("Tanh", ["x"], ["t"], name="tanh"), helper.make_node("Cast", ["k"], ["f"], to=FLOAT)
    return save_graph(path, [*first, *nodes], *ENDS, [(weight, np.float32(value))])


def exported(path, held):
    """A constant times the tangent, and k."""
    nodes = [helper.make_node("Mul", ["t", "held"], ["m"], name="mul"), helper.make_node("Add", ["m", "f"], ["y"])]
    return written(path, nodes, "held", held)


def model(path):
    """K times the tangent, and k."""
    nodes = [helper.make_node("Add", ["t", "one"], ["a"], name="add"), helper.make_node("Mul", ["a", "f"], ["y"])]
    return written(path, nodes, "one", 1)


@pytest.mark.parametrize(("held", "status"), [(3.0, 1), (2.5, 1), (6.0, 0)])
def test_a_constant_is_said_to_stand_for_what_both_files_read(polycmp, tmp_path, held, status):
    """onnx#2963: `k.item()` is a constant of the export, which reads k for something else."""
    made, source = exported(tmp_path / "made.onnx", held), model(tmp_path / "source.onnx")
    np.savez("x.npz", x=X, k=np.int64(6))
    words = ("-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", "--load-inputs", "x.npz", *REPORT)
    assert polycmp("locate", made, *words).status == status
    notes = [note for note in located(tmp_path)["notes"] if "frozen" in note]
    cause = (
        f"cause: of {held:g} in place of 'f' both make the same 'y': the constant 'held' stands for it, frozen from "
        "the example inputs of the export"
    )
    assert notes == [cause] * status


def test_a_small_constant_that_is_wrong_stands_for_no_input(polycmp, tmp_path):
    """With next to nothing for the input both sides make next to the same of it, whatever the constant is."""

    def scaled(name, offset):
        nodes = [helper.make_node("Add", ["x", "c"], ["s"], name="add"), helper.make_node("Mul", ["s", "w"], ["m"])]
        nodes.append(helper.make_node("Add", ["m", "x"], ["y"], name="rest"))
        ends = [("x", FLOAT, [2, 3]), ("w", FLOAT, [])], [("y", FLOAT, [2, 3])]
        return save_graph(tmp_path / name, nodes, *ends, [("c", np.float32(offset))])

    np.savez("x.npz", x=X, w=np.float32(2))
    made, source = scaled("made.onnx", 1e-5), scaled("source.onnx", 0.3)
    words = ("-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", "--load-inputs", "x.npz", *REPORT)
    assert polycmp("locate", made, *words).status == 1
    assert "frozen" not in " ".join(located(tmp_path)["notes"])

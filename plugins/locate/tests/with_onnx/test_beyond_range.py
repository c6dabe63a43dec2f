"""Numbers that a type cannot hold."""

from __future__ import annotations

import converted_models as converted
import numpy as np
import onnx
import pytest
from located import REPORT, locate_files, located
from onnx import TensorProto, helper
from small_models import graph_model, save_graph


def overflowing(path):
    """Two products, of which the first reaches some 100,000 and the second brings that back."""
    rng = np.random.default_rng(4)
    nodes = [
        helper.make_node("MatMul", ["x", "up"], ["large"], name="up"),
        helper.make_node("Relu", ["large"], ["kept"], name="relu"),
        helper.make_node("MatMul", ["kept", "down"], ["y"], name="down"),
    ]
    ranges = {"up": (2e3, 6e3), "down": (-1e-3, 1e-3)}
    weights = [(name, rng.uniform(*ends, (64, 64)).astype(np.float32)) for name, ends in ranges.items()]
    return save_graph(path, nodes, [("x", TensorProto.FLOAT, [8, 64])], [("y", TensorProto.FLOAT, [8, 64])], weights)


@pytest.mark.parametrize("where", ["in the backend", "in the file"])
def test_numbers_that_float16_cannot_hold_are_told(polycmp, tmp_path, where):
    """The commonest fault of a model in float16: nothing is wrong with the kernels."""
    model = overflowing(tmp_path / "m.onnx")
    words = (model, "-b", "onnx:dtype=float16", "-b", "onnx")
    if where == "in the file":
        assert polycmp("convert", model, "--fp-to-fp16", "-o", tmp_path / "half.onnx").status == 0
        words = (tmp_path / "half.onnx", model, "-b", "onnx")
    done = polycmp("locate", *words, *REPORT)
    assert done.status == 1, done.out + done.err
    [note] = [note for note in located(tmp_path)["notes"] if note.startswith("cause:")]
    assert "in the reference; " in note, note
    assert "has float16, whose largest number is 65504" in note.replace("may calculate in", "has"), note


def test_an_overflow_of_float16_is_named(polycmp, tmp_path):
    good = converted.edited(
        converted.network(tmp_path / "net.onnx"), tmp_path / "good.onnx", converted.enlarged("upper1", 6e4)
    )
    assert polycmp("convert", good, "--fp-to-fp16", "-o", "half.onnx").status == 0
    done = polycmp("locate", "half.onnx", "-b", "onnx:name=new", "-b", f"onnxrt:name=old,model={good}", *REPORT)
    assert done.status == 1, done.out
    found = located(tmp_path)
    assert found["words"] == "NaN/Inf born here"
    assert found["first_bad"] == "upper1_large"


def test_an_overflow_that_this_backend_does_not_suffer_from_is_told(polycmp, tmp_path):
    good = converted.edited(
        converted.network(tmp_path / "net.onnx"), tmp_path / "good.onnx", converted.enlarged("upper1", 6e4)
    )
    assert polycmp("convert", good, "--fp-to-fp16", "-o", "half.onnx").status == 0
    locate_files(polycmp, tmp_path / "half.onnx", good)
    assert "float16 cannot hold 'upper1_large'" in located(tmp_path)["sentence"]


def test_an_operator_that_cannot_be_given_the_reference_s_numbers_is_not_wrong(polycmp, tmp_path):
    """TensorRT#2564: squares of a layer norm lie beyond float16; ONNX Runtime calculates them in float32."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("MatMul", ["x", "W"], ["projected"]),
        helper.make_node("ReduceMean", ["projected"], ["mean"], axes=[-1]),
        helper.make_node("Sub", ["projected", "mean"], ["centred"]),
        helper.make_node("Pow", ["centred", "two"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["variance"], axes=[-1]),
        helper.make_node("Sqrt", ["variance"], ["deviation"]),
        helper.make_node("Div", ["centred", "deviation"], ["normal"]),
        helper.make_node("MatMul", ["normal", "V"], ["y"]),
    ]
    weights = [("W", 100.0 * random.standard_normal((16, 64)).astype("f")), ("two", np.array(2.0, "f"))]
    weights.append(("V", random.standard_normal((64, 8)).astype("f")))
    onnx.save(graph_model(nodes, [("x", 1, [4, 16])], [("y", 1, [4, 8])], weights, opset=13), "norm.onnx")
    np.savez("x.npz", x=random.standard_normal((4, 16)).astype(np.float32))
    assert polycmp("convert", "norm.onnx", "-o", "half.onnx", "--fp-to-fp16").status == 0
    words = ("half.onnx", "-b", "onnxrt:name=half", "-b", "onnxrt:name=float,model=norm.onnx", "--load-inputs", "x.npz")
    done = polycmp("locate", *words)
    assert done.status == 0, done.out
    assert "float16 cannot hold 'square'" in " ".join(done.out.split())

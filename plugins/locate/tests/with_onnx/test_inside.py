"""Operators inside If, Loop and Scan are named, as the first iteration or the branch that is taken shows them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from in_parts import a_few
from onnx import TensorProto, helper, numpy_helper
from small_models import graph_model

#: A Relu that is wrong about numbers below zero, for the backend `onnx`.
RELU = """
import numpy as np
from onnx.reference.op_run import OpRun

class Relu(OpRun):
    def _run(self, x):
        return (np.where(x > 0, x, x / 4),)
"""
FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def body(nodes, inputs, outputs, **weights):
    held = [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in weights.items()]
    made = [helper.make_node(op, reads, [made], name=made) for op, reads, made in nodes]
    return helper.make_graph(made, "inside", inputs, outputs, held)


def branch(op="Relu"):
    """Read two tensors from around: one that is computed, and a weight."""
    nodes = [("Mul", ["h", "w"], "m"), (op, ["m"], "r"), ("Add", ["r", "w"], "b")]
    return body(nodes, [], [value("b")])


def an_if(condition):
    choice = "c" if condition is None else "fixed"
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"], name="square"),
        helper.make_node("Sub", ["x", "square"], ["h"], name="h"),
        helper.make_node("If", [choice], ["y"], name="if", then_branch=branch(), else_branch=branch("Tanh")),
    ]
    weights = [("w", np.arange(1, 4, dtype=np.float32))]
    weights += [] if condition is None else [("fixed", np.array(condition))]
    inputs = [("x", FLOAT, [2, 3])] + ([("c", BOOL, [])] if condition is None else [])
    return graph_model(nodes, inputs, [("y", FLOAT, None)], weights)


def a_loop():
    nodes = [
        ("Identity", ["go"], "on"),
        ("Sub", ["v", "half"], "s"),
        ("Relu", ["s"], "r"),
        ("Mul", ["v", "half"], "next"),
    ]
    inputs = [value("step", INT64, []), value("go", BOOL, []), value("v", FLOAT, [2, 3])]
    inside = body(nodes, inputs, [value("on", BOOL, []), value("next"), value("r")], half=0.5)
    loop = helper.make_node("Loop", ["n", "", "x"], ["last", "y"], name="loop", body=inside)
    return graph_model([loop], [("x", FLOAT, [2, 3])], [("y", FLOAT, None)], [("n", np.array(3))])


def a_scan():
    nodes = [("Add", ["state", "e"], "next"), ("Relu", ["next"], "r")]
    inside = body(nodes, [value("state", FLOAT, [3]), value("e", FLOAT, [3])], [value("next"), value("r")])
    scan = helper.make_node("Scan", ["zero", "x"], ["last", "y"], name="scan", body=inside, num_scan_inputs=1)
    weights = [("zero", np.zeros(3, np.float32))]
    return graph_model([scan], [("x", FLOAT, [2, 3])], [("y", FLOAT, None)], weights)


def nested():
    """The wrong operator is in an If in a Loop."""
    inner = helper.make_node("If", ["go"], ["r"], name="if", then_branch=branch(), else_branch=branch("Tanh"))
    nodes = [
        helper.make_node("Identity", ["go"], ["on"], name="on"),
        helper.make_node("Sub", ["v", "w"], ["h"], name="h"),
        inner,
        helper.make_node("Mul", ["v", "w"], ["next"], name="next"),
    ]
    inputs = [value("step", INT64, []), value("go", BOOL, []), value("v", FLOAT, [2, 3])]
    inside = helper.make_graph(nodes, "inside", inputs, [value("on", BOOL, []), value("next"), value("r")])
    loop = helper.make_node("Loop", ["n", "", "x"], ["last", "y"], name="loop", body=inside)
    weights = [("n", np.array(2)), ("w", np.arange(1, 4, dtype=np.float32))]
    return graph_model([loop], [("x", FLOAT, [2, 3])], [("y", FLOAT, None)], weights)


MODELS = {
    "a branch": (lambda: an_if(None), "If 'if'"),
    "a branch that is always taken": (lambda: an_if(True), "If 'if'"),
    "Loop": (a_loop, "Loop 'loop'"),
    "Scan": (a_scan, "Scan 'scan'"),
    "an If in a Loop": (nested, "If 'if'"),
}


def locate(polycmp, folder, model, candidate):
    (folder / "relu.py").write_text(RELU)
    onnx.save(model, folder / "m.onnx")
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.savez(folder / "x.npz", x=x, c=np.array(True))
    done = polycmp("locate", "m.onnx", "-b", candidate, "-b", "onnxrt", "--load-inputs", "x.npz")
    return done.status, " ".join(done.out.split())


@pytest.mark.parametrize("name", MODELS)
def test_the_operator_inside_is_named(polycmp, tmp_path, name):
    make, outer = MODELS[name]
    status, said = locate(polycmp, tmp_path, make(), "onnx:ops=relu.py:Relu")
    assert status == 1, said
    assert f"inside {outer}, as it runs first: wrong: Relu 'r' computes 'r'" in said


@pytest.mark.parametrize("name", a_few(MODELS, 2))
def test_nothing_is_said_of_what_is_right(polycmp, tmp_path, name):
    status, said = locate(polycmp, tmp_path, MODELS[name][0](), "onnx")
    assert status == 0, said
    assert "inside " not in said


def test_a_branch_that_is_not_taken_is_not_blamed(polycmp, tmp_path):
    status, said = locate(polycmp, tmp_path, an_if(False), "onnx:ops=relu.py:Relu")
    assert status == 0, said


def test_an_operator_inside_that_a_backend_lacks_is_named(polycmp, tmp_path):
    (tmp_path / "relu.py").write_text(
        RELU.replace("return (np.where(x > 0, x, x / 4),)", "raise RuntimeError('no Relu')")
    )
    onnx.save(a_loop(), tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 3), np.float32))
    words = ("-b", "onnx:ops=relu.py:Relu", "-b", "onnxrt", "--load-inputs", "x.npz")
    done = polycmp("locate", "m.onnx", *words)
    assert done.status == 1, done.out
    assert "inside Loop 'loop', as it runs first: the backend fails here:" in " ".join(done.out.split())

"""An operator that float64 refutes is named, although a saturated output hides what it does."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model


def detector(path, factor: float) -> None:
    """Write x -> four times (Conv, Relu) -> Conv -> Sub 30 -> Sigmoid, with one kernel times a factor."""
    rng, nodes, weights, source = np.random.default_rng(2), [], [], "x"
    for index in range(5):
        kernel = (rng.standard_normal((8, 8 if index else 3, 3, 3)) / 6).astype(np.float32)
        weights.append((f"w{index}", kernel * np.float32(factor if index == 2 else 1)))
        nodes.append(
            helper.make_node("Conv", [source, f"w{index}"], [f"c{index}"], name=f"c{index}", pads=[1, 1, 1, 1])
        )
        source = f"c{index}"
        if index < 4:
            nodes.append(helper.make_node("Relu", [source], [f"r{index}"], name=f"r{index}"))
            source = f"r{index}"
    weights.append(("far", np.float32(16)))
    nodes += [
        helper.make_node("Sub", [source, "far"], ["s"], name="s"),
        helper.make_node("Sigmoid", ["s"], ["y"], name="y"),
    ]
    shape = [1, 3, 16, 16]
    onnx.save(graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, None)], weights), path)


@pytest.mark.parametrize("factor", [1.4, 1.0])
def test_a_wrong_convolution_before_a_saturated_sigmoid_is_named(polycmp, tmp_path, factor):
    detector(tmp_path / "old.onnx", 1.0)
    detector(tmp_path / "new.onnx", factor)
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(4).random((1, 3, 16, 16), np.float32))
    words = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--load-inputs", "x.npz")
    done = polycmp("locate", "new.onnx", *words)
    text = " ".join(done.out.split())
    assert done.status == (1 if factor != 1.0 else 0), done.out
    assert ("Conv 'c2'" in text) == (factor != 1.0)


def average(path) -> None:
    """Write x -> GlobalAveragePool -> Mul with itself."""
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["m"], name="pool"),
        helper.make_node("Mul", ["m", "m"], ["y"], name="y"),
    ]
    onnx.save(
        graph_model(nodes, [("x", TensorProto.FLOAT, [1, 8, 160, 160])], [("y", TensorProto.FLOAT, None)], []), path
    )


def test_an_average_of_many_numbers_of_both_signs_is_rounding(polycmp, tmp_path):
    """A runtime that adds 25,600 numbers one after the other is off by more than one rounding of what is left."""
    average(tmp_path / "m.onnx")
    random = np.random.default_rng(0)
    halves = [random.normal(mean, 5, (1, 8, 80, 160)) for mean in (30, -29.9)]
    np.savez(tmp_path / "x.npz", x=np.concatenate(halves, 2).astype(np.float32))
    done = polycmp("locate", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--load-inputs", "x.npz")
    assert (done.status, "NO FAULT" in done.out) == (0, True), done.out


def test_a_wrong_average_is_named(polycmp, tmp_path):
    average(tmp_path / "m.onnx")
    wrong = "faulty:backend=onnxrt,fault=row-noise,at=pool"
    done = polycmp("locate", "m.onnx", "-b", wrong, "-b", "onnx")
    assert (done.status, "GlobalAveragePool 'pool'" in done.out) == (1, True), done.out


def test_a_wrong_average_of_float16_is_named_however_many_numbers_it_adds(polycmp, tmp_path):
    """Narrow types are summed in float32: many terms explain nothing that float16 itself does not."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["m"], name="pool")]
    nodes += [helper.make_node("Mul", ["m", "m"], ["y"], name="y")]
    ends = [("x", TensorProto.FLOAT16, [1, 8, 160, 160])], [("y", TensorProto.FLOAT16, None)]
    onnx.save(graph_model(nodes, *ends, []), tmp_path / "m.onnx")
    done = polycmp("locate", "m.onnx", "-b", "faulty:backend=onnxrt,fault=saturate,at=pool", "-b", "onnx")
    assert (done.status, "GlobalAveragePool 'pool'" in done.out) == (1, True), done.out


OPERATORS = """
import numpy as np
from onnx.reference.op_run import OpRun

class Sqrt(OpRun):
    def _run(self, x):
        return (np.sqrt(x) * np.float32(FACTOR),)

class Relu(OpRun):
    def _run(self, x):
        return (np.where(x > 0, x, np.float32(0)),)

new_ops = [Sqrt, Relu]
"""


@pytest.mark.parametrize("factor", [1.0, 1 + 2.0**-23], ids=["the same numbers", "rounded otherwise"])
def test_a_nan_that_is_lost_and_comes_back_before_the_outputs_accuses_nothing(polycmp, tmp_path, factor):
    """Numbers below zero have no square root; the sign brings their NaN back after a Relu that drops it."""
    (tmp_path / "operators.py").write_text(OPERATORS.replace("FACTOR", str(factor)))
    nodes = [
        helper.make_node("Sqrt", ["x"], ["root"], name="root"),
        helper.make_node("Sign", ["root"], ["sign"], name="sign"),
        helper.make_node("Relu", ["root"], ["positive"], name="positive"),
        helper.make_node("Mul", ["sign", "positive"], ["y"], name="y"),
    ]
    values = [("x", TensorProto.FLOAT, [3, 8])], [("y", TensorProto.FLOAT, None)]
    onnx.save(graph_model(nodes, *values, []), tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32))
    words = ("-b", "onnx:ops=operators.py", "-b", "onnxrt", "--load-inputs", "x.npz", "--nan", "equal")
    assert polycmp("run", "m.onnx", *words).status == 0
    done = polycmp("locate", "m.onnx", *words)
    assert done.status == 0, done.out
    assert "'positive', the output of Relu 'positive', is absorbed by Mul 'y'" in " ".join(done.out.split())


def condition(path, *, nested: bool) -> None:
    """Write an If that takes the branch Exp; `nested` puts it into another, which always takes it."""
    branches = {
        name: helper.make_graph([helper.make_node(op, ["x"], [made])], op, [], [value(made)])
        for name, op, made in (("then_branch", "Neg", "a"), ("else_branch", "Exp", "b"))
    }
    never = helper.make_node("If", ["never"], ["p" if nested else "r"], name="inner", **branches)
    weights = [("never", np.array(False)), ("always", np.array(True))][: 1 + nested]
    nodes = [never, helper.make_node("Add", ["r", "r"], ["y"], name="y")]
    if nested:
        other = helper.make_graph([helper.make_node("Abs", ["x"], ["q"])], "other", [], [value("q")])
        then = helper.make_graph([never], "then", [], [value("p")])
        nodes[0] = helper.make_node("If", ["always"], ["r"], name="outer", then_branch=then, else_branch=other)
    onnx.save(graph_model(nodes, [("x", TensorProto.FLOAT, [2, 3])], [("y", TensorProto.FLOAT, None)], weights), path)


def value(name: str) -> onnx.ValueInfoProto:
    """Return a declaration without a shape."""
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)


def test_an_if_that_a_tool_took_out_of_another_is_no_other_network(polycmp, tmp_path):
    condition(tmp_path / "nested.onnx", nested=True)
    condition(tmp_path / "flat.onnx", nested=False)
    for command in ("locate", "run"):
        done = polycmp(command, "flat.onnx", "-b", "onnxrt:name=flat", "-b", "onnxrt:name=nested,model=nested.onnx")
        assert done.status == 0, done.out
        assert "another network" not in done.out

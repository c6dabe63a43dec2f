"""Outputs that are codes: whole numbers that stand for real ones, unlike indices and classes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

SHAPE = [4, 256]
TIES = 8


def added(last: str, order: tuple[str, str, str]) -> onnx.ModelProto:
    """Return a sum of three inputs, two of them first, of which an operator makes codes or whole numbers."""
    pair = "".join(order[:2])
    nodes = [
        helper.make_node("Add", order[:2], [pair], name=pair),
        helper.make_node("Add", [pair, order[2]] if order[0] == "a" else [order[2], pair], ["sum"], name="sum"),
        helper.make_node("Div", ["sum", "step"], ["steps"], name="steps"),
    ]
    kind = {"QuantizeLinear": TensorProto.UINT8, "Cast": TensorProto.INT32}[last]
    if last == "QuantizeLinear":
        nodes[2:] = [helper.make_node(last, ["sum", "step", "zero"], ["y"], name="codes")]
    else:
        nodes += [
            helper.make_node("Round", ["steps"], ["whole"], name="whole"),
            helper.make_node(last, ["whole"], ["y"], name="classes", to=kind),
        ]
    weights = [("step", np.float32(2)), ("zero", np.uint8(0))]
    return graph_model(
        nodes, [(name, TensorProto.FLOAT, SHAPE) for name in "abc"], [("y", kind, SHAPE)], weights
    )  # fmt: skip


@pytest.fixture
def inputs(tmp_path):
    """Numbers of which some are a tie in one order of adding, and just beyond it in the other."""
    random = np.random.default_rng(0)
    feed = {name: random.uniform(0, 150, SHAPE).astype(np.float32) for name in "abc"}
    for name, value in zip("abc", (1.0, 2.0**-24, 2.0**-24), strict=True):
        feed[name].reshape(-1)[:: 4 * 256 // TIES] = value
    np.savez(tmp_path / "inputs.npz", **feed)
    return tmp_path / "inputs.npz"


@pytest.fixture
def ask(polycmp, tmp_path, inputs):
    """Ask a command about two models for these inputs."""

    def asked(command: str, candidate: onnx.ModelProto, reference: onnx.ModelProto):
        for name, model in (("one", candidate), ("two", reference)):
            onnx.save(model, tmp_path / f"{name}.onnx")
        return polycmp(command, "one.onnx", "two.onnx", "-b", "onnxrt", "--load-inputs", inputs)

    return asked


@pytest.mark.parametrize(("command", "said"), [("run", "PASSED: 1 output"), ("locate", "NO FAULT")])
def test_codes_beside_ties_are_numbers_that_rounding_moves(ask, command, said):
    done = ask(command, added("QuantizeLinear", ("b", "c", "a")), added("QuantizeLinear", ("a", "b", "c")))
    assert done.status == 0, done.out
    assert said in done.out


def test_whole_numbers_that_are_no_codes_are_decisions(ask):
    done = ask("run", added("Cast", ("b", "c", "a")), added("Cast", ("a", "b", "c")))
    assert done.status == 3, done.out
    assert "decisions between nearly equal values" in done.out


@pytest.mark.parametrize("command", ["run", "locate"])
def test_codes_of_other_numbers_are_a_fault(ask, command):
    done = ask(command, added("QuantizeLinear", ("b", "c", "b")), added("QuantizeLinear", ("a", "b", "c")))
    assert done.status == 1, done.out

"""What `run` and `locate` say of two files of which one is another network."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, save_model
from other_networks import constant, edited, half, hidden, network
from small_models import graph_model, save_graph


@pytest.fixture
def source(tmp_path) -> Path:
    return network(tmp_path / "source.onnx")


def test_a_tolerance_that_was_typed_is_final_whatever_the_files_say(source, tmp_path, polycmp):
    made = edited(source, tmp_path / "made.onnx", constant("o.w", hidden))
    assert polycmp("locate", made, source, "-b", "onnxrt", "--atol", "1", "--rtol", "1").status == 0
    done = polycmp("locate", made, source, "-b", "onnxrt")
    assert (done.status, "'o.w'" in done.out) == (1, True), done.out


def test_run_says_it_in_a_note_and_keeps_its_word(source, tmp_path, polycmp):
    made = edited(source, tmp_path / "made.onnx", constant("o.w", hidden))
    done = polycmp("run", made, source, "-b", "onnxrt", "--atol", "2e-3", "--rtol", "2e-3")
    said = " ".join(done.out.split())
    assert done.status == 0, said
    assert "PASSED" in said
    assert "another network: the constant 'o.w' of MatMul 'om' is not the other file's: it differs in 1 of 80" in said


def test_nothing_is_said_of_one_file(source, polycmp):
    done = polycmp("run", source, "-b", "onnxrt", "-b", "onnx")
    assert done.status == 0
    assert "another network" not in done.out


def test_a_good_file_in_float16_gets_no_note(source, tmp_path, polycmp):
    half(source, tmp_path / "half.onnx")
    done = polycmp("run", tmp_path / "half.onnx", source, "-b", "onnxrt", "--tolerance", "auto")
    assert "another network" not in done.out
    assert done.status in {0, 3}, done.out


@pytest.mark.parametrize(("op_type", "command"), [("Mul", "run"), ("DequantizeLinear", "compare")])
def test_chains_are_as_long_as_models_are(polycmp, tmp_path, op_type, command):
    """Whether a Mul scales was asked of the Mul before it, and so on; Python stops at some hundred calls."""
    for name, factor in (("good.onnx", 1.5), ("bad.onnx", 1.75)):
        names = ["x", *(f"t{index}" for index in range(1000)), "y"]
        nodes = [helper.make_node("Mul", ["x", "f"], ["t0"], name="first")]
        for before, after in pairwise(names[1:]):
            if op_type == "DequantizeLinear":
                nodes.append(helper.make_node("QuantizeLinear", [before, "s"], [f"{after}q"]))
                nodes.append(helper.make_node(op_type, [f"{after}q", "s"], [after]))
            else:
                nodes.append(helper.make_node(op_type, [before, "one"][: 1 + (op_type == "Mul")], [after]))
        weights = [("f", np.float32([factor])), ("s", np.float32(0.01)), ("one", np.float32([1.0]))]
        save_graph(
            tmp_path / name, nodes, [("x", onnx.TensorProto.FLOAT, [4])], [("y", onnx.TensorProto.FLOAT, [4])], weights
        )
    words = ("-b", "onnxrt", "--atol", 1e-6, "--rtol", 1e-6) if command == "run" else ()
    done = polycmp(command, "bad.onnx", "good.onnx", *words)
    assert done.status == 1, done.err
    assert "the constant 'f' of Mul 'first' is not the other file's" in " ".join(done.out.split())


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


def test_a_condition_that_was_inverted_with_its_branches_is_no_difference(polycmp, tmp_path):
    """As optimisers write them that move a part of a branch out of it."""

    def write(name, test, *, inverted):
        branches = [
            helper.make_graph(
                [helper.make_node(op, ["x"], [f"{name}_{op}"])],
                op,
                [],
                [helper.make_tensor_value_info(f"{name}_{op}", TensorProto.FLOAT, ["n"])],
            )
            for op in ("Tanh", "Abs")
        ]
        then, other = reversed(branches) if inverted else branches
        nodes = [
            helper.make_node("Size", ["x"], [f"{name}_size"]),
            helper.make_node(test, [f"{name}_size", "three"], [f"{name}_is"]),
            helper.make_node("If", [f"{name}_is"], ["picked"], then_branch=then, else_branch=other),
            helper.make_node("Exp", ["picked"], ["y"]),
        ]
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
            [helper.make_tensor("three", TensorProto.INT64, [], [3])],
        )
        save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / name)
        return tmp_path / name

    good, other = write("good.onnx", "Greater", inverted=False), write("other.onnx", "LessOrEqual", inverted=True)
    done = polycmp("run", other, good, "-b", "onnxrt", "--input-shapes", "x:[8]", "--mark-all")
    assert done.status == 0, done.out + done.err

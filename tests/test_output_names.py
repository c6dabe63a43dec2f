"""Two models whose outputs have other names: never compared unasked, and the command that compares them is printed."""

from __future__ import annotations

import shlex

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp.runs.output_pairs import suggest_output_names

BACKENDS = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx")


def next_command(done) -> list[str]:
    """Return the words of the command that is printed last, without the program's name."""
    found = [line for line in (done.out + done.err).splitlines() if line.startswith("  next: polycmp run")]
    return shlex.split(found[-1])[2:] if found else []


def written(path, *outputs: str, factor: float = 1.0) -> None:
    """Write a model of three outputs: two of one shape, one of another."""
    first, second, third = outputs
    nodes = [
        helper.make_node("Mul", ["x", "f"], ["s"]),
        helper.make_node("Sigmoid", ["s"], [first]),
        helper.make_node("Tanh", ["s"], [second]),
        helper.make_node("ReduceMean", ["s"], [third], keepdims=0),
    ]
    made = [(first, TensorProto.FLOAT, [2, 4]), (second, TensorProto.FLOAT, [2, 4]), (third, TensorProto.FLOAT, [])]
    weights = [("f", np.float32(factor))]
    onnx.save(graph_model(nodes, [("x", TensorProto.FLOAT, [2, 4])], made, weights), path)


def test_the_command_under_which_the_values_agree_is_printed(polycmp, tmp_path):
    written(tmp_path / "new.onnx", "output_1", "output_0", "output_2")
    written(tmp_path / "old.onnx", "scores", "boxes", "count")
    done = polycmp("run", "new.onnx", *BACKENDS)
    assert done.status == 3, "outputs of other names were compared"
    command = next_command(done)
    assert set(command[command.index("--map-output") + 1 :]) >= {"output_0=boxes", "output_1=scores", "output_2=count"}
    assert polycmp(*command).status == 0


def test_outputs_with_a_name_in_common_are_left_alone(polycmp, tmp_path):
    written(tmp_path / "new.onnx", "pred", "boxes", "count")
    written(tmp_path / "old.onnx", "scores", "boxes", "count")
    done = polycmp("run", "new.onnx", *BACKENDS)
    assert done.status == 1
    assert "--map-output" in next_command(done)
    assert next_command(done)[-1] == "pred=scores"


def test_of_outputs_that_differ_those_are_named_which_alone_have_their_shape(polycmp, tmp_path):
    written(tmp_path / "new.onnx", "pred", "boxes", "number", factor=-3.0)
    written(tmp_path / "old.onnx", "scores", "boxes", "count")
    done = polycmp("run", "new.onnx", *BACKENDS)
    command = next_command(done)
    assert {"pred=scores", "number=count"} <= set(command)
    assert polycmp(*command).status == 1


def test_one_name_on_both_sides_needs_no_command(polycmp, tmp_path):
    written(tmp_path / "new.onnx", "scores", "boxes", "count", factor=-3.0)
    written(tmp_path / "old.onnx", "scores", "boxes", "count")
    assert next_command(polycmp("run", "new.onnx", *BACKENDS)) == []


@pytest.mark.parametrize("known", [{}, {"a": "p"}])
def test_the_closest_values_belong_together(known):
    rng = np.random.default_rng(1)
    values = {name: rng.random(100, np.float32) for name in ("p", "q", "r")}
    mine = {"c": values["r"] * 1.01, "b": values["q"], "a": values["p"] + 1e-4}
    wanted = {"c": "r", "b": "q", "a": "p"}
    found = suggest_output_names(mine, values, known)
    assert found == {name: other for name, other in wanted.items() if name not in known}


def test_nothing_is_said_of_outputs_of_other_shapes_or_kinds():
    mine = {"a": np.zeros((2, 3), np.float32), "b": np.zeros(2, np.int64)}
    assert suggest_output_names(mine, {"c": np.zeros((3, 2), np.float32), "d": np.zeros(2, bool)}, {}) == {}

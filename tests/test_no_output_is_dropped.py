"""Files that differ: an output that depends on weights alone is compared, and one that a file lacks is missing."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_models import graph_model

#: So many outputs make a run go through the models in windows.
MANY = tuple(f"y{place}" for place in range(8))


def detector(anchors: float, outputs: tuple[str, ...], steps: int = 1) -> onnx.ModelProto:
    """Return x [2,4] -> Tanh (steps of them) -> + c0, + c1, …; and anchors, which are made of weights alone."""
    node, last = helper.make_node, "x"
    nodes = [node("Mul", ["grid", "stride"], ["anchors"], name="anchors")]
    for step in range(steps):
        nodes.append(node("Tanh", [last], [f"t{step}"], name=f"t{step}"))
        last = f"t{step}"
    nodes += [node("Add", ["t0", f"c{name}"], [name], name=name) for name in MANY]
    weights = [("grid", anchors * np.arange(1, 5, dtype=np.float32)), ("stride", np.float32([1.5]))]
    weights += [(f"c{name}", np.float32([place])) for place, name in enumerate(MANY)]
    ends = [(name, TensorProto.FLOAT, [4] if name == "anchors" else [2, 4]) for name in outputs]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [2, 4])], ends, weights)


@pytest.fixture
def sides(tmp_path):
    def write(new: onnx.ModelProto, old: onnx.ModelProto) -> list[str]:
        onnx.save(new, tmp_path / "new.onnx")
        onnx.save(old, tmp_path / "old.onnx")
        return ["new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx"]

    return write


@pytest.mark.parametrize("more", [(), ("--mark-all",), ("--tolerance", "auto")], ids=" ".join)
@pytest.mark.parametrize("factor, status", [(1.0, 0), (1.5, 1)])
def test_run_compares_an_output_that_is_made_of_weights_alone(polycmp, sides, more, factor, status):
    pair = sides(detector(factor, ("anchors", *MANY), steps=2), detector(1.0, ("anchors", *MANY)))
    said = polycmp("run", *pair, *more)
    assert said.status == status, said.out
    assert status == 0 or "FAIL   anchors" in said.out, said.out


def test_locate_names_the_operator_that_makes_an_output_of_weights_alone(polycmp, sides):
    pair = sides(detector(1.5, ("anchors", *MANY), steps=2), detector(1.0, ("anchors", *MANY)))
    said = polycmp("locate", *pair)
    assert said.status == 1, said.out
    assert "Mul 'anchors'" in said.out, said.out


@pytest.mark.parametrize("lacking", ["anchors", "y7"])
@pytest.mark.parametrize("who", ["new", "old"])
@pytest.mark.parametrize(
    "words", [("run",), ("run", "--mark-all"), ("locate",), ("locate", "--mark-all")], ids=" ".join
)
def test_every_command_fails_where_a_file_of_many_outputs_lacks_one(polycmp, sides, lacking, who, words):
    few = tuple(name for name in ("anchors", *MANY) if name != lacking)
    models = {"new": detector(1.0, ("anchors", *MANY), steps=2), "old": detector(1.0, ("anchors", *MANY))}
    models[who] = detector(1.0, few, steps=2 if who == "new" else 1)
    said = polycmp(words[0], *sides(models["new"], models["old"]), *words[1:])
    assert said.status == 1, said.out
    assert f"{who} has no output '{lacking}'" in " ".join(said.out.split()), said.out


def chain(last: dict[str, str]) -> onnx.ModelProto:
    """Return x [2,5] -> Tanh -> Relu -> the operators given, each of which makes the output of its name."""
    node = helper.make_node
    nodes = [node("Tanh", ["x"], ["t"], name="t"), node("Relu", ["t"], ["r"], name="r")]
    nodes += [node(op_type, ["r"], [name], name=name) for name, op_type in last.items()]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [2, 5])], [(name, TensorProto.FLOAT, [2, 5]) for name in last])


@pytest.mark.parametrize("who", ["new", "old"])
@pytest.mark.parametrize("more", [(), ("--warm-up", "1")], ids=["in parts", "at once"])
def test_run_mark_all_fails_where_a_file_lacks_an_operator_that_makes_an_output(polycmp, sides, who, more):
    models = {"new": chain({"n": "Neg", "y": "Exp"}), "old": chain({"n": "Neg", "y": "Exp"})}
    models[who] = chain({"n": "Neg"})
    said = polycmp("run", *sides(models["new"], models["old"]), "--mark-all", *more)
    assert said.status == 1, said.out
    assert f"{who} has no output 'y'" in said.out, said.out


def test_outputs_of_two_names_that_cannot_be_paired_are_never_passed_over(polycmp, sides):
    pair = sides(chain({"n": "Neg", "y": "Exp"}), chain({"n": "Neg", "z": "Sin"}))
    said = polycmp("run", *pair, "--mark-all")
    assert said.status == 1, said.out
    assert "new has no output 'z'" in said.out and "old has no output 'y'" in said.out, said.out
    said = polycmp("locate", *pair)
    assert said.status == 3, said.out
    assert "output 'y' of new and output 'z' of old were not compared" in " ".join(said.out.split()), said.out
    assert "--map-output y=z" in said.out


def test_outputs_of_two_names_that_are_paired_lack_nothing(polycmp, sides):
    pair = sides(chain({"n": "Neg", "y": "Exp"}), chain({"n": "Neg", "z": "Exp"}))
    for words in (("run", "--mark-all"), ("locate",)):
        assert polycmp(words[0], *pair, *words[1:]).status == 0


def test_outputs_that_the_user_chose_are_all_that_is_asked_for(polycmp, sides):
    few = tuple(name for name in ("anchors", *MANY) if name != "y7")
    pair = sides(detector(1.0, few, steps=2), detector(1.0, ("anchors", *MANY)))
    said = polycmp("run", *pair, "--onnx-outputs", "y7", "anchors")
    assert said.status == 0, said.out


@pytest.mark.parametrize("more", [(), ("--mark-all",), ("--mark-all", "--tolerance", "auto")], ids=" ".join)
def test_an_output_that_operators_read_is_compared_with_the_one_of_its_name(polycmp, sides, more):
    """The candidate puts a wrong order after the last tensor, which is the reference's but for that."""
    node, rng = helper.make_node, np.random.default_rng(0)
    first = node("MatMul", ["x", "w"], ["y"], name="first")
    last = node("Relu", ["y"], ["z"], name="last")
    weights = [("w", rng.standard_normal((5, 8)).astype(np.float32)), ("order", np.array([1, 0], np.int64))]
    ends = [("y", TensorProto.FLOAT, [2, 8]), ("z", TensorProto.FLOAT, [2, 8])]
    old = graph_model([first, last], [("x", TensorProto.FLOAT, [2, 5])], ends, weights[:1])
    new = [
        node("Cast", ["x"], ["x16"], to=TensorProto.FLOAT16), node("MatMul", ["x16", "w"], ["y16"], name="first"),
        node("Cast", ["y16"], ["before"], to=TensorProto.FLOAT), node("Relu", ["before"], ["z"], name="last"),
        node("Gather", ["before", "order"], ["y"], name="wrong"),
    ]  # fmt: skip
    halves = [("w", weights[0][1].astype(np.float16)), weights[1]]
    pair = sides(graph_model(new, [("x", TensorProto.FLOAT, [2, 5])], ends, halves), old)
    said = polycmp("run", *pair, *more)
    assert said.status == 1, said.out
    assert "FAIL   y" in said.out, said.out

"""Outputs of two files: those of other names, those that one lacks, those of weights alone, and any number of them."""

from __future__ import annotations

import shlex

import numpy as np
import onnx
import pytest
from in_parts import a_few, each_once, spelled
from onnx import TensorProto, helper
from small_models import graph_model

# --- other names: never compared unasked, and the command that compares them is printed

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


# --- an output that depends on weights alone is compared, and one that a file lacks is missing

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


@pytest.mark.parametrize("more", a_few([(), ("--mark-all",), ("--tolerance", "auto")], 2), ids=" ".join)
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


@pytest.mark.parametrize(
    ("lacking", "who", "words"),
    each_once(
        ["anchors", "y7"], ["new", "old"], [("run",), ("run", "--mark-all"), ("locate",), ("locate", "--mark-all")]
    ),
    ids=spelled,
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


@pytest.mark.parametrize(("who", "more"), each_once(["new", "old"], [(), ("--warm-up", "1")]), ids=spelled)
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


# --- tolerances judge all of them


def heads(count: int) -> onnx.ModelProto:
    """Return x [4,16] -> MatMul, Tanh, once for each output."""
    rng, node = np.random.default_rng(0), helper.make_node
    nodes, weights = [], []
    for place in range(count):
        weights.append((f"w{place}", (rng.standard_normal((16, 16)) / 4).astype(np.float32)))
        nodes += [
            node("MatMul", ["x", f"w{place}"], [f"m{place}"], name=f"m{place}"),
            node("Tanh", [f"m{place}"], [f"y{place}"], name=f"y{place}"),
        ]
    ends = [(f"y{place}", TensorProto.FLOAT, [4, 16]) for place in range(count)]
    return graph_model(nodes, [("x", TensorProto.FLOAT, [4, 16])], ends, weights)


@pytest.mark.parametrize("count", a_few([8, 7]))
def test_a_file_in_float16_is_judged_alike_however_many_outputs_it_has(polycmp, tmp_path, count):
    onnx.save(heads(count), tmp_path / "old.onnx")
    assert polycmp("convert", "old.onnx", "--fp-to-fp16", "-o", "new.onnx").status == 0
    pair = ["new.onnx", "-b", "onnx:name=new", "-b", "onnx:name=old,model=old.onnx"]
    assert [polycmp(*words, *pair).status for words in (["run", "--save-outputs", "a.npz"], ["locate"])] == [0, 0]
    said = polycmp("run", *pair, "--atol", "1e-5", "--rtol", "1e-5")
    assert said.status == 1, said.out
    assert f"{count} of {count} outputs differ" in " ".join(said.out.split()), said.out
    assert polycmp("run", *pair, "--tolerance", "auto").status == 0
    assert polycmp("run", *pair, "--mark-all").status == 0

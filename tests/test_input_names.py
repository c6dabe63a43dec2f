"""Two files whose inputs have other names, or another order: which is which is found out, told, and never guessed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import converted_models as converted
import numpy as np
import onnx
import pytest
from in_parts import each_once, spelled
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp.comparator import Comparator
from polycmp.data.input_pairs import pair_inputs
from polycmp.errors import UsageError
from polycmp.runs.input_readers import compare_readers
from polycmp_onnx.model_graph import OnnxGraph
from polycmp_onnxrt import OnnxrtRunner, SessionFromOnnx

NEW, OLD = ("-b", "onnxrt:name=new"), ("-b", "onnxrt:name=old,model=good.onnx")
TOLD = "inputs: 'features' of new is fed what 'x' of old gets"


@pytest.fixture
def models(tmp_path):
    """Write a network and the same with another name of its input, in which one bias is wrong."""
    good = converted.network(tmp_path / "good.onnx")
    other = converted.edited(good, tmp_path / "other.onnx", converted.with_input("features"))
    converted.edited(other, tmp_path / "wrong.onnx", converted.scaled("1.down.bias", 2.0))
    return tmp_path


def said(done) -> str:
    return " ".join((done.out + done.err).split())


def test_all_tensors_are_compared_on_the_same_numbers(polycmp, models):
    done = polycmp("run", "other.onnx", *NEW, *OLD, "--mark-all")
    assert (done.status, TOLD in said(done)) == (0, True), done.out
    done = polycmp("run", "wrong.onnx", *NEW, *OLD, "--mark-all", "--report", "r.json")
    assert done.status == 1
    [pair] = json.loads(Path("r.json").read_text())["comparison_results"]
    failed = [name for name, item in pair["outputs"].items() if not item["passed"]]
    assert failed[0] == "downer1"


@pytest.mark.parametrize(
    ("name", "words"), each_once(["x", "features"], [["run"], ["run", "--mark-all"], ["locate"]]), ids=spelled
)
def test_a_file_names_an_input_as_either_model_does(polycmp, models, words, name):
    np.savez("x.npz", **{name: np.random.default_rng(1).random((2, 5, converted.WIDTH), np.float32)})
    done = polycmp(*words, "other.onnx", *NEW, *OLD, "--load-inputs", "x.npz")
    assert done.status == 0, said(done)
    assert polycmp(*words, "wrong.onnx", *NEW, *OLD, "--load-inputs", "x.npz").status == 1


@pytest.mark.parametrize("words", [("--save-mixed",), ("--save-fixed",)], ids=["ranking", "repair"])
def test_what_is_written_keeps_its_own_names_of_inputs(polycmp, models, words):
    candidate = ("-b", "onnxrt:name=new,model=wrong.onnx")
    done = polycmp("locate", "good.onnx", *candidate, "-b", "onnxrt:name=old", "--atol", "1e-4", *words, "made.onnx")
    assert TOLD in said(done), said(done)
    made = onnx.load("made.onnx")
    onnx.checker.check_model(made)
    assert [value.name for value in made.graph.input] == ["features"]
    assert polycmp("run", "made.onnx", *NEW, *OLD, "--mark-all", "--atol", "1e-4").status == 0


def test_an_input_that_only_one_model_has_is_said_and_gets_numbers_of_its_own(polycmp, models):
    more = helper.make_tensor_value_info("image", 1, ["batch", 3, 8, 8])
    converted.edited(models / "other.onnx", models / "other.onnx", lambda model: model.graph.input.append(more))
    for words in (("run", "other.onnx", "--mark-all"), ("locate", "other.onnx"), ("run", "other.onnx")):
        for backends in ((*NEW, *OLD), (*OLD, *NEW)):
            done = polycmp(*words, *backends)
            assert done.status == 0, said(done)
            assert "inputs: only new has the input 'image'" in said(done)


def test_ranking_layers_needs_models_with_the_same_inputs(polycmp, models):
    more = helper.make_tensor_value_info("image", 1, ["batch", 3, 8, 8])
    converted.edited(models / "other.onnx", models / "other.onnx", lambda model: model.graph.input.append(more))
    done = polycmp("locate", "other.onnx", *NEW, *OLD, "--rank")
    assert done.status == 2
    assert "not certain which inputs of new and old are the same" in said(done)


FLOATS = [2, 4]


def written(path: Path, nodes: list[onnx.NodeProto], *inputs: str, output: str = "y") -> str:
    """Write a model of several inputs of one type and shape."""
    given = [(name, TensorProto.FLOAT, FLOATS) for name in inputs]
    onnx.save(graph_model(nodes, given, [(output, TensorProto.FLOAT, FLOATS)], []), path)
    return str(path)


def power(one: str, two: str) -> list[onnx.NodeProto]:
    return [helper.make_node("Pow", [one, two], ["y"])]


def power_otherwise(one: str, two: str) -> list[onnx.NodeProto]:
    """Return what computes the same with operators from which nobody can tell which input is which."""
    return [
        helper.make_node("Log", [one], ["l"]),
        helper.make_node("Mul", ["l", two], ["m"]),
        helper.make_node("Exp", ["m"], ["y"]),
    ]


def test_two_inputs_are_paired_by_what_reads_them(polycmp, tmp_path):
    written(tmp_path / "new.onnx", power("d", "c"), "c", "d")
    written(tmp_path / "old.onnx", power("a", "b"), "a", "b")
    done = polycmp("run", "new.onnx", "-b", "onnxrt:name=new", "-b", "onnx:name=old,model=old.onnx")
    assert done.status == 0, said(done)
    assert "'c' of new is fed what 'b' of old gets, 'd' what 'a' gets (by what reads them)" in said(done)


@pytest.mark.parametrize("way", [(), ("--mark-all",), ("--sequential-runners",)])
@pytest.mark.parametrize("command", ["run", "locate"])
def test_inputs_that_nobody_can_tell_apart_are_refused_with_what_to_type(polycmp, tmp_path, command, way):
    if command == "locate" and way:
        pytest.skip("an option of run")
    written(tmp_path / "new.onnx", power_otherwise("d", "c"), "c", "d")
    written(tmp_path / "old.onnx", power("a", "b"), "a", "b")
    words = [command, "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", *way]
    done = polycmp(*words)
    assert done.status == 2
    assert "new has 'c' float32[2,4], 'd' float32[2,4]" in said(done)
    assert "old has 'a' float32[2,4], 'b' float32[2,4]" in said(done)
    assert re.search("next: polycmp .* --map-input (c=a d=b|a=c b=d)$", said(done))
    if command == "run":
        told = polycmp(*words, "--map-input", "c=b", "d=a")
        assert "ok y float32[2,4]" in said(told)
        assert re.search("'c' of new is fed what 'b' of old gets|'b' of old is fed what 'c' of new gets", said(told))
        assert polycmp(*words, "--map-input", "c=a", "d=b").status == 1


def test_locate_takes_the_names_that_are_given(polycmp, models):
    done = polycmp("locate", "wrong.onnx", *NEW, *OLD, "--map-input", "features=x")
    assert (done.status, f"- {TOLD} -" in said(done)) == (1, True), said(done)


def test_data_that_names_the_inputs_of_either_model_is_found(polycmp, tmp_path):
    written(tmp_path / "new.onnx", power_otherwise("d", "c"), "c", "d")
    written(tmp_path / "old.onnx", power("a", "b"), "a", "b")
    words = ["run", "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--load-inputs"]
    one, two = np.random.default_rng(1).random((2, 2, 4), np.float32) + 0.5
    np.savez("both.npz", a=one, b=two, d=one, c=two)
    assert polycmp(*words, "both.npz").status == 0
    np.savez("crossed.npz", a=one, b=two, c=one, d=two)
    assert polycmp(*words, "crossed.npz").status == 1
    np.savez("theirs.npz", a=one, b=two)
    assert polycmp(*words, "theirs.npz", "--map-input", "c=b", "d=a").status == 0
    np.savez("mine.npz", d=one, c=two)
    assert polycmp(*words, "mine.npz", "--map-input", "c=b", "d=a").status == 0


def test_inputs_of_other_shapes_are_never_taken_for_each_other(polycmp, tmp_path):
    node = [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)]
    for name, shape in (("first", [1, 3, 8, 8]), ("last", [1, 8, 8, 3])):
        inputs = [("x" if name == "first" else "serving_default_x:0", TensorProto.FLOAT, shape)]
        node[0].input[0] = inputs[0][0]
        onnx.save(graph_model(node, inputs, [("y", TensorProto.FLOAT, [])], []), tmp_path / f"{name}.onnx")
    done = polycmp("run", "last.onnx", "-b", "onnxrt:name=last", "-b", "onnxrt:name=first,model=first.onnx")
    assert done.status == 2
    assert "none of them can be the same one" in said(done)
    assert "--load-inputs FILE" in said(done)


def test_a_name_of_no_model_is_refused(polycmp, models):
    done = polycmp("run", "other.onnx", *NEW, *OLD, "--map-input", "feature=x")
    assert done.status == 2
    assert "no model has an input 'feature'" in said(done)
    assert "did you mean 'features'" in said(done)


def test_options_may_name_an_input_as_either_model_calls_it(polycmp, models):
    for name in ("x", "features"):
        done = polycmp("run", "other.onnx", *NEW, *OLD, "--input-shapes", f"{name}:[3,5,{converted.WIDTH}]")
        assert (done.status, f"[3,5,{converted.WIDTH}]" in said(done)) == (0, True), said(done)


def two_names(folder: Path) -> None:
    for name, batch in (("mine", "N"), ("other", "batch")):
        end = [("y", TensorProto.FLOAT, [batch, 3])]
        node = helper.make_node("Mul", [name, "k"], ["y"], name="m")
        onnx.save(
            graph_model([node], [(name, TensorProto.FLOAT, [batch, 3])], end, [("k", np.float32([2]))]),
            folder / f"{name}.onnx",
        )


@pytest.mark.parametrize(
    ("loader", "name"),
    each_once([("--val-range",), ("--data-loader", "stress", "--stress-val-range")], ["mine", "other", "mi*"]),
    ids=spelled,
)
def test_a_range_may_name_an_input_as_either_model_calls_it(polycmp, tmp_path, name, loader):
    two_names(tmp_path)
    pair = ("mine.onnx", "-b", "onnxrt", "-b", "onnx:model=other.onnx", *loader, f"{name}:[5,6]")
    assert polycmp("run", *pair, "--save-inputs", "x.npz").status == 0
    saved = next(value for value in np.load(tmp_path / "x.npz").values() if value.dtype == np.float32)
    assert saved.min() >= 5
    assert saved.max() <= 6
    assert polycmp("locate", *pair).status == 0


@pytest.mark.parametrize("asked", ["mine:[4,3]", "other:[4,3]", "mi*:[4,3]", "N=4", "batch=4"])
def test_a_shape_may_name_an_input_or_a_dimension_as_either_model_does(polycmp, tmp_path, asked):
    two_names(tmp_path)
    pair = ("mine.onnx", "-b", "onnxrt", "-b", "onnx:model=other.onnx", "--input-shapes", asked)
    done = polycmp("run", *pair)
    assert done.status == 0
    assert "float32[4,3]" in done.out


@pytest.mark.parametrize("option", [("--val-range", "mine:[5,6]", "other:[7,8]"), ("--input-shapes", "N=4", "batch=5")])
def test_two_values_for_one_input_under_two_names_are_refused(polycmp, tmp_path, option):
    two_names(tmp_path)
    done = polycmp("run", "mine.onnx", "-b", "onnxrt", "-b", "onnx:model=other.onnx", *option)
    assert done.status == 2
    assert "which cannot be both" in said(done)


def test_a_python_program_feeds_runners_the_same(models):
    new, old = (OnnxrtRunner(SessionFromOnnx(str(models / f"{name}.onnx")), name=name) for name in ("other", "good"))
    for streaming in (False, True):
        made = Comparator.run([new, old], streaming=streaming)
        assert Comparator.compare_accuracy(made)


def test_a_python_program_says_which_input_is_which(tmp_path):
    new = written(tmp_path / "new.onnx", power_otherwise("d", "c"), "c", "d")
    old = written(tmp_path / "old.onnx", power("a", "b"), "a", "b")
    runners = [OnnxrtRunner(SessionFromOnnx(path), name=path) for path in (new, old)]
    with pytest.raises(UsageError, match="not certain"):
        Comparator.run(runners)
    assert Comparator.compare_accuracy(Comparator.run(runners, map_input={"c": "b", "d": "a"}))
    assert not Comparator.compare_accuracy(Comparator.run(runners, map_input={"c": "a", "d": "b"}))


def test_the_script_of_a_run_maps_its_inputs(polycmp, tmp_path):
    written(tmp_path / "new.onnx", power_otherwise("d", "c"), "c", "d")
    written(tmp_path / "old.onnx", power("a", "b"), "a", "b")
    words = ["run", "new.onnx", "-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx"]
    assert polycmp(*words, "--map-input", "c=b", "d=a", "--gen-script", "same.py").status == 0
    done = subprocess.run([sys.executable, "same.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert polycmp(*words, "--map-input", "c=b", "d=a", "--write-config", "run.toml").status == 0
    assert polycmp("run", "--config", "run.toml").status == 0


def two_ways(one: str, two: str, *, first: str, depth: int = 1) -> OnnxGraph:
    """Return a model of two inputs of one shape, that pass through equal operators and are subtracted."""
    chains = [[one, *(f"r{index}" for index in range(depth))], [two, *(f"s{index}" for index in range(depth))]]
    nodes = [helper.make_node("Relu", [a], [b]) for chain in chains for a, b in pairwise(chain)]
    nodes.append(helper.make_node("Sub", [chains[0][-1], chains[1][-1]], ["y"]))
    inputs = [(name, TensorProto.FLOAT, FLOATS) for name in sorted((one, two), key=lambda name: name != first)]
    return OnnxGraph(graph_model(nodes, inputs, [("y", TensorProto.FLOAT, FLOATS)], []))


def paired(candidate: OnnxGraph, reference: OnnxGraph) -> dict[str, str]:
    return dict(
        pair_inputs(candidate.inputs, reference.inputs, {}, lambda: compare_readers(candidate, reference)).names
    )


@pytest.mark.parametrize("depth", [1, 3, 40])
@pytest.mark.parametrize("first", ["c", "d"])
def test_inputs_that_look_alike_are_told_apart_by_what_reads_them(first, depth):
    reference = two_ways("a", "b", first="a", depth=depth)
    assert paired(two_ways("c", "d", first=first, depth=depth), reference) == {"c": "a", "d": "b"}


def test_inputs_that_look_alike_and_are_read_by_others_are_not_guessed(tmp_path):
    reference = two_ways("a", "b", first="a")
    candidate = OnnxGraph(onnx.load(written(tmp_path / "c.onnx", power("c", "d"), "c", "d")))
    assert paired(candidate, reference) == {}


def test_inputs_that_can_be_exchanged_are_paired_in_their_order(tmp_path):
    added = [
        OnnxGraph(onnx.load(written(tmp_path / "m.onnx", [helper.make_node("Add", [*names], ["y"])], *names)))
        for names in ("cd", "ab")
    ]
    assert paired(*added) == {"c": "a", "d": "b"}


def test_an_array_without_a_name_is_the_only_input(polycmp, models):
    folder = Path("arrays")
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        np.save(folder / f"{name}.npy", rng.random((2, 5, converted.WIDTH), np.float32))
    for words in (["arrays"], ["arrays/a.npy"], ["arrays", "--map-input", "output=x"]):
        done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", "--load-inputs", *words)
        assert (done.status, "PASSED" in done.out) == (0, True), said(done)
    assert polycmp("locate", "wrong.onnx", *NEW, *OLD, "--load-inputs", "arrays/a.npy").status == 1


def test_an_array_of_another_name_gets_the_option_to_type(polycmp, models):
    np.savez("x.npz", pixels=np.ones((2, 5, converted.WIDTH), np.float32))
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", "--load-inputs", "x.npz")
    assert done.status == 3
    assert (said(done).count("no data for input 'x'"), "onnx failed as onnxrt did" in done.out) == (1, True)
    option = re.search(r"--map-input \S+", said(done)).group()
    assert polycmp("run", "good.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", *option.split()).status == 0

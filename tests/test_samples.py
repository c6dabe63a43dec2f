"""Real samples: asked for, or in place of random numbers that do not reach a model's outputs."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.helper import make_node as node
from small_models import graph_model

from polycmp.results.files import open_inputs

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
NOTE = "random numbers do not reach the output 'ink'"


def numbers(*values):
    return np.array(values, np.float32)


def detector(path, size=(64, 64), gain=200.0, bright=0.8):
    """Write what detects a page, as text detectors do: sigmoids of how bright it is around, 1e-27 on noise."""
    nodes = [
        node("AveragePool", ["x"], ["mean"], kernel_shape=[8, 8], strides=[8, 8]),
        node("Sub", ["mean", "bright"], ["over"]),
        node("Mul", ["over", "gain"], ["logit"]),
        node("Sigmoid", ["logit"], ["ink"]),
    ]
    weights = [("bright", numbers(bright)), ("gain", numbers(gain))]
    model = graph_model(nodes, [("x", FLOAT, [1, 3, *size])], [("ink", FLOAT, None)], weights)
    onnx.save(model, path)


def words(done):
    return " ".join(done.out.split())


@pytest.mark.parametrize("size", [("h", "w"), (64, 64)], ids=["open", "fixed"])
def test_a_fault_that_random_numbers_hide_is_seen(polycmp, tmp_path, size):
    detector(tmp_path / "good.onnx", size)
    detector(tmp_path / "wrong.onnx", size, gain=100.0)
    done = polycmp("run", "wrong.onnx", "good.onnx", "-b", "onnxrt", "--report", "r.json")
    assert (done.status, NOTE in words(done)) == (1, True), done.out + done.err
    assert "page of text" in words(done)
    (made, *_) = done.report(tmp_path / "r.json")["inference_results"].values()
    assert made["iterations"] == 1


@pytest.mark.parametrize("old", ["onnx:model=good.onnx", "onnxrt:model=good.onnx,python={}"], ids=["onnx", "worker"])
def test_what_counts_is_whether_the_reference_is_reached(polycmp, tmp_path, old):
    """The candidate answers nothing whatever it is fed."""
    detector(tmp_path / "good.onnx")
    detector(tmp_path / "dead.onnx", bright=100.0)
    done = polycmp("run", "dead.onnx", "-b", "onnxrt", "-b", old.format(sys.executable))
    assert (done.status, NOTE in words(done)) == (1, True), done.out + done.err


def test_every_command_feeds_the_same(polycmp, tmp_path):
    detector(tmp_path / "good.onnx")
    detector(tmp_path / "wrong.onnx", gain=100.0)
    found = {}
    for name, more in {"run": (), "in turn": ("--sequential-runners",), "all": ("--mark-all",)}.items():
        done = polycmp("run", "wrong.onnx", "good.onnx", "-b", "onnxrt", "--save-inputs", f"{name}.npz", *more)
        assert (done.status, NOTE in words(done)) == (1, True), done.out + done.err
        ((feed,),) = [list(open_inputs([tmp_path / f"{name}.npz"]))]
        found[name] = np.asarray(feed["x"])
    np.testing.assert_array_equal(found["run"], found["in turn"])
    np.testing.assert_array_equal(found["run"], found["all"])
    located = polycmp("locate", "wrong.onnx", "-b", "onnxrt", "-b", "onnxrt:model=good.onnx")
    assert (located.status, NOTE in words(located), "Mul" in words(located)) == (1, True, True), located.out


@pytest.mark.parametrize("how", ["its values are given", "its inputs are given", "a sample asked for"])
def test_what_a_user_says_of_the_inputs_counts(polycmp, tmp_path, how):
    detector(tmp_path / "good.onnx")
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 3, 64, 64), np.float32))
    polycmp("data", "from-numpy", "x.npz", "-o", "x.json")
    given = {
        "its values are given": ("--val-range", "[0,0.5]"),
        "its inputs are given": ("--load-inputs", "x.json"),
        "a sample asked for": ("--data-loader", "sample", "--sample-pictures", "astronaut"),
    }
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "--save-inputs", "fed.npz", *given[how])
    assert done.status == 0, done.err
    assert NOTE not in words(done)
    (feed,) = open_inputs([tmp_path / "fed.npz"])
    assert np.asarray(feed["x"]).max() <= (1.0 if how.startswith("a sample") else 0.5)


def test_where_random_numbers_reach_the_outputs_they_stay(polycmp, tmp_path):
    detector(tmp_path / "m.onnx", gain=1.0)
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--save-inputs", "fed.npz", "--iterations", "2")
    assert done.status == 0, done.out + done.err
    assert "inputs:" not in done.out
    for seed, feed in enumerate(open_inputs([tmp_path / "fed.npz"]), start=1):
        drawn = np.random.RandomState(seed).random_sample((1, 3, 64, 64)).astype(np.float32)
        np.testing.assert_array_equal(feed["x"], drawn)


def test_where_no_sample_helps_random_numbers_stay(polycmp, tmp_path):
    detector(tmp_path / "m.onnx", gain=0.0)
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--save-inputs", "fed.npz")
    assert NOTE not in words(done)
    (feed,) = open_inputs([tmp_path / "fed.npz"])
    drawn = np.random.RandomState(1).random_sample((1, 3, 64, 64)).astype(np.float32)
    np.testing.assert_array_equal(feed["x"], drawn)


def test_pictures_are_scaled_until_the_outputs_are_reached(polycmp, tmp_path):
    """Numbers beyond 1 are what a model sees that was trained on values from 0 to 255 and does not say so."""
    nodes = [node("Sub", ["x", "bright"], ["over"]), node("Relu", ["over"], ["ink"])]
    model = graph_model(
        nodes, [("x", FLOAT, [1, 3, 32, 32])], [("ink", FLOAT, None)], [("bright", numbers(100.0).reshape(1, 1, 1, 1))]
    )
    # The constant would tell; behind another operator it does not.
    model.graph.node.insert(0, node("Abs", ["x"], ["positive"]))
    model.graph.node[1].input[0] = "positive"
    onnx.save(model, tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx")
    assert (done.status, NOTE in words(done), "0..255" in words(done)) == (0, True, True), done.out


NORMALISING = {
    "divides by 255": [node("Div", ["x", "c"], ["y"])],
    "multiplies by 1/255": [node("Mul", ["x", "inverse"], ["y"])],
    "subtracts a mean": [node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]), node("Sub", ["t", "mean"], ["y"])],
    "normalises": [node("BatchNormalization", ["x", "ones", "ones", "means", "ones"], ["y"])],
}
CONSTANTS = [
    ("c", numbers(255)),
    ("inverse", numbers(1 / 255)),
    ("mean", numbers(123.675, 116.28, 103.53)),
    ("means", numbers(123.675, 116.28, 103.53)),
    ("ones", numbers(1, 1, 1)),
    ("half", numbers(0.5)),
]


@pytest.mark.parametrize("case", NORMALISING)
def test_a_model_that_normalises_is_given_what_a_picture_holds(polycmp, tmp_path, case):
    for path, nodes in (("m.onnx", NORMALISING[case]), ("plain.onnx", [node("Sub", ["x", "half"], ["y"])])):
        model = graph_model(nodes, [("x", FLOAT, [1, 3, 32, 32])], [("y", FLOAT, None)], CONSTANTS)
        onnx.save(model, tmp_path / path)
        done = polycmp("run", path, "-b", "onnxrt", "--data-loader", "sample")
        assert (done.status, "resized to 32x32, 0..255" in words(done)) == (0, path == "m.onnx"), done.out + done.err


def test_a_rate_that_a_model_branches_on_is_one_that_it_knows(polycmp, tmp_path):
    """As Silero VAD does: anything but 16000 takes a branch that fails on these inputs."""
    same = graph_model([node("Identity", ["x"], ["a"])], [], [("a", FLOAT, [1, 512])]).graph
    nodes = [node("Add", ["sr", "rate"], ["place"]), node("Gather", ["x", "place"], ["b"], axis=1)]
    other = graph_model(nodes, [], [("b", FLOAT, None)]).graph
    nodes = [
        node("Equal", ["sr", "rate"], ["fits"]),
        node("If", ["fits"], ["y"], then_branch=same, else_branch=other),
    ]
    inputs = [("x", FLOAT, [1, 512]), ("sr", INT64, [])]
    model = graph_model(nodes, inputs, [("y", FLOAT, None)], [("rate", np.array(16000, np.int64))])
    onnx.save(model, tmp_path / "vad.onnx")
    done = polycmp("run", "vad.onnx", "-b", "onnxrt", "-b", "onnx")
    assert (done.status, "sr: 16000" in words(done)) == (0, True), done.out + done.err


@pytest.mark.parametrize("op", ["Div", "Mod"])
def test_nothing_divides_by_zero(polycmp, tmp_path, op):
    inputs = [("a", INT64, [40]), ("b", INT64, [40])]
    nodes = [node("Identity", ["b"], ["c"]), node(op, ["a", "c"], ["y"])]
    onnx.save(graph_model(nodes, inputs, [("y", INT64, [40])]), tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx")
    assert (done.status, "by zero" in done.out) == (0, False), done.out + done.err


def test_a_sample_that_fails_is_repeated_alone(polycmp, tmp_path):
    detector(tmp_path / "good.onnx")
    detector(tmp_path / "wrong.onnx", gain=100.0)
    done = polycmp("run", "wrong.onnx", "good.onnx", "-b", "onnxrt", "--data-loader", "sample")
    assert done.status == 1
    (line,) = [line for line in done.out.splitlines() if "repeat:" in line and "page" in line]
    again = polycmp(*line.split("polycmp ")[1].split())
    assert (again.status, "iteration 0 (page of text)" in again.out) == (1, True), again.out + again.err


def test_sizes_are_tried_until_a_sample_fits(polycmp, tmp_path):
    """A kernel of 128 suggests a length at which speech is not yet any."""
    nodes = [node("Unsqueeze", ["x", "axes"], ["u"]), node("Conv", ["u", "w"], ["y"], strides=[64])]
    kernel = np.random.default_rng(0).normal(size=(2, 1, 128)).astype(np.float32)
    weights = [("w", kernel), ("axes", np.array([1], np.int64))]
    onnx.save(graph_model(nodes, [("x", FLOAT, ["n", "t"])], [("y", FLOAT, None)], weights), tmp_path / "m.onnx")
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--data-loader", "sample")
    assert (done.status, "speech at 16 kHz, 1 s" in words(done)) == (0, True), done.out + done.err

"""`polycmp calibrate` and `--tolerance FILE.toml`: what a measured limit passes, refuses, and cannot tell."""

from __future__ import annotations

import json
import shlex

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
WIDTH = 16
PAIR = ("-b", "onnxrt", "-b", "onnx")
SEEDS = ("--seeds", "3", "--input-shapes", "x:[4,16]")


def save(path, ends=(), outputs=(("y", FLOAT),), changed=0.0):
    """x -> MatMul -> LayerNormalization -> MatMul -> h -> the operators given, or Softmax to y."""
    rng = np.random.default_rng(3)
    weights = {name: (rng.standard_normal((WIDTH, WIDTH)) / 4).astype(np.float32) for name in ("a", "b")}
    weights["b"][0, 0] += changed
    weights["gain"] = np.ones(WIDTH, np.float32)
    weights["large"] = np.array(1e9, np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["m"]),
        helper.make_node("LayerNormalization", ["m", "gain"], ["l"]),
        helper.make_node("MatMul", ["l", "b"], ["h"]),
        *(ends or [helper.make_node("Softmax", ["h"], ["y"])]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, ["n", WIDTH])],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def words(done):
    return " ".join((done.out + done.err).split())


@pytest.fixture
def calibrated(polycmp, tmp_path):
    """Save a model and calibrate it; return what a run with the profile comes to."""

    def make(*more, **model):
        save(tmp_path / "m.onnx", **model)
        done = polycmp("calibrate", "m.onnx", *PAIR, *SEEDS, "-o", "p.toml", "--report", "c.json", *more)
        return done, json.loads((tmp_path / "c.json").read_text())["outputs"]

    return make


def judged(polycmp, *backends, more=()):
    chosen = (word for backend in backends for word in ("-b", backend))
    shape = () if any("--input-shapes" in str(word) for word in more) else SEEDS[2:]
    return polycmp("run", "m.onnx", *chosen, *shape, "--tolerance", "p.toml", "--seed", "99", *more)


def test_a_profile_passes_what_is_right_and_refuses_the_next_coarser_type(polycmp, calibrated):
    done, limits = calibrated()
    assert done.status == 0, done.out
    assert "PASSED: limits for 1 output, measured on 3 inputs" in words(done)
    assert "next: polycmp run m.onnx -b onnxrt -b onnx --input-shapes 'x:[4,16]' --tolerance p.toml" in words(done)
    assert 0 < limits["y"]["largest"] < limits["y"]["abs"] < 1e-5
    assert limits["y"]["comparisons"] == 6
    for candidate in ("onnxrt:optimization=off", "onnxrt:threads=1", "onnx:dtype=float64"):
        assert judged(polycmp, candidate, "onnx", more=("--iterations", "5")).status == 0
    for candidate in ("onnx:dtype=float16", "onnx:dtype=bfloat16"):
        assert judged(polycmp, candidate, "onnx").status == 1


def test_a_small_fault_fails_that_usual_tolerances_pass(polycmp, calibrated, tmp_path):
    calibrated()
    save(tmp_path / "other.onnx", changed=5e-5)
    usual = ("--atol", "1e-5", "--rtol", "1e-5")
    assert polycmp("run", "m.onnx", "-b", "onnxrt:model=other.onnx", "-b", "onnxrt", *SEEDS[2:], *usual).status == 0
    assert judged(polycmp, "onnxrt:model=other.onnx", "onnxrt").status == 1


def test_the_profile_is_a_readable_file(calibrated, tmp_path):
    calibrated()
    text = (tmp_path / "p.toml").read_text()
    assert text.startswith("# Tolerances of one model, measured by polycmp calibrate.")
    for line in (
        'model = "m.onnx"',
        "[backends]",
        "onnxrt = ",
        "onnx = ",
        "[inputs]",
        "[outputs.y]",
        "comparisons = 6",
    ):
        assert line in text


def test_amplified_rounding_cannot_be_told_from_a_coarser_type(polycmp, calibrated):
    """The sine of 10^9 times as much is anything between -1 and 1 in any type."""
    ends = [helper.make_node("Mul", ["h", "large"], ["much"]), helper.make_node("Sin", ["much"], ["y"])]
    done, limits = calibrated(ends=ends)
    assert done.status == 3
    assert "UNDECIDED: limits for 1 output, of which 1 cannot tell rounding from a coarser type" in words(done)
    assert "is off by as little as" in limits["y"]["cannot_tell"]
    done = judged(polycmp, "onnxrt", "onnx")
    assert done.status == 3
    assert "UNDECIDED: 1 of 1 output could not be decided" in words(done)
    assert "the same model in bfloat16 is off" in words(done)
    assert judged(polycmp, "onnx:name=again", "onnx", more=("--allow-blind", "y")).status == 0  # equal is equal


def test_whole_numbers_are_equal_or_different(polycmp, calibrated, tmp_path):
    ends = [helper.make_node("ArgMax", ["h"], ["i"], axis=-1), helper.make_node("Identity", ["h"], ["y"])]
    outputs = (("i", INT), ("y", FLOAT))
    done, limits = calibrated(ends=ends, outputs=outputs)
    assert (done.status, limits["i"]["abs"], limits["i"]["rel"]) == (0, 0.0, 0.0)
    assert limits["y"]["abs"] > 0
    ends[0] = helper.make_node("ArgMin", ["h"], ["i"], axis=-1)
    save(tmp_path / "other.onnx", ends, outputs)
    done = judged(polycmp, "onnxrt:model=other.onnx", "onnxrt")
    assert done.status == 1
    assert "1 of 2 outputs differs" in words(done)


def test_backends_that_decide_otherwise_leave_it_open(polycmp, calibrated):
    ends = [
        helper.make_node("Mul", ["h", "large"], ["much"]),
        helper.make_node("Sin", ["much"], ["s"]),
        helper.make_node("ArgMax", ["s"], ["y"], axis=-1),
    ]
    done, limits = calibrated(ends=ends, outputs=(("y", INT),))
    assert done.status == 3
    assert "onnxrt and onnx do not agree" in limits["y"]["cannot_tell"]
    assert judged(polycmp, "onnxrt", "onnx").status == 3


def test_a_tensor_that_the_profile_does_not_know_is_undecided(polycmp, calibrated):
    calibrated()
    done = judged(polycmp, "onnxrt", "onnx", more=("--onnx-outputs", "h", "y"))
    assert done.status == 3
    assert "the profile has no limit for it" in words(done)


def test_failures_say_that_the_shapes_were_others(polycmp, calibrated):
    calibrated()
    done = judged(polycmp, "onnx:dtype=float16", "onnx", more=("--input-shapes", "x:[9,16]"))
    assert done.status == 1
    assert "the limit was measured with other shapes of inputs, x:[4,16]" in words(done)


def test_a_profile_of_another_model_is_refused(polycmp, calibrated, tmp_path):
    calibrated()
    save(tmp_path / "m.onnx", changed=1.0)
    done = judged(polycmp, "onnxrt", "onnx")
    assert done.status == 2
    assert "the tolerance profile was made for another model" in done.err
    command = "polycmp calibrate m.onnx -b onnxrt -b onnx --input-shapes 'x:[4,16]' --seed 99 -o p.toml"
    assert command in done.err
    assert polycmp(*shlex.split(command)[1:]).status == 0
    assert judged(polycmp, "onnxrt", "onnx").status == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        ("x = [", ""),
        ("format = 1\nmodel = 'm'", "it has no 'sha256'"),
        ("format = 2", "this polycmp reads format 1"),
        ("format = 1\nmodel = 'm'\nsha256 = ''\nbackends = 3", ""),
    ],
)
def test_a_file_that_is_no_profile(polycmp, model, tmp_path, content, why):
    if content is not None:
        (tmp_path / "p.toml").write_text(content)
    done = polycmp("run", model, *PAIR, "--tolerance", "p.toml")
    assert done.status == 3
    assert "p.toml" in done.err
    assert "cannot be read as a tolerance profile" in done.err
    assert why in done.err
    assert "polycmp calibrate MODEL" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("calibrate", "m.onnx", "-o", "p.toml"), "no backend given"),
        (("calibrate", "m.onnx", "-b", "onnx", "-o", "p.toml"), "only one backend"),
        (("calibrate", "m.onnx", *PAIR), "-o: the profile needs a name that ends in .toml"),
        (("calibrate", "m.onnx", *PAIR, "-o", "p.json"), "-o: the profile needs a name that ends in .toml"),
        (("calibrate", "m.onnx", *PAIR, "-o", "p.toml", "--seeds", "0"), "it must be 1 or more"),
        (("run", "m.onnx", *PAIR, "--tolerance", "profile"), "--tolerance FILE.toml"),
    ],
)
def test_wrong_usage(polycmp, tmp_path, words, says):
    save(tmp_path / "m.onnx")
    done = polycmp(*words)
    assert done.status == 2
    assert says in done.err


def test_a_backend_that_fails_leaves_no_profile(polycmp, tmp_path):
    save(tmp_path / "m.onnx")
    done = polycmp("calibrate", "m.onnx", *PAIR, "-b", "onnxrt:op_libs=no.so,name=odd", *SEEDS, "-o", "p.toml")
    assert done.status == 3
    assert "ERROR: odd failed" in words(done)
    assert not (tmp_path / "p.toml").exists()


def test_backends_with_other_outputs_leave_no_profile(polycmp, tmp_path):
    save(tmp_path / "m.onnx")
    save(tmp_path / "other.onnx", [helper.make_node("Softmax", ["h"], ["z"])], (("z", FLOAT),))
    done = polycmp("calibrate", "m.onnx", *PAIR, "-b", "onnxrt:model=other.onnx,name=odd", *SEEDS, "-o", "p.toml")
    assert done.status == 3
    assert "only one of onnxrt and odd has an output 'y'" in done.err
    assert not (tmp_path / "p.toml").exists()


@pytest.mark.parametrize(
    ("ends", "held"),
    [
        ([helper.make_node("Sub", ["h", "h"], ["y"])], "0"),
        ([helper.make_node("Sub", ["h", "h"], ["o"]), helper.make_node("Div", ["o", "o"], ["y"])], "NaN"),
    ],
    ids=["zeros", "NaN"],
)
def test_an_output_that_is_one_number_everywhere_has_no_limit_that_refuses_anything(calibrated, ends, held):
    done, outputs = calibrated(ends=ends)
    assert done.status == 3, done.out
    assert f"it holds {held} everywhere: no limit refuses anything" in words(done)
    assert outputs["y"]["abs"] == 0

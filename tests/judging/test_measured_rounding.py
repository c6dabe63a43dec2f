"""`--tolerance auto` judges by measured rounding; and what a failing row says of rounding without it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from in_parts import a_few, each_once, spelled
from ml_dtypes import bfloat16
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from small_models import graph_model

FLOAT = TensorProto.FLOAT
RNG = np.random.default_rng(5)
AUTO = ("--tolerance", "auto", "--report", "r.json")


def words(done):
    return " ".join(done.out.split())


def deep(path, layers=12, width=64, last="Softmax"):
    """A residual network: MatMul, Add, LayerNormalization, Relu, in turn."""
    nodes, weights, source = [], [], "x"
    for index in range(layers):
        name = f"l{index}"
        weights.append((f"{name}_w", (RNG.standard_normal((width, width)) / width**0.5).astype(np.float32)))
        nodes += [
            helper.make_node("MatMul", [source, f"{name}_w"], [f"{name}_m"], name=f"{name}_m"),
            helper.make_node("Relu", [f"{name}_m"], [f"{name}_r"], name=f"{name}_r"),
            helper.make_node("Add", [source, f"{name}_r"], [f"{name}_a"], name=f"{name}_a"),
            helper.make_node("LayerNormalization", [f"{name}_a", "gain"], [f"{name}_y"], name=f"{name}_y", axis=-1),
        ]
        source = f"{name}_y"
    weights.append(("gain", np.ones(width, np.float32)))
    nodes.append(helper.make_node(last, [source], ["y"], name="y"))
    onnx.save(graph_model(nodes, [("x", FLOAT, ["n", width])], [("y", FLOAT, None)], weights), path)


@pytest.fixture
def model(tmp_path):
    deep(tmp_path / "m.onnx")
    return "m.onnx"


def verdict(done):
    return done.report(Path("r.json"))["comparison_results"][0]["outputs"]["y"]


@pytest.mark.parametrize(
    ("backends", "seed"),
    each_once(
        [
            ("onnxrt", "onnx"),
            ("onnx", "onnxrt"),
            ("onnxrt", "onnxrt:optimization=off"),
            ("onnx:dtype=float16", "onnx"),
            ("onnx:dtype=bfloat16", "onnxrt"),
            ("onnx:dtype=float64", "onnxrt"),
        ],
        ["1", "2"],
    ),
    ids=spelled,
)
def test_rounding_passes_whatever_the_type(polycmp, model, backends, seed):
    done = polycmp("run", model, "-b", backends[0], "-b", backends[1], *AUTO, "--seed", seed)
    assert done.status == 0, done.out
    assert "rounding explains up to" in words(done) or verdict(done)["max_error"] == 0


def test_what_takes_long_is_said_before_it_begins(polycmp, model, monkeypatch):
    monkeypatch.setattr("polycmp.builtin.judging.samples._NOTICEABLE", 0.0)
    done = polycmp("run", model, "-b", "onnx:dtype=float16", "-b", "onnx", *AUTO)
    assert "measuring what rounding to float16 does, with onnxrt: about" in " ".join(done.err.split())
    assert "runs of a model of" not in done.err


@pytest.mark.parametrize(
    ("candidate", "status"),
    [("onnx:dtype=float16", 0), ("faulty:backend=onnxrt,fault=fp16,at=l2_m", 1)],
    ids=["passes", "far off"],
)
def test_what_the_first_sample_decides_is_not_moved_again(polycmp, model, monkeypatch, candidate, status):
    monkeypatch.setattr("polycmp.builtin.judging.samples._NOTICEABLE", 0.0)
    done = polycmp("run", model, "-b", candidate, "-b", "onnx", *AUTO)
    assert done.status == status
    assert " ".join(done.err.split()).count("measuring what rounding to") == 1


@pytest.mark.parametrize("all_of_it", [False, True], ids=["the number itself", "all that it multiplies"])
def test_what_hangs_on_a_number_that_loses_its_digits_does_not_fail_by_one_sample(polycmp, tmp_path, all_of_it):
    """The first random number of a sample is the same for each model, and may be next to nothing."""
    count, width = 8, 4096
    x = RNG.standard_normal((1, width)).astype(np.float32)
    nodes, weights = [helper.make_node("Relu", ["x"], ["r"])], []
    for index in range(count):
        w = RNG.standard_normal((width, 1)).astype(np.float32)
        whole = x.astype(np.float64) @ w
        weights += [(f"w{index}", w), (f"c{index}", (whole * (1 + 4e-5)).astype(np.float32))]
        difference = f"d{index}" if all_of_it else f"y{index}"
        nodes.append(helper.make_node("MatMul", ["x", f"w{index}"], [f"m{index}"]))
        nodes.append(helper.make_node("Sub", [f"m{index}", f"c{index}"], [difference]))
        if all_of_it:
            nodes.append(helper.make_node("Mul", ["r", difference], [f"y{index}"]))
    outputs = [(f"y{index}", FLOAT, [1, width if all_of_it else 1]) for index in range(count)]
    onnx.save(graph_model(nodes, [("x", FLOAT, [1, width])], outputs, weights), tmp_path / "lost.onnx")
    np.savez(tmp_path / "x.npz", x=x)
    done = polycmp("run", "lost.onnx", "-b", "onnxrt", "-b", "onnx", "--load-inputs", "x.npz", *AUTO)
    words = [item["verdict"] for item in done.report(Path("r.json"))["comparison_results"][0]["outputs"].values()]
    assert len(words) == count
    assert set(words) <= {"passed", "undecided", "blind"}, done.out


def test_how_often_a_large_model_runs_is_said_before_its_first_run(polycmp, model, monkeypatch):
    monkeypatch.setattr("polycmp.builtin.judging.samples._LARGE", 0)
    done = polycmp("run", model, "-b", "onnx:dtype=float16", "-b", "onnx", *AUTO)
    said = " ".join(done.err.split())
    assert "measuring what rounding to float16 does, with onnxrt: two runs or more of a model of" in said


@pytest.mark.parametrize("command", ["run", "locate"])
def test_rounding_to_float16_passes_where_nobody_gave_a_tolerance_and_fails_one_that_was_typed(polycmp, model, command):
    pair = (command, model, "-b", "onnx:dtype=float16", "-b", "onnx")
    assert polycmp(*pair).status == 0
    assert polycmp("run", *pair[1:], "--atol", "1e-5", "--rtol", "1e-5").status == 1


def test_a_tolerance_for_one_output_is_final(polycmp, model):
    pair = ("run", model, "-b", "onnx:dtype=float16", "-b", "onnx")
    assert polycmp(*pair, "--atol", "y:1e-9", "--rtol", "y:1e-9").status == 1


@pytest.mark.parametrize("fault", ["fp16", "int32", "saturate", "layout", "shuffle", "row-noise"])
@pytest.mark.parametrize("at", a_few(["l11_y", "l2_m"]))
def test_a_planted_fault_fails(polycmp, model, fault, at):
    known = polycmp(
        "run", model, "-b", f"faulty:backend=onnxrt,fault={fault},at={at}", "-b", "onnx", *AUTO, "--input-shapes", "n=4"
    )
    if known.status == 2:
        pytest.fail(known.err)
    assert known.status == 1, known.out


def test_a_wrong_weight_in_one_of_two_files_fails(polycmp, model, tmp_path):
    wrong = onnx.load(tmp_path / "m.onnx")
    array = onnx.numpy_helper.to_array(wrong.graph.initializer[3]).copy()
    array[7] += 0.5
    wrong.graph.initializer[3].CopyFrom(onnx.numpy_helper.from_array(array, wrong.graph.initializer[3].name))
    onnx.save(wrong, tmp_path / "wrong.onnx")
    done = polycmp("run", model, "-b", "onnxrt:model=wrong.onnx", "-b", "onnxrt", *AUTO)
    assert done.status == 1, done.out
    assert "rounding explains up to" in words(done)


def test_a_converted_file_is_judged_by_the_type_inside_it(polycmp, model):
    assert polycmp("convert", model, "-o", "half.onnx", "--fp-to-fp16").status == 0
    done = polycmp("run", model, "-b", "onnxrt:model=half.onnx", "-b", "onnxrt", *AUTO)
    assert done.status == 0, done.out
    assert "float16" in words(done)
    assert polycmp("run", model, "-b", "onnxrt:model=half.onnx", "-b", "onnxrt", "--atol", "1e-5").status == 1


def test_whole_numbers_are_compared_exactly(polycmp, tmp_path):
    nodes = [helper.make_node("ArgMax", ["x"], ["y"], axis=-1, name="y")]
    model = graph_model(nodes, [("x", FLOAT, [4, 9])], [("y", TensorProto.INT64, None)])
    onnx.save(model, tmp_path / "m.onnx")
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", *AUTO).status == 0
    wrong = ("-b", "faulty:backend=onnxrt,fault=shuffle,at=y", "-b", "onnx")
    assert polycmp("run", "m.onnx", *wrong, *AUTO).status == 1


def deciding(path, gap):
    """Write a network that names the larger of two scores, one of which is the other and a share of it."""
    weight = np.random.default_rng(6).standard_normal((16, 1)).astype(np.float32)
    weights = [("w", np.concatenate([weight, weight * np.float32(1 + gap)], axis=1))]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"], name="scores"),
        helper.make_node("ArgMax", ["scores"], ["y"], axis=-1, name="y"),
    ]
    onnx.save(graph_model(nodes, [("x", FLOAT, [64, 16])], [("y", TensorProto.INT64, None)], weights), path)


@pytest.mark.parametrize(("gap", "verdict_", "status"), [(2e-4, "undecided", 3), (0.5, "failed", 1)])
def test_decisions_between_nearly_equal_values_are_undecided_and_others_wrong(polycmp, tmp_path, gap, verdict_, status):
    deciding(tmp_path / "m.onnx", gap)
    other = "onnx:dtype=float16" if gap < 0.1 else "faulty:backend=onnx,fault=shuffle,at=y"
    done = polycmp("run", "m.onnx", "-b", other, "-b", "onnx", *AUTO)
    assert (done.status, verdict(done)["verdict"]) == (status, verdict_), done.out
    assert ("decisions between nearly equal values" in words(done)) == (verdict_ == "undecided")


def test_tensors_inside_a_quantised_file_are_judged_by_what_they_are_paired_with(polycmp, model):
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(model, "int8.onnx")
    sides = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=m.onnx", "--mark-all")
    done = polycmp("run", "int8.onnx", *sides, *AUTO)
    assert done.status in (0, 3), done.out
    assert "tensors were paired" in done.out
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--mark-all", *AUTO).status == 0
    refused = polycmp("run", "int8.onnx", *sides, *AUTO, "--warm-up", "1")
    assert refused.status == 2
    assert "with --warm-up tensors are not paired" in refused.err


@pytest.mark.parametrize(
    ("factor", "kind", "status"), [(1.0, "", 0), (1.0, "fp16", 0), (1.01, "", 1), (1.2, "fp16", 1)]
)
def test_tensors_inside_a_file_of_other_names_are_judged_by_rounding(polycmp, tmp_path, factor, kind, status):
    rng = np.random.default_rng(3)
    held = [(f"w{place}", (rng.standard_normal((16, 16)) / 4).astype(np.float32)) for place in range(3)]

    def chain(path, inner, names, middle):
        source, nodes = names[0], []
        for place in range(3):
            made = f"{inner}{place}" if place < 2 else names[1]
            nodes += [
                helper.make_node("MatMul", [source, f"w{place}"], [f"{inner}m{place}"], name=f"{inner}m{place}"),
                helper.make_node("Tanh", [f"{inner}m{place}"], [made], name=f"{inner}t{place}"),
            ]
            source = made
        weights = [(name, array * np.float32(middle if name == "w1" else 1.0)) for name, array in held]
        onnx.save(graph_model(nodes, [(names[0], FLOAT, [8, 16])], [(names[1], FLOAT, [8, 16])], weights), path)

    chain(tmp_path / "m.onnx", "h", ("x", "y"), 1.0)
    chain(tmp_path / "o.onnx", "inner_", ("data", "result"), factor)
    new = "o.onnx"
    if kind:
        assert polycmp("convert", new, f"--fp-to-{kind}", "-o", "coarse.onnx").status == 0
        new = "coarse.onnx"
    sides = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=m.onnx", "--map-output", "result=y")
    done = polycmp("run", new, *sides, "--mark-all", *AUTO)
    assert done.status == status, done.out
    assert "'data' of new is fed what 'x' of old gets" in done.out
    said = json.loads(Path("r.json").read_text())["comparison_results"][0]["outputs"]
    assert said["result"]["reference_output"] == "y"
    assert said["inner_m0"]["verdict"] == "passed"
    assert (said["inner_m1"]["verdict"] == "failed") is bool(status)


@pytest.mark.parametrize(
    "more",
    [("--atol", "1e-3"), ("--rtol", "1e-3"), ("--compare", "l2"), ("--check-error-stat", "mean"), ("--check-average",)],
)
def test_what_contradicts_it_is_wrong_usage(polycmp, model, more):
    done = polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "--tolerance", "auto", *more)
    assert (done.status, "next:" in done.err) == (2, True), done.err


def test_it_is_the_only_value(polycmp, model):
    assert polycmp("run", model, "-b", "onnxrt", "-b", "onnx", "--tolerance", "1e-3").status == 2


def test_saved_outputs_can_be_judged_with_a_backend_beside_them(polycmp, model):
    assert polycmp("run", model, "-b", "onnx", "--save-outputs", "o.npz").status == 0
    done = polycmp("run", model, "-b", "onnxrt", "--load-outputs", "o.npz", *AUTO)
    assert done.status == 0, done.out + done.err
    done = polycmp("run", "--load-outputs", "o.npz", "--load-outputs", "o.npz", *AUTO)
    assert (done.status, "needs a backend" in done.err) == (2, True), done.err


def test_saved_outputs_of_another_name_are_judged_by_the_same_bound(polycmp, model):
    """pytorch#188430: the candidate's model was asked for the saved output's name, so nothing was measured."""
    x = RNG.standard_normal((3, 64)).astype(np.float32)
    y = ReferenceEvaluator(model).run(None, {"x": x})[0] * np.float32(1.001)
    np.savez("x.npz", x=x)
    reasons = []
    for name, words in (("y", ()), ("z", ("--map-output", "y=z"))):
        np.savez("saved.npz", **{name: y})
        done = polycmp(
            "run", model, "-b", "onnxrt", "--load-inputs", "x.npz", "--load-outputs", "saved.npz", *words, *AUTO
        )
        reasons.append(verdict(done)["reason"])
    assert "measured with onnxrt" in reasons[0]
    assert reasons[1] == reasons[0]


@pytest.mark.parametrize("seed", a_few(["0", "2", "3"]))
def test_channels_of_tiny_values_are_not_accused(polycmp, tmp_path, seed):
    """Kernels approximate Sigmoid as exactly as 1 needs, whatever is subtracted from it."""
    node = helper.make_node
    nodes = [
        node("Add", ["x", "shift"], ["a"]), node("Clip", ["a", "low"], ["c"]), node("Sigmoid", ["c"], ["s"]),
        node("Sigmoid", ["low"], ["b"]), node("Sub", ["s", "b"], ["y"]),
    ]  # fmt: skip
    shift = np.array([0, 2, -22, -20], np.float32).reshape(1, 4, 1, 1)
    for low in (-18, -30):
        weights = [("shift", shift), ("low", np.float32(low))]
        made = graph_model(nodes, [("x", FLOAT, [1, 4, 8, 8])], [("y", FLOAT, None)], weights)
        onnx.save(made, tmp_path / f"low{-low}.onnx")
    done = polycmp("run", "low18.onnx", "low30.onnx", "-b", "onnx", *AUTO, "--seed", seed)
    assert done.status == 0, done.out


@pytest.mark.parametrize(("fault", "status"), [("", 0), ("zero_point", 3), ("scale", 1)])
def test_rounding_to_int8_is_measured(polycmp, tmp_path, fault, status):
    """Four layers by `quantize_dynamic`: what a scale 10 % too large, or a zero point off by one, does never passes."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    rng, nodes, weights, last = np.random.default_rng(0), [], [], "x"
    for index in range(4):
        weights.append((f"w{index}", (rng.standard_normal((64, 64)) * 0.18).astype(np.float32)))
        nodes.append(helper.make_node("MatMul", [last, f"w{index}"], [f"m{index}"], name=f"m{index}"))
        last = "y" if index == 3 else f"r{index}"
        nodes.append(helper.make_node("Relu", [f"m{index}"], [last], name=f"r{index}"))
    onnx.save(graph_model(nodes, [("x", FLOAT, [32, 64])], [("y", FLOAT, None)], weights), tmp_path / "m.onnx")
    quantization.quantize_dynamic(tmp_path / "m.onnx", tmp_path / "int8.onnx")
    wrong = onnx.load(tmp_path / "int8.onnx")
    for item in wrong.graph.initializer:
        if fault and item.name == f"w2_{fault}":
            value = onnx.numpy_helper.to_array(item)
            other = value + value.dtype.type(1) if fault == "zero_point" else value * np.float32(1.1)
            item.CopyFrom(onnx.numpy_helper.from_array(np.asarray(other, value.dtype), item.name))
    onnx.save(wrong, tmp_path / "wrong.onnx")
    done = polycmp("run", "wrong.onnx", "m.onnx", "-b", "onnxrt", *AUTO)
    assert done.status == status, done.out
    assert "int8 measured with onnxrt" in words(done) or "rounding to int8" in words(done)


# --- what rows show


def test_the_share_of_the_range_and_the_mean_stand_beside_the_largest_error(polycmp, model):
    done = polycmp("run", model, "-b", "onnx:dtype=float16", "-b", "onnx", "--report", "r.json")
    assert "Max abs Of range Mean abs" in words(done)
    assert "Max rel" not in words(done)
    found = verdict(done)
    assert found["share_of_range"] == pytest.approx(found["max_error"] / found["largest_magnitude"])


def test_a_metric_that_was_asked_for_is_shown_where_it_passes(polycmp, model):
    done = polycmp(
        "run", model, "-b", "onnxrt", "-b", "onnx", "--compare", "cosine_similarity", "l2", "--l2-threshold", "1e-3"
    )
    assert done.status == 0
    assert "cosine similarity" in words(done)
    assert "l2" in words(done)


def test_no_relative_tolerance_above_1_is_proposed(polycmp, tmp_path):
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"], name="y")]
    for name, tiny in (("m", 1e-30), ("other", 1e-3)):
        weights = [("w", np.array([1, tiny], np.float32))]
        onnx.save(graph_model(nodes, [("x", FLOAT, [1, 2])], [("y", FLOAT, None)], weights), tmp_path / f"{name}.onnx")
    typed = ("--atol", "1e-5", "--rtol", "1e-5")
    done = polycmp("run", "m.onnx", "-b", "onnxrt:model=other.onnx", "-b", "onnxrt", *typed)
    assert (done.status, "would pass" in words(done), "or rtol" in words(done)) == (1, True, False)


def cancelling(path, factor=1.0):
    """A normalisation whose variance is E[x²] - E[x]² of numbers far from 0, as TensorFlow's exporter writes it."""
    node, random = helper.make_node, np.random.default_rng(3)
    weights = [
        ("first", (random.standard_normal((32, 32)) / 100).astype(np.float32)),
        ("bias", np.float32(5.0)),
        ("axes", np.array([1])),
        ("last", (random.standard_normal((32, 8)) * factor).astype(np.float32)),
    ]
    nodes = [
        node("MatMul", ["x", "first"], ["m"], name="m"),
        node("Add", ["m", "bias"], ["a"], name="a"),
        node("ReduceMean", ["a", "axes"], ["mean"], name="mean"),
        node("Mul", ["a", "a"], ["squares"], name="squares"),
        node("ReduceMean", ["squares", "axes"], ["mean_of_squares"], name="mean_of_squares"),
        node("Mul", ["mean", "mean"], ["square"], name="square"),
        node("Sub", ["mean_of_squares", "square"], ["variance"], name="variance"),
        node("Abs", ["variance"], ["positive"], name="positive"),
        node("Sqrt", ["positive"], ["deviation"], name="deviation"),
        node("Sub", ["a", "mean"], ["centred"], name="centred"),
        node("Div", ["centred", "deviation"], ["normal"], name="normal"),
        node("MatMul", ["normal", "last"], ["y"], name="y"),
    ]
    onnx.save(graph_model(nodes, [("x", FLOAT, [4, 32])], [("y", FLOAT, None)], weights, opset=18), path)


def test_a_pass_says_which_faults_rounding_that_is_amplified_hides(polycmp, tmp_path):
    cancelling(tmp_path / "m.onnx")
    cancelling(tmp_path / "wrong.onnx", factor=1.01)
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", *AUTO)
    assert done.status == 0
    told = re.search(r"a fault below ([0-9.]+) % of what its values vary by would not show", words(done))
    assert told is not None
    assert 1 < float(told[1]) < 10
    for command in ("run", "locate"):  # such a fault, of which the files tell
        done = polycmp(command, "wrong.onnx", "-b", "onnxrt", "-b", "onnxrt:model=m.onnx,name=right")
        assert done.status == 1, done.out


COARSE = {
    "float16": [
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["h"], ["z"], to=FLOAT),
    ],
    "codes": [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "zp"]),
        helper.make_node("DequantizeLinear", ["q", "s", "zp"], ["z"]),
    ],
}


@pytest.mark.parametrize("coarse", COARSE)
@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.002, 1)])
def test_a_coarse_type_elsewhere_explains_nothing_of_an_output(polycmp, tmp_path, coarse, factor, status):
    """Both files round one branch to the same type, and the fault lies in the other."""
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    product = helper.make_node("MatMul", ["x", "w"], ["m"])
    ends = {
        "old": ([helper.make_node("Tanh", ["m"], ["y"])], []),
        "new": (
            [helper.make_node("Tanh", ["m"], ["t"]), helper.make_node("Mul", ["t", "c"], ["y"])],
            [("c", np.float32([factor]))],
        ),
    }
    for name, (last, more) in ends.items():
        nodes, outputs = [product, *last, *COARSE[coarse]], [("y", FLOAT, [4, 8]), ("z", FLOAT, [4, 8])]
        model = graph_model(nodes, [("x", FLOAT, [4, 8])], outputs, [("w", weight), *more])
        onnx.save(model, tmp_path / f"{name}.onnx")
    done = polycmp("run", "new.onnx", "-b", "onnxrt", "-b", "onnx:model=old.onnx,name=old", *AUTO)
    assert done.status == status, done.out


@pytest.mark.parametrize(("factor", "status"), [pytest.param(1.0, 0, marks=pytest.mark.corpus), (1.004, 0), (1.2, 1)])
def test_an_estimate_accuses_nothing_of_what_a_row_keeps(polycmp, tmp_path, factor, status):
    """ONNX's operators of version 7 cannot be perturbed inside a model, and a loop may carry an error along a row."""
    weight = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Mul", ["m", "c"], ["y"])]
    rows = np.ones((8, 1), np.float32)
    for name in ("old", "float"):
        outputs, weights = [("y", FLOAT, [8, 32])], [("w", weight), ("c", rows.copy())]
        onnx.save(graph_model(nodes, [("x", FLOAT, [8, 32])], outputs, weights, opset=7), tmp_path / f"{name}.onnx")
        rows[2] = factor
    assert polycmp("convert", "float.onnx", "--fp-to-fp16", "-o", "new.onnx").status == 0
    done = polycmp("run", "new.onnx", "-b", "onnxrt", "-b", "onnxrt:model=old.onnx,name=old", *AUTO)
    assert done.status == status, done.out
    assert "estimated" in words(done)


def detector(path, *, score_bias=0.0, box_factor=1.0):
    """Four rows of boxes, up to 640, above eighty of scores, in one output as detectors have it."""
    random = np.random.default_rng(11)
    weights = [
        ("w", (random.standard_normal((84, 16, 1, 1)) / 4).astype(np.float32)),
        ("bias", np.full(1, score_bias, np.float32)),
        ("size", np.full(1, 640.0 * box_factor, np.float32)),
        ("rows", np.array([4, 80], np.int64)),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["raw"], name="raw"),
        helper.make_node("Split", ["raw", "rows"], ["raw_boxes", "raw_scores"], name="split", axis=1),
        helper.make_node("Add", ["raw_scores", "bias"], ["moved"], name="moved"),
        helper.make_node("Sigmoid", ["moved"], ["scores"], name="scores"),
        helper.make_node("Sigmoid", ["raw_boxes"], ["share"], name="share"),
        helper.make_node("Mul", ["share", "size"], ["boxes"], name="boxes"),
        helper.make_node("Concat", ["boxes", "scores"], ["y"], name="y", axis=1),
    ]
    onnx.save(graph_model(nodes, [("x", FLOAT, [1, 16, 20, 20])], [("y", FLOAT, None)], weights), path)


@pytest.mark.parametrize(
    ("fault", "status"), [({"score_bias": 4e-4}, 1), ({"box_factor": 1 + 1.2e-7}, 0)], ids=["scores", "boxes"]
)
def test_boxes_and_scores_in_one_output_are_judged_apart(polycmp, tmp_path, fault, status):
    """A fault of scores is not hidden by what rounding makes of boxes, nor does that fail because scores round less."""
    detector(tmp_path / "old.onnx")
    detector(tmp_path / "new.onnx", **fault)
    done = polycmp("run", "new.onnx", "old.onnx", "-b", "onnxrt")
    assert done.status == status, done.out
    where = (
        "(in 80 of 84 channels of a scale" if status else "rounding explains up to .* in 4 of 84 channels of a scale"
    )
    assert re.search(where.replace("(", r"\("), words(done)), done.out


def write_networks(folder: Path, dtype, *, is_wrong: bool) -> list[str]:
    """Write a network of products, and its file whose weights lie in a coarser type and are cast; return both names."""
    random = np.random.default_rng(0)
    paths = []
    weights = [random.standard_normal((32, 32)).astype(np.float32) / 5 for _ in range(4)]
    for name in ("held", "source"):
        nodes, held, read = [], [], "x"
        for place, weight in enumerate(weights):
            if name == "held":
                stored = weight.copy()
                stored[:, 3] *= 1.05 if is_wrong and place == 1 else 1.0
                held.append(numpy_helper.from_array(stored.astype(dtype), f"w{place}_held"))
                nodes.append(helper.make_node("Cast", [f"w{place}_held"], [f"w{place}_cast"], to=TensorProto.FLOAT))
            else:
                held.append(numpy_helper.from_array(weight, f"w{place}"))
            nodes.append(helper.make_node("MatMul", [read, held[-1].name.replace("held", "cast")], [f"m{place}"]))
            nodes.append(helper.make_node("Tanh", [f"m{place}"], [f"t{place}"]))
            read = f"t{place}"
        values = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [8, 32]) for value in ("x", read)]
        graph = helper.make_graph(nodes, name, values[:1], values[1:], held)
        path = folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        paths.append(str(path))
    return paths


@pytest.mark.parametrize(
    ("command", "order"), each_once([["run", "--mark-all"], ["run"], ["locate"]], [1, -1]), ids=spelled
)
@pytest.mark.parametrize("dtype", a_few([np.float16, bfloat16]))
def test_weights_that_a_file_holds_in_a_coarser_type_are_rounded_to_it(polycmp, tmp_path, command, order, dtype):
    """The rest of the file calculates in float32: a weight that is wrong by 5 % of a column is seen."""
    right = write_networks(tmp_path, dtype, is_wrong=False)[::order]
    done = polycmp(*command, *right, "-b", "onnxrt")
    assert done.status == 0, done.out
    wrong = write_networks(tmp_path, dtype, is_wrong=True)[::order]
    if dtype is np.float16:
        assert polycmp(*command, *wrong, "-b", "onnxrt").status == 1


@pytest.mark.parametrize("words", a_few([(), ("--nan", "equal")]), ids=["default", "equal"])
@pytest.mark.parametrize(("share", "statuses"), [(1e-6, (0, 0, 0)), (0.5, (1, 1, 1))], ids=["healthy", "wrong"])
def test_nan_that_both_files_make_alike_and_mask_is_no_difference(polycmp, tmp_path, words, share, statuses):
    """`--mark-all` failed a healthy pair of which `run` and `locate` said that nothing was wrong."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "w"], ["a"], name="a"),
        node("Sqrt", ["a"], ["s"], name="s"),
        node("IsNaN", ["s"], ["n"], name="n"),
        node("Where", ["n", "zero", "s"], ["c"], name="c"),
        node("MatMul", ["c", "v"], ["y"], name="y"),
    ]
    for name, factor in (("new.onnx", 1 + share), ("old.onnx", 1.0)):
        rng = np.random.default_rng(0)
        w, v = (rng.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
        held = [("w", w * np.float32(factor)), ("v", v), ("zero", np.float32(0))]
        onnx.save(graph_model(nodes, [("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 8])], held), tmp_path / name)
    asked = (("run",), ("run", "--mark-all"), ("locate",))
    pair = ("new.onnx", "old.onnx", "-b", "onnxrt", "--val-range", "[-1,1]", *words)
    assert tuple(polycmp(*command[:1], *pair, *command[1:]).status for command in asked) == statuses


@pytest.mark.parametrize(("share", "statuses"), [(1e-6, (0, 0, 0)), (0.5, (1, 1, 1))], ids=["healthy", "wrong"])
def test_infinities_with_which_both_files_mask_are_no_difference(polycmp, tmp_path, share, statuses):
    """`--mark-all` failed each transformer whose export masks by infinity, as PyTorch's do."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "w"], ["a"], name="a"),
        node("Where", ["mask", "a", "never"], ["m"], name="m"),
        node("Softmax", ["m"], ["p"], name="p", axis=-1),
        node("MatMul", ["p", "v"], ["y"], name="y"),
    ]
    mask = np.tril(np.ones((8, 8), bool))
    for name, factor in (("new.onnx", 1 + share), ("old.onnx", 1.0)):
        rng = np.random.default_rng(0)
        w, v = (rng.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
        held = [("w", w * np.float32(factor)), ("v", v), ("mask", mask), ("never", np.float32(-np.inf))]
        onnx.save(graph_model(nodes, [("x", FLOAT, [8, 8])], [("y", FLOAT, [8, 8])], held), tmp_path / name)
    asked = (("run",), ("run", "--mark-all"), ("locate",))
    pair = ("new.onnx", "old.onnx", "-b", "onnxrt", "--val-range", "[-1,1]")
    assert tuple(polycmp(*command[:1], *pair, *command[1:]).status for command in asked) == statuses


def test_a_shape_that_no_rounding_turns_differs(polycmp, tmp_path):
    """Saved outputs in another layout were undecided: the candidate's own model has another shape than they, too."""
    transposed = helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1])
    onnx.save(graph_model([transposed], [("x", FLOAT, [1, 2, 2, 1])], [("y", FLOAT, None)]), tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=np.arange(4, dtype=np.float32).reshape(1, 2, 2, 1))
    np.savez(tmp_path / "truth.npz", y=np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2))
    done = polycmp("run", "m.onnx", "-b", "onnxrt", "--load-inputs", "x.npz", "--load-outputs", "truth.npz")
    assert (done.status, "shape" in done.out) == (1, True)

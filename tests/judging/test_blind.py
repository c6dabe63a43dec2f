"""Comparisons that could not have failed: what every command says of them, and how they are accepted."""

from __future__ import annotations

import shlex

import numpy as np
import onnx
import pytest
from in_parts import a_few
from in_process import run_cases_here
from onnx import TensorProto, helper, numpy_helper

_MEANS = ("--check-average", "--check-error-stat", "max", "--iterations", "2")
#: A tolerance that somebody typed, above all that a detector makes of inputs in which there is nothing.
TYPED = ("--atol", "1e-5", "--rtol", "1e-5")
WORDS = "the largest value of 'y' is "


def detector(factor=1.0, shift=-18.0):
    """Return a detector that finds nothing in random inputs: y = Sigmoid(MatMul(x, w) - 18), all below 1e-5."""
    weight = np.random.default_rng(0).uniform(-0.2, 0.2, (8, 8)).astype(np.float32) * np.float32(factor)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Add", ["m", "b"], ["h"]),
            helper.make_node("Sigmoid", ["h"], ["y"]),
        ],
        "detector",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(shift), "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def broken(tmp_path):
    """A good and a ruined detector: words that compare them on default inputs."""
    onnx.save(detector(), tmp_path / "good.onnx")
    onnx.save(detector(1.3), tmp_path / "bad.onnx")
    return ("run", "bad.onnx", "good.onnx", "-b", "onnxrt")


def test_a_ruined_detector_is_blind_on_default_inputs_and_fails_on_others(polycmp, broken, tmp_path):
    done = polycmp(*broken)  # the sigmoid of all these numbers is below what float32 tells, but not what the files do
    assert (done.status, "the files hold different networks" in " ".join(done.out.split())) == (1, True), done.out
    done = polycmp(*broken, *TYPED, "--report", "r.json")
    assert done.status == 3
    assert WORDS in done.out
    assert "below atol 1e-05: nothing could differ" in done.out
    assert "BLIND: 1 of 1 output compared blindly: nothing could have differed" in done.out
    steps = [line for line in done.out.splitlines() if line.startswith("  next: polycmp ")]
    assert steps[-1].endswith(" --allow-blind y")
    assert len(steps) == 2
    [pair] = done.report(tmp_path / "r.json")["comparison_results"]
    assert pair["outputs"]["y"]["verdict"] == "blind"
    assert pair["outputs"]["y"]["share_of_range"] > 0.1
    assert polycmp(*broken, *TYPED, "--val-range", "[-60,60]").status == 1
    assert polycmp(*broken, "--atol", "y:1e-5").status == 3
    assert polycmp(*broken, "--atol", "1e-12").status == 1


def test_a_tolerance_that_passes_anything_is_blamed_and_not_the_inputs(polycmp, broken):
    words = (*broken, "--val-range", "[-60,60]")
    for wide in (("--atol", "600", "--rtol", "300"), ("--rtol", "50"), ("--atol", "y:1e9")):
        done = polycmp(*words, *wide)
        assert done.status == 3
        first, second = [line.removeprefix("  next: ") for line in done.out.splitlines() if "next: polycmp" in line]
        assert second.endswith("--allow-blind y")
        assert "tol" not in first
        again = polycmp(*shlex.split(first)[1:])
        assert (again.status, "FAILED" in again.out) == (1, True)


def test_the_next_step_gives_other_inputs_in_place_of_those_that_were_given(polycmp, broken, tmp_path):
    np.savez(tmp_path / "zeros.npz", x=np.zeros((2, 8), np.float32))
    done = polycmp(*broken, "--load-inputs", "zeros.npz")
    assert done.status == 3
    [other, accept] = [line for line in done.out.splitlines() if line.startswith("  next: polycmp ")]
    assert other.count("--load-inputs") == 1
    assert "--load-inputs FILE" in other
    assert "--load-inputs zeros.npz --allow-blind y" in accept


def test_it_is_accepted_by_name_and_the_row_keeps_the_remark(polycmp, broken):
    for words in (("--allow-blind",), ("--allow-blind", "y"), ("--allow-blind=*",)):
        done = polycmp(*broken, *TYPED, *words)
        assert done.status == 0
        assert "nothing could differ (accepted: --allow-blind)" in " ".join(done.out.split())
    done = polycmp(*broken, "--allow-blind", "z")
    assert (done.status, "the model has no output 'z'" in done.err) == (2, True)


def test_other_ways_to_compare_are_as_blind(polycmp, broken):
    for words in (_MEANS, ("--compare", "simple", "l2", "--l2-threshold", "1", *TYPED)):
        assert polycmp(*broken, *words).status == 3
    assert polycmp(*broken, "--compare", "cosine_similarity").status == 1
    assert polycmp(*broken, "--compare", "simple", "snr").status == 1


def test_indices_of_one_value_or_few_are_no_reason(polycmp, tmp_path):
    for number, indices in enumerate(([[1, 2, 0]], [[0, 0, 0]], [[7]], [[1, 2, 0], [1, 2, 0]], [[3, 5], [5, 3]])):
        for name in ("a", "b"):
            np.savez(tmp_path / f"{name}{number}.npz", y=np.array(indices))
        done = polycmp("compare", f"a{number}.npz", f"b{number}.npz", "--compare", "indices")
        assert done.status == 0, done.out


def test_with_tensors_inside_the_outputs_of_the_model_are_asked(polycmp, tmp_path):
    onnx.save(detector(), tmp_path / "good.onnx")
    done = polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", "--mark-all", *TYPED)
    assert done.status == 3
    assert sum("BLIND" in line for line in done.out.splitlines()) == 2  # the row of y, and the last line
    assert polycmp("run", "good.onnx", "-b", "onnxrt", "-b", "onnx", "--mark-all", "--allow-blind", *TYPED).status == 0
    onnx.save(detector(), tmp_path / "copy.onnx")
    assert polycmp("run", "good.onnx", "copy.onnx", "-b", "onnxrt", "--mark-all", *TYPED).status == 3


@pytest.mark.parametrize("layers", [1, 8], ids=["few tensors", "many tensors"])
def test_small_numbers_inside_a_model_are_no_reason(polycmp, tmp_path, layers):
    """The scales of a quantised file, say, with which a good file must not be BLIND."""
    nodes, name = [], "x"
    for index in range(layers):
        nodes.append(helper.make_node("Mul", [name, "small"], [f"s{index}"]))
        nodes.append(helper.make_node("Div", [f"s{index}", "small"], [f"d{index}"]))
        name = f"d{index}"
    nodes.append(helper.make_node("MatMul", [name, "w"], ["y"]))
    ends = ([helper.make_tensor_value_info(end, TensorProto.FLOAT, [4, 8])] for end in "xy")
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    weights = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(3e-5), "small")]
    graph = helper.make_graph(nodes, "small", *ends, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--mark-all", *TYPED).status == 0
    # what is chosen as an output is asked, wherever it is made
    assert polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", "--onnx-outputs", "s0", *TYPED).status == 3


def test_saved_outputs_and_saved_metrics_are_as_blind(polycmp, broken, tmp_path):
    for name in ("bad", "good"):
        assert polycmp("run", f"{name}.onnx", "-b", "onnxrt", "--save-outputs", f"{name}.npz").status == 0
    assert polycmp("compare", "bad.npz", "good.npz", "--save-accuracy-results", "m.json").status == 3
    assert polycmp("compare", "bad.npz", "good.npz", "--allow-blind").status == 0
    done = polycmp("check", "accuracy", "m.json")
    assert (done.status, WORDS in done.out) == (3, True)
    assert polycmp("check", "accuracy", "m.json", "--allow-blind", "y").status == 0
    assert polycmp("check", "accuracy", "m.json", "--atol", "1e-12", "--rtol", "1e-5").status == 1
    done = polycmp("check", "accuracy", "m.json", "--atol", "1e-6")
    assert (done.status, "below atol 1e-06" in done.out) == (3, True)


def test_a_suite_accepts_it_too(polycmp, broken, tmp_path, monkeypatch):
    run_cases_here(monkeypatch)
    text = '[[case]]\nmodel = "bad.onnx"\nbackend = ["onnxrt", "onnxrt:model=good.onnx"]\natol = "1e-5"\n'
    (tmp_path / "suite.toml").write_text(text)
    assert polycmp("suite", "suite.toml", "--results", "one").status == 3
    for value, status in (("true", 0), ("false", 3), ('["y"]', 0), ('"?"', 0)):
        (tmp_path / "suite.toml").write_text(f"{text}allow-blind = {value}\n")
        assert polycmp("suite", "suite.toml", "--results", f"out{status}{value[1:2]}").status == status


def test_a_program_is_told_and_accepts_it(tmp_path):
    from polycmp.comparator import Comparator, CompareFunc, IterationResult, RunResults

    small = np.random.default_rng(0).uniform(0, 1e-7, (2, 8)).astype(np.float32)
    runs = RunResults([(name, [IterationResult({"y": small})]) for name in ("new", "old")])
    found = Comparator.compare_accuracy(runs)
    assert (bool(found), found.verdict) == (False, "blind")
    assert WORDS in found.describe()
    for accepted in (True, ["y"]):
        assert Comparator.compare_accuracy(runs, allow_blind=accepted)
    assert not Comparator.compare_accuracy(runs, allow_blind=["z"])
    assert Comparator.compare_accuracy(runs, compare_func=CompareFunc.cosine_similarity())
    always = Comparator.compare_accuracy(runs, compare_func=lambda new, old: dict.fromkeys(new, True))
    assert always.verdict == "blind"


def test_a_program_that_was_written_ends_as_the_command(polycmp, broken, tmp_path):
    import subprocess
    import sys

    for more, status in (((), 3), (("--allow-blind",), 0)):
        assert polycmp(*broken, *more, "--gen-script", "script.py").status == 0
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr


def test_outputs_without_elements_are_nothing_compared(polycmp, tmp_path):
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", y=np.zeros((0, 4), np.float32))
        np.savez(tmp_path / f"{name}2.npz", y=np.zeros((0, 4), np.float32), z=np.arange(4, dtype=np.float32))
    done = polycmp("compare", "a.npz", "b.npz")
    assert done.status == 3
    assert "'y' has no elements: nothing was compared" in done.out
    assert done.out.splitlines()[-2].startswith("BLIND")
    assert polycmp("compare", "a.npz", "b.npz", "--allow-blind").status == 0
    done = polycmp("compare", "a2.npz", "b2.npz")
    assert (done.status, "there is nothing in it" in done.out) == (0, True)


def test_a_self_test_goes_on_where_a_comparison_is_blind(polycmp, broken):
    """That is what it is for: it says which faults are not seen."""
    done = polycmp("selftest", "good.onnx", "-b", "onnxrt", "--faults", "layout", "fp16", *TYPED)
    assert (done.status, "unnoticed" in done.out) == (1, True), done.out


@pytest.mark.parametrize("statistic", ["median", "quantile", "mean", "max"])
def test_no_statistic_makes_an_infinity_good(polycmp, tmp_path, statistic):
    good = np.linspace(1, 2, 9, dtype=np.float32)
    bad = good.copy()
    bad[4] = np.inf
    np.savez(tmp_path / "a.npz", y=bad)
    np.savez(tmp_path / "b.npz", y=good)
    words = ("--check-error-stat", statistic, "--error-quantile", "0.5")
    for pair in (("a.npz", "b.npz"), ("b.npz", "a.npz")):
        assert polycmp("compare", *pair, *words, "--save-accuracy-results", "m.json").status == 1
        assert polycmp("check", "accuracy", "m.json", "--atol", "1e-3").status == 1
    assert polycmp("compare", "a.npz", "a.npz", *words, "--infinities-compare-equal").status == 0


@pytest.fixture
def detections(tmp_path):
    """Files of what a detector makes, good and with faults: 4 rows of boxes up to 640 beside 80 of scores up to 1."""
    random = np.random.default_rng(0)
    boxes, scores = random.random((1, 4, 400)) * 640, random.random((1, 80, 400))
    faults = {"good": scores, "none": scores * 0, "half": scores / 2, "others": np.roll(scores, 1, axis=1)}
    for name, made in faults.items():
        np.savez(tmp_path / f"{name}.npz", y=np.concatenate([boxes, made], axis=1).astype(np.float32))


@pytest.mark.parametrize(
    "words",
    a_few(
        [
            ("--atol", "1", "--rtol", "1e-3"),
            ("--check-error-stat", "mean", "--atol", "1.2"),
            ("--compare", "psnr"),
            ("--scale-atol", "--atol", "0.01"),
            ("--compare", "snr"),
            ("--compare", "cosine_similarity"),
        ],
        3,
    ),
    ids=" ".join,
)
def test_scores_beside_boxes_are_blind_by_what_fits_the_boxes(polycmp, detections, words):
    for fault in ("good", "half", "others"):
        done = polycmp("compare", f"{fault}.npz", "good.npz", *words)
        text = " ".join(done.out.split())
        assert (done.status, "(in 80 of 84 channels of a scale of their own: 4, 5, 6, 7, …)" in text) == (3, True), (
            done.out
        )
        assert polycmp("compare", f"{fault}.npz", "good.npz", *words, "--allow-blind", "y").status == 0
    assert polycmp("compare", "none.npz", "good.npz", *words).status == 3


def test_scores_beside_boxes_are_seen_by_what_fits_the_scores(polycmp, detections):
    for words in (("--atol", "1e-3", "--rtol", "1e-3"), ("--rtol", "1e-3"), ("--compare", "ulp"), ()):
        assert polycmp("compare", "good.npz", "good.npz", *words).status == 0
        for fault in ("none", "half", "others"):
            assert polycmp("compare", f"{fault}.npz", "good.npz", *words).status == 1


def test_what_lies_below_the_tolerance_beside_one_large_thing_is_blind(polycmp, tmp_path):
    random = np.random.default_rng(0)
    channels, one = random.random((1, 64, 32)) * 1e-7, random.random(1000) * 1e-6
    channels[:, :4], one[3] = random.random((1, 4, 32)), 1e6
    for name, factor in (("good", 1.0), ("lost", 0.0)):
        lost = channels * factor
        lost[:, :4] = channels[:, :4]
        np.savez(tmp_path / f"{name}.npz", y=lost.astype(np.float32))
        np.savez(tmp_path / f"{name}1.npz", y=np.where(one == 1e6, one, one * factor).astype(np.float32))
    for fault in ("good", "lost"):
        done = polycmp("compare", f"{fault}.npz", "good.npz")
        assert (done.status, "in 60 of 64 channels" in " ".join(done.out.split())) == (3, True), done.out
        done = polycmp("compare", f"{fault}1.npz", "good1.npz", *TYPED)
        assert (done.status, "31 of 32 values of 'y'" in " ".join(done.out.split())) == (3, True), done.out


def test_nan_everywhere_is_blind_in_every_command(polycmp, tmp_path):
    ends = ([helper.make_tensor_value_info(end, TensorProto.FLOAT, [2, 8])] for end in "xy")
    graph = helper.make_graph([helper.make_node("Log", ["x"], ["y"])], "g", *ends)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    words = ("--val-range", "[-2,-1]", "--nan", "equal", "--save-outputs", "saved.npz")
    for more in ((), TYPED):
        done = polycmp("run", "m.onnx", "-b", "onnxrt", "-b", "onnx", *words, *more)
        assert (done.status, "'y' is NaN everywhere" in " ".join(done.out.split())) == (3, True), done.out
    done = polycmp("compare", "saved.npz", "--nan", "equal")
    assert (done.status, "'y' is NaN everywhere" in " ".join(done.out.split())) == (3, True), done.out
    assert polycmp("compare", "saved.npz", "--nan", "equal", "--allow-blind", "y").status == 0
    assert polycmp("compare", "saved.npz").status == 1

"""`polycmp locate` accuses the side that is wrong: not the constant one that is right, nor one that did not run."""

from __future__ import annotations

import numpy as np
import pytest
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph, three_operators

FLOAT = TensorProto.FLOAT


def divided(path, by):
    """Whole numbers divided by others, and made real."""
    nodes = [
        helper.make_node("Div", ["x", "n"], ["s"], name="divide"),
        helper.make_node("Cast", ["s"], ["y"], name="cast", to=FLOAT),
    ]
    ends = [("x", TensorProto.INT64, [4])], [("y", FLOAT, [4])]
    return save_graph(path, nodes, *ends, [("n", np.full(4, by, np.int64))])


def test_a_constant_that_is_right_is_not_suspicious(polycmp, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.array([1000, 255, 1, 42], np.int64))
    wrong, good = divided(tmp_path / "m.onnx", 1), divided(tmp_path / "good.onnx", 1 << 20)
    words = ("-b", "onnxrt", "-b", f"onnx:model={good}", "--load-inputs", tmp_path / "x.npz", *REPORT)
    done = polycmp("locate", wrong, *words)
    found = located(tmp_path)
    assert (done.status, found["words"], found["first_bad"]) == (1, "wrong", "s")
    assert found["sentence"].startswith("wrong: Div 'divide' computes 's'")
    assert "suspiciously constant" not in done.out


@pytest.mark.parametrize("cast", [False, True], ids=["as a weight", "behind a Cast"])
def test_a_constant_that_is_another_one_in_the_two_files_is_named(polycmp, tmp_path, cast):
    def scaled(name, factor):
        nodes = [helper.make_node("Mul", ["x", "factor"], ["h"], name="scale")]
        nodes += [helper.make_node("Add", ["h", "one"], ["y"], name="shift")]
        weights = {"one": np.float32(1), "factor": factor}
        if factor.dtype != np.float32:
            nodes.insert(0, helper.make_node("Cast", ["whole"], ["factor"], name="cast", to=FLOAT))
            weights["whole"] = weights.pop("factor")
        return save_graph(tmp_path / name, nodes, [("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 8])], weights.items())

    made, source = scaled("m.onnx", np.array(0, np.int64 if cast else np.float32)), scaled("s.onnx", np.float32(0.5))
    done = polycmp("locate", made, "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", *REPORT)
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (1, "h")
    held = "whole" if cast else "factor"
    assert f"cause: the constant '{held}' of Mul 'scale' is not the other file's: 0 in place of 0.5" in found["notes"]


def test_a_constant_of_another_type_is_named_where_one_file_leaves_out_the_casts_around_its_operator(polycmp, tmp_path):
    """The way an optimiser makes 0 of 0.5: it drops a pair of Casts, and gives the constant their type."""
    product, whole = [helper.make_node("Mul", ["x", "half"], ["y"], name="halve")], TensorProto.INT64
    made = save_graph(tmp_path / "m.onnx", product, [("x", whole, [2])], [("y", whole, [2])], [("half", np.int64(0))])
    nodes = [helper.make_node("Cast", ["x"], ["f"], to=FLOAT), helper.make_node("Mul", ["f", "half"], ["h"])]
    nodes.append(helper.make_node("Cast", ["h"], ["y"], to=whole))
    ends = [("x", whole, [2])], [("y", whole, [2])]
    source = save_graph(tmp_path / "s.onnx", nodes, *ends, [("half", np.float32(0.5))])
    np.savez(tmp_path / "x.npz", x=np.array([3, 5]))
    words = ("-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", "--load-inputs", tmp_path / "x.npz")
    assert polycmp("locate", made, *words, *REPORT).status == 1
    cause = "cause: the constant 'half' of Mul 'halve' holds 0 (int64) in made and 0.5 (float32) in source"
    assert cause in located(tmp_path)["notes"]


def test_a_constant_that_its_type_cannot_hold_is_said_to_be_too_large(polycmp, tmp_path):
    """The way converters to float16 cut what is beyond 65504: PP-OCRv4's detector has variances of 1e7 to 1e8."""
    rng = np.random.default_rng(1)
    variance = rng.uniform(1e7, 9e7, 8).astype(np.float32)
    ones = [(name, rng.random(8, np.float32)) for name in ("scale", "bias", "mean")]
    ends = [("x", FLOAT, [1, 8, 4, 4])], [("y", FLOAT, [1, 8, 4, 4])]
    norm = helper.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], ["n"], name="norm")
    relu = helper.make_node("Relu", ["n"], ["y"], name="relu")
    source = save_graph(tmp_path / "s.onnx", [norm, relu], *ends, [*ones, ("var", variance)], opset=15)
    nodes = [helper.make_node("Cast", ["x"], ["xh"], name="in", to=TensorProto.FLOAT16)]
    nodes += [helper.make_node("BatchNormalization", ["xh", *norm.input[1:]], ["n"], name="norm")]
    nodes += [helper.make_node("Relu", ["n"], ["yh"], name="relu")]
    nodes += [helper.make_node("Cast", ["yh"], ["y"], name="out", to=FLOAT)]
    halves = [(name, array.astype(np.float16)) for name, array in [*ones, ("var", variance.clip(max=65504))]]
    made = save_graph(tmp_path / "m.onnx", nodes, *ends, halves, opset=15)
    np.savez(tmp_path / "x.npz", x=(1e4 * rng.random((1, 8, 4, 4))).astype(np.float32))
    words = ("-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", "--load-inputs", tmp_path / "x.npz")
    assert polycmp("locate", made, *words, *REPORT).status == 1
    [cause] = [note for note in located(tmp_path)["notes"] if note.startswith("cause: the constant 'var'")]
    assert cause.endswith("; float16 holds numbers up to 65504, and 8 of these are larger")


def test_of_operators_that_were_joined_the_constant_of_each_file_is_named(polycmp, tmp_path):
    """The way an optimiser leaves out the first of two Reshapes, the 0 of the second copying what the first made."""
    relu = helper.make_node("Relu", ["b"], ["y"], name="y")
    ends = [("x", FLOAT, [2, 3, 4])], [("y", FLOAT, [6, 4])]
    first, second = ("s1", np.array([6, 4])), ("s2", np.array([0, -1]))
    nodes = [helper.make_node("Reshape", ["x", "s1"], ["a"], name="a")]
    nodes += [helper.make_node("Reshape", ["a", "s2"], ["b"], name="b"), relu]
    source = save_graph(tmp_path / "s.onnx", nodes, *ends, [first, second], opset=13)
    nodes = [helper.make_node("Reshape", ["x", "s2"], ["b"], name="b"), relu]
    made = save_graph(tmp_path / "m.onnx", nodes, *ends, [second], opset=13)
    assert polycmp("locate", made, "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", *REPORT)
    cause = (
        "cause: the constant 's2' of Reshape 'b' holds 0, -1 in made and 6, 4 in source, where it is 's1' of Reshape"
    )
    assert f"{cause} 'a'" in located(tmp_path)["notes"]


def test_a_weight_that_takes_a_tensors_place_in_a_quantised_file_is_found_by_its_shape(polycmp, tmp_path):
    """The way ONNX Runtime's quantiser gives a copy of a bias the name of what a convolution makes."""
    ends = [("x", FLOAT, [2, 4])], [("y", FLOAT, None)]
    nodes = [helper.make_node("Relu", ["x"], ["r"], name="relu"), helper.make_node("Neg", ["r"], ["y"], name="neg")]
    source = save_graph(tmp_path / "s.onnx", nodes, *ends)
    scale = ["scale", "zero"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *scale], ["q"]),
        helper.make_node("DequantizeLinear", ["q", *scale], ["d"]),
        helper.make_node("Relu", ["d"], ["r"], name="relu"),
        helper.make_node("DequantizeLinear", ["codes", *scale], ["w"]),
        helper.make_node("Neg", ["w"], ["y"], name="neg"),
    ]
    weights = [("scale", np.float32(1 / 64)), ("zero", np.int8(0)), ("codes", np.arange(4, dtype=np.int8))]
    made = save_graph(tmp_path / "m.onnx", nodes, *ends, weights)
    words = ("-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}")
    assert polycmp("locate", made, *words, *REPORT).status == 1
    sentence = located(tmp_path)["sentence"]
    assert sentence.startswith("wrong: Neg 'neg' computes 'y', shape [4] instead of [2,4]")
    assert "source reads 'r' for it and made does not" in sentence
    assert "computes it with" not in sentence


def test_an_attribute_that_is_another_one_in_the_two_files_is_named(polycmp, tmp_path):
    def normalised(name, epsilon):
        node = helper.make_node("LayerNormalization", ["x", "one"], ["y"], name="norm", epsilon=epsilon)
        ends = [("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 8])]
        return save_graph(tmp_path / name, [node], *ends, [("one", np.ones(8, np.float32))], opset=17)

    made, source = normalised("m.onnx", 1e-2), normalised("s.onnx", 1e-5)
    done = polycmp("locate", made, "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", *REPORT)
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (1, "y")
    assert "cause: 'epsilon' of LayerNormalization 'norm' is 0.01, in the other file 1e-05" in found["notes"]
    assert "made computes what its file says, which is something else" in found["sentence"]


@pytest.mark.parametrize("order", ["transposed", "as it was"])
def test_a_value_that_a_tool_folded_wrong_is_named_with_both_values(polycmp, tmp_path, order):
    """onnxsim#1284: what is made of the shape of 'x' alone is no reason to think of frozen example inputs."""
    ends = [("x", FLOAT, [1, 2, 5, 4])], [("y", FLOAT, [1, 2, 5, 4])]
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"], name="sizes"),
        helper.make_node("Reshape", ["sizes", "pairs"], ["rows"], name="rows"),
        helper.make_node("Transpose", ["rows"], ["turned"], name="turn"),
        helper.make_node("Reshape", ["turned", "flat"], ["numbers"], name="numbers"),
        helper.make_node("Cast", ["numbers"], ["folded"], name="cast", to=FLOAT),
        helper.make_node("Mul", ["x", "two"], ["twice"], name="twice"),
        helper.make_node("Add", ["twice", "folded"], ["y"], name="add"),
    ]
    two = ("two", np.float32([2, 2, 2, 2]))
    shapes = [("pairs", np.int64([-1, 2])), ("flat", np.int64([-1]))]
    source = save_graph(tmp_path / "s.onnx", nodes, *ends, [*shapes, two], opset=17)
    held = np.float32([1, 5, 2, 4] if order == "transposed" else [1, 2, 5, 4])
    made = save_graph(tmp_path / "m.onnx", nodes[5:], *ends, [("folded", held), two], opset=17)
    done = polycmp("locate", made, "-b", "onnxrt:name=made", "-b", f"onnxrt:name=source,model={source}", *REPORT)
    found = located(tmp_path)
    if order == "transposed":
        assert (done.status, found["words"]) == (0, "equal")
        return
    assert (done.status, found["first_bad"]) == (1, "y")
    assert (
        "cause: the constant 'folded' of Add 'add' holds 1, 2, 5, 4 in made and 1, 5, 2, 4 in source" in found["notes"]
    )
    assert "frozen" not in " ".join([found["sentence"], *found["notes"]])


def test_an_operator_that_loses_a_nan_is_run_alone(polycmp, tmp_path):
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)
    x[1, 3] = np.nan
    np.savez(tmp_path / "x.npz", x=x)
    faulty = "faulty:backend=onnxrt,fault=nan,at=middle"
    words = ("-b", faulty, "-b", "onnx", "--load-inputs", tmp_path / "x.npz", *REPORT)
    done = polycmp("locate", three_operators(tmp_path / "m.onnx"), *words)
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (1, "m")
    assert "could not be run alone" not in found["sentence"]
    table = {row["tensor"]: row for row in found["tensors"]}
    assert table["m"]["own_error"] is not None
    assert ["ok", "r"] in [
        line.split()[:2] for line in done.out.splitlines()
    ]  # NaN at the same place on both sides is no difference

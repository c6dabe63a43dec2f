"""`--tolerance auto` never passes an output that is no result of the model: zeros, a constant, other rows, a factor."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from in_parts import a_few
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp.builtin.judging.levels import Level, Values
from polycmp.builtin.judging.verdict import Comparison, Floor, judge, lost_channels
from polycmp.compare import scales_of

FLOAT = TensorProto.FLOAT
ROWS = 8


def classifier(classes: int, size: float = 1.0, *, softmax: bool = True) -> onnx.ModelProto:
    """Return x [8,64] -> Gemm -> Relu -> Gemm -> Softmax, or logits of a size."""
    rng = np.random.default_rng(classes)
    weights = [
        ("a", (rng.standard_normal((64, 64)) / 8).astype(np.float32)),
        ("b", (rng.standard_normal((64, classes)) / 4 * size).astype(np.float32)),
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "a"], ["h"], name="h"),
        helper.make_node("Relu", ["h"], ["r"], name="r"),
        helper.make_node("Gemm", ["r", "b"], ["l" if softmax else "p"], name="l"),
    ]
    if softmax:
        nodes.append(helper.make_node("Softmax", ["l"], ["p"], name="p", axis=-1))
    return graph_model(nodes, [("x", FLOAT, [ROWS, 64])], [("p", FLOAT, None)], weights)


def impostors(model: onnx.ModelProto) -> dict[str, onnx.ModelProto]:
    """Return models whose output is made of the right one, and is wrong."""
    classes = int(onnx.numpy_helper.to_array(model.graph.initializer[-1]).shape[-1])
    node = helper.make_node
    made = {
        "zeros": ([node("Mul", ["p_", "k"], ["p"])], np.float32(0)),
        "halved": ([node("Mul", ["p_", "k"], ["p"])], np.float32(0.5)),
        "larger": ([node("Mul", ["p_", "k"], ["p"])], np.float32(1.1)),
        "negated": ([node("Neg", ["p_"], ["p"])], None),
        "shuffled": ([node("Gather", ["p_", "k"], ["p"], axis=0)], np.roll(np.arange(ROWS), 3)),
        "rolled": ([node("Gather", ["p_", "k"], ["p"], axis=1)], np.roll(np.arange(classes), 1)),
        "constant": (
            [
                node("ReduceMean", ["p_"], ["mean"], keepdims=1),
                node("Mul", ["p_", "k"], ["nothing"]),
                node("Add", ["nothing", "mean"], ["p"]),
            ],
            np.float32(0),
        ),
    }
    found = {}
    for name, (nodes, constant) in made.items():
        wrong = onnx.ModelProto()
        wrong.CopyFrom(model)
        wrong.graph.node[-1].output[0] = "p_"
        wrong.graph.node.extend(nodes)
        if constant is not None:
            wrong.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(constant), "k"))
        found[name] = wrong
    return found


MODELS = {
    "softmax 10": (classifier, (10,), {}),
    "softmax 1000": (classifier, (1000,), {}),
    "logits": (classifier, (10,), {"softmax": False}),
    "logits of 1e-4": (classifier, (100,), {"size": 1e-4, "softmax": False}),
    "logits of 1e-7": (classifier, (100,), {"size": 1e-7, "softmax": False}),
    "logits of 1e6": (classifier, (100,), {"size": 1e6, "softmax": False}),
}


@pytest.mark.parametrize("dtype", a_few(["float32", "float16", "bfloat16"]))
@pytest.mark.parametrize("name", a_few(MODELS, 3))
def test_no_impostor_passes_and_the_right_output_does(polycmp, tmp_path, name, dtype):
    make, arguments, keywords = MODELS[name]
    model = make(*arguments, **keywords)
    beyond_float16 = dtype == "float16" and name in {"logits of 1e6", "logits of 1e-7"}
    onnx.save(model, tmp_path / "m.onnx")
    option = "" if dtype == "float32" else f"dtype={dtype},"
    words = ["-b", f"onnx:{option}name=clean" if option else "onnxrt:name=clean"]
    for wrong, proto in impostors(model).items():
        onnx.save(proto, tmp_path / f"{wrong}.onnx")
        words += ["-b", f"onnx:{option}name={wrong},model={wrong}.onnx"]
    done = polycmp("run", "m.onnx", *words, "-b", "onnx:name=right", "--tolerance", "auto", "--report", "r.json")
    assert done.status == 1, done.out + done.err
    found = {
        pair["candidate"]: pair["outputs"]["p"]["passed"]
        for pair in json.loads(Path("r.json").read_text())["comparison_results"]
    }
    passed = sorted(label for label, one in found.items() if one)
    assert passed == ([] if beyond_float16 else ["clean"]), done.out


def detector(*, quantised: str = "", rare: bool = False) -> onnx.ModelProto:
    """Return a head of four box channels up to 320 and six scores up to 1, quantised together or each by itself.

    Args:
        quantised: `together` or `apart`; empty for real numbers.
        rare: Whether no score is above a hundredth, as where there is nothing to detect.
    """
    rng = np.random.default_rng(7)
    weights = [
        ("wb", (rng.standard_normal((4, 3, 1, 1)) * 40).astype(np.float32)),
        ("bb", np.full(4, 160, np.float32)),
        ("ws", rng.standard_normal((6, 3, 1, 1)).astype(np.float32)),
        ("bs", np.full(6, -7.0 if rare else 0.0, np.float32)),
        ("together", np.float32(320 / 255)),
        ("scores", np.float32(1 / 255)),
        ("zero", np.uint8(0)),
        ("shape", np.array([1, -1, 256], np.int64)),
    ]
    node = helper.make_node

    def steps(name: str, scale: str) -> list[onnx.NodeProto]:
        codes = node("QuantizeLinear", [name, scale, "zero"], [f"{name}_q"], name=f"{name}_q")
        return [codes, node("DequantizeLinear", [f"{name}_q", scale, "zero"], [f"{name}_d"], name=f"{name}_d")]

    ends = ("b_d", "s_d") if quantised == "apart" else ("b", "s")
    nodes = [
        node("Conv", ["x", "wb", "bb"], ["b"], name="b"),
        node("Conv", ["x", "ws", "bs"], ["l"], name="l"),
        node("Sigmoid", ["l"], ["s"], name="s"),
        *(steps("b", "together") + steps("s", "scores") if quantised == "apart" else []),
        node("Concat", ends, ["c"], name="c", axis=1),
        *(steps("c", "together") if quantised == "together" else []),
        node("Reshape", ["c_d" if quantised == "together" else "c", "shape"], ["y"], name="y"),
    ]
    return graph_model(nodes, [("x", FLOAT, [1, 3, 16, 16])], [("y", FLOAT, None)], weights)


def test_scores_that_share_the_scale_of_boxes_are_named_dead(polycmp, tmp_path):
    onnx.save(detector(), tmp_path / "m.onnx")
    onnx.save(detector(quantised="together"), tmp_path / "int8.onnx")
    done = polycmp("run", "int8.onnx", "m.onnx", "-b", "onnxrt", "--tolerance", "auto")
    assert done.status == 1, done.out
    assert "6 of 10 channels (axis 1) are 0 here and not in the reference" in " ".join(done.out.split())


def test_all_channels_that_are_lost_are_counted_however_small_they_are():
    rng = np.random.default_rng(0)
    sizes = np.array([320.0] * 4 + [1.0] * 4 + [1e-5] * 2)[:, None]
    right = (rng.uniform(0, 1, (1, 10, 64)) * sizes).astype(np.float32)
    dead = np.where(sizes > 1, right, np.float32(0))
    assert lost_channels(dead, right) == "6 of 10 channels (axis 1) are 0 here and not in the reference"


@pytest.mark.parametrize("function", ["psnr", "snr", "cosine_similarity"])
def test_one_figure_for_an_output_hides_no_dead_scores(polycmp, tmp_path, function):
    """Dead scores are undecided whatever is accepted; good ones are blind, as halved ones would have passed, too."""
    onnx.save(detector(), tmp_path / "m.onnx")
    for quantised, word, reason, accepted in (
        ("together", "UNDECIDED", "6 of 10 channels (axis 1) are 0 here and not in the reference", 3),
        ("apart", "BLIND", "half of every value in a part of 'y' would have passed, too (in 6 of 10 channels", 0),
    ):
        onnx.save(detector(quantised=quantised), tmp_path / "int8.onnx")
        words = ("run", "int8.onnx", "m.onnx", "-b", "onnxrt", "--compare", function)
        done = polycmp(*words)
        said = " ".join(done.out.split())
        assert (done.status, f"{word}: 1 of 1 output" in said, reason in said) == (3, True, True), done.out
        assert ("are 0 here and not in the reference" in said) is (quantised == "together"), done.out
        assert polycmp(*words, "--allow-blind", "y").status == accepted


@pytest.mark.parametrize("function", ["l2", "ulp", "indices"])
def test_dead_scores_are_named_whatever_function_fails_the_output(polycmp, tmp_path, function):
    onnx.save(detector(), tmp_path / "m.onnx")
    for quantised in ("together", "apart"):
        onnx.save(detector(quantised=quantised), tmp_path / "int8.onnx")
        done = polycmp("run", "int8.onnx", "m.onnx", "-b", "onnxrt", "--compare", function)
        assert done.status == 1, done.out
        named = "6 of 10 channels (axis 1) are 0 here and not in the reference" in " ".join(done.out.split())
        assert named is (quantised == "together"), done.out


@pytest.mark.parametrize(
    ("quantised", "rare", "statuses"), [("together", False, {1}), ("together", True, {1}), ("apart", False, {0})]
)
def test_dead_scores_are_named_where_tensors_inside_are_compared_too(polycmp, tmp_path, quantised, rare, statuses):
    onnx.save(detector(rare=rare), tmp_path / "m.onnx")
    onnx.save(detector(quantised=quantised, rare=rare), tmp_path / "int8.onnx")
    done = polycmp("run", "int8.onnx", "-b", "onnxrt", "-b", "onnxrt:model=m.onnx,name=right", "--mark-all")
    assert done.status in statuses, done.out
    named = "channels (axis 1) are 0 here and not in the reference" in " ".join(done.out.split())
    assert named is (quantised == "together"), done.out


def test_scores_with_a_scale_of_their_own_are_not_dead(polycmp, tmp_path):
    onnx.save(detector(), tmp_path / "m.onnx")
    onnx.save(detector(quantised="apart"), tmp_path / "int8.onnx")
    done = polycmp("run", "int8.onnx", "m.onnx", "-b", "onnxrt", "--tolerance", "auto")
    assert done.status == 0, done.out


@pytest.mark.parametrize("wrong", ["halved", "larger", "zeros"])
def test_the_small_channels_of_an_output_are_judged_by_their_own_scale(polycmp, tmp_path, wrong):
    """Boxes hide nothing: half a score is far less than one unit of float16 beside 320."""
    factor = {"halved": 0.5, "larger": 1.1, "zeros": 0.0}[wrong]
    onnx.save(detector(), tmp_path / "m.onnx")
    model = detector()
    concat = next(node for node in model.graph.node if node.op_type == "Concat")
    concat.input[1] = "wrong"
    model.graph.node.insert(list(model.graph.node).index(concat), helper.make_node("Mul", ["s", "k"], ["wrong"]))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(factor, np.float32), "k"))
    onnx.save(model, tmp_path / "wrong.onnx")
    for dtype in ("float16", "bfloat16"):
        words = ("-b", f"onnx:dtype={dtype},model=wrong.onnx", "-b", "onnx", "--tolerance", "auto")
        assert polycmp("run", "m.onnx", *words).status == 1
        words = ("-b", f"onnx:dtype={dtype}", "-b", "onnx", "--tolerance", "auto")
        assert polycmp("run", "m.onnx", *words).status == 0


def rounded_to(steps: int) -> onnx.ModelProto:
    """Return x -> Relu -> Gemm, whose result is rounded to so many steps from -16 to 16; to none for 0."""
    rng = np.random.default_rng(11)
    node = helper.make_node
    weights = [
        ("w", (rng.standard_normal((64, 64)) / 3).astype(np.float32)),
        ("scale", np.float32(32 / max(steps, 1))),
        ("zero", np.int8(0)),
    ]
    nodes = [node("Relu", ["x"], ["r"], name="r"), node("Gemm", ["r", "w"], ["y" if not steps else "g"], name="g")]
    if steps:
        nodes += [
            node("QuantizeLinear", ["g", "scale", "zero"], ["q"], name="q"),
            node("DequantizeLinear", ["q", "scale", "zero"], ["y"], name="d"),
        ]
    return graph_model(nodes, [("x", FLOAT, [32, 64])], [("y", FLOAT, None)], weights)


@pytest.mark.parametrize(("steps", "status", "word"), [(254, 0, "PASSED"), (96, 3, "UNDECIDED"), (24, 3, "UNDECIDED")])
def test_noise_of_int8_passes_or_is_undecided_by_the_size_of_its_steps(polycmp, tmp_path, steps, status, word):
    onnx.save(rounded_to(0), tmp_path / "m.onnx")
    onnx.save(rounded_to(steps), tmp_path / "int8.onnx")
    done = polycmp("run", "int8.onnx", "m.onnx", "-b", "onnxrt", "--tolerance", "auto", "--report", "r.json")
    assert (done.status, word in done.out) == (status, True), done.out
    if word == "UNDECIDED":
        text = " ".join(done.out.split())
        assert "rounding to int8 alone could move it by" in text
        assert "judge what it is used for instead, such as --compare topk_agreement" in text
        assert json.loads(Path("r.json").read_text())["verdict"] == "undecided"


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_rounding_to_steps_is_noticed_in_any_domain(polycmp, tmp_path, domain):
    """Of operators of Microsoft's domain no types are inferred: a quantised file was taken for one of float32."""
    onnx.save(rounded_to(0), tmp_path / "m.onnx")
    model = rounded_to(254)
    for made in model.graph.node[2:]:
        made.domain = domain
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, tmp_path / "int8.onnx")
    done = polycmp("run", "int8.onnx", "m.onnx", "-b", "onnxrt", "--tolerance", "auto")
    assert done.status == 0, done.out


@pytest.mark.parametrize("factor", [0.0, 0.5, -1.0])
def test_results_of_a_sigmoid_far_below_its_approximation_are_told_by_the_files_alone(polycmp, tmp_path, factor):
    """Kernels approximate Sigmoid to a unit of 1: where all results are near 1e-8, outputs tell nothing."""
    node = helper.make_node
    nodes = [
        node("Sub", ["x", "k"], ["s"], name="s"), node("Sigmoid", ["s"], ["p"], name="p"),
        node("Mul", ["p", "f"], ["y"], name="y"),
    ]  # fmt: skip
    for name, value in (("m", 1.0), ("wrong", factor)):
        weights = [("k", np.float32(18.0)), ("f", np.float32(value))]
        onnx.save(graph_model(nodes, [("x", FLOAT, [4, 64])], [("y", FLOAT, None)], weights), tmp_path / f"{name}.onnx")
    done = polycmp("run", "wrong.onnx", "m.onnx", "-b", "onnx", "--tolerance", "auto", "--report", "r.json")
    output = json.loads((tmp_path / "r.json").read_text())["comparison_results"][0]["outputs"]["y"]
    assert output["max_error"] < output["functions"]["simple"]["tolerance"]["atol"]
    assert (done.status, "the files hold different networks" in output["reason"]) == (1, True), done.out


@pytest.mark.parametrize(("size", "dead"), [(1e-9, False), (1e-2, True)])
def test_channels_that_are_next_to_nothing_in_both_are_not_missed(size, dead):
    """One runtime's Sigmoid is 0 where another's is 1e-9: the margin of a page in a text detector."""
    reference = np.random.default_rng(0).random((1, 64, 64)).astype(np.float32)
    reference[..., 32:] *= np.float32(size)
    candidate = reference.copy()
    candidate[..., 32:] = 0
    scales = scales_of(reference)
    assert scales.axis == 2
    noise = tuple(Level(0.1, 0.1) for _ in range(scales.count))
    judgement = judge(Comparison(candidate, Values(reference)), Floor(noise, "float32"))
    assert ("32 of 64 channels" in judgement.why) is dead


@pytest.mark.parametrize(("is_inner", "size", "fails"), [(True, 0.07, False), (True, 0.8, False), (False, 0.07, True)])
def test_channels_inside_a_model_may_be_lost_to_a_step_that_holds_others(is_inner, size, fails):
    """A pooling of small numbers, half of whose channels lie below half a step: what reads them tells what is lost.

    What is rounded has an error of its own already, so numbers that are a little larger in the reference go as well.
    """
    reference = np.random.default_rng(0).uniform(0.5, 1.0, (1, 64, 8, 8)).astype(np.float32)
    reference[:, :32] *= np.float32(size)
    candidate = reference.copy()
    candidate[:, :32] = 0
    judgement = judge(Comparison(candidate, Values(reference)), Floor((Level(0.6, 0.3),), "int8"), is_inner=is_inner)
    assert ("channels" in judgement.why) is fails, judgement

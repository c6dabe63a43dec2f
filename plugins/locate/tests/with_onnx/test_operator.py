"""Which operator is named by itself, and as what kind of wrong."""

from __future__ import annotations

import json

import faulty_models
import numpy as np
import onnx
import pytest
from fakes import FakeSite
from in_parts import a_few
from located import REPORT, locate_files, located
from onnx import TensorProto, helper
from small_models import graph_model, save_graph


def test_amplification_is_told_from_origin(polycmp, tmp_path, inputs):
    """A small error within the tolerance is blown up later: the later operator is innocent."""

    def model(path, weight):
        nodes = [
            onnx.helper.make_node("Mul", ["x", "k"], ["small"], name="scale"),
            onnx.helper.make_node("Sub", ["small", "one"], ["near"], name="near_zero"),
            onnx.helper.make_node("Mul", ["near", "huge"], ["y"], name="blow_up"),
        ]
        weights = {"k": np.float32(weight), "one": np.float32(1), "huge": np.float32(1e4)}
        return faulty_models.save(path, nodes, [4], weights)

    good, bad = model(tmp_path / "good.onnx", 1), model(tmp_path / "bad.onnx", 1 + 5e-6)
    words = inputs(x=np.array([1.001, 1.002, 1.003, 1.004], np.float32))
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *words, *REPORT)
    assert done.status == 1
    found = located(tmp_path)
    assert found["first_bad"] == "y"
    assert found["origin"] == "small"
    assert "Mul 'scale' computes 'small'; its error is within the tolerance there" in " ".join(done.out.split())


@pytest.mark.parametrize("order", [("onnx", "onnxrt"), ("onnxrt", "onnx")], ids=" against ".join)
def test_an_overflow_that_ends_in_finite_constants(polycmp, tmp_path, inputs, order):
    x = np.random.default_rng(0).standard_normal((4, 64)) * 64
    x[:, 7] = 800
    words = inputs(x=x.astype(np.float16))
    done = polycmp(
        "locate", faulty_models.layer_norm(tmp_path / "m.onnx"), "-b", order[0], "-b", order[1], *words, *REPORT
    )
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["first_bad"]) == ("NaN/Inf born here", "sq")
    assert "'y' is finite again but suspiciously constant: onnx holds 0.25 everywhere" in found["sentence"]
    if order[1] == "onnx":
        assert any("float64 sides with the candidate" in note for note in found["notes"])


def test_nan_that_is_fed_and_goes_elsewhere_is_not_born_there(polycmp, tmp_path, inputs):
    """Both sides hold one NaN, which the inputs bring, at another place."""

    def model(path, *order):
        nodes = [
            onnx.helper.make_node("Gather", ["x", "order"], ["g"], name="sort"),
            onnx.helper.make_node("Mul", ["g", "k"], ["y"], name="scale"),
        ]
        return faulty_models.save(path, nodes, [4], {"order": np.array(order), "k": np.float32(2)})

    good, bad = model(tmp_path / "good.onnx", 0, 1, 2, 3), model(tmp_path / "bad.onnx", 3, 0, 1, 2)
    words = inputs(x=np.array([1, np.nan, 3, 4], np.float32))
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *words, *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"], found["operator"]["type"]) == (1, "wrong", "Gather")
    assert "onnxrt computes what its file says, which is something else" in found["sentence"]


def test_a_constant_output_without_any_infinity(polycmp, tmp_path):
    """A weight of zero makes one tensor the same number everywhere."""

    def model(path, factor):
        nodes = [
            onnx.helper.make_node("Mul", ["x", "k"], ["a"], name="scale"),
            onnx.helper.make_node("Add", ["a", "b"], ["y"], name="shift"),
        ]
        return faulty_models.save(path, nodes, [16], {"k": np.float32(factor), "b": np.float32(0.5)})

    good, bad = model(tmp_path / "good.onnx", 2), model(tmp_path / "bad.onnx", 0)
    done = polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *REPORT)
    assert done.status == 1
    assert located(tmp_path)["words"] == "suspiciously constant"
    assert "holds 0 everywhere in 'a'" in " ".join(done.out.split())


#: The reference evaluator again, by another name and without a word about the type that it calculates in.
SLY = """
from polycmp.spec import RunnerSpec, hookimpl
from polycmp_onnx.plugin import RunnerOptions
@hookimpl
def polycmp_runners():
    yield RunnerSpec("sly", "rounds in secret", "polycmp_onnx.runner:make_runner", options=RunnerOptions)
"""


@pytest.mark.parametrize(
    ("dtype", "words", "more"),
    [
        ("float16", "float16 or TF32", ()),
        ("bfloat16", "bfloat16", ()),
        ("float16", "float16 or TF32", ("--no-float64",)),
    ],
)
def test_less_precision_than_declared_is_recognised(tmp_path, dtype, words, more):
    site = FakeSite(tmp_path / "site")
    site.plugin("sly", SLY)
    model = faulty_models.chain(tmp_path / "m.onnx", 3)
    done = site.polycmp("locate", model, "-b", f"sly:dtype={dtype}", "-b", "onnx", *REPORT, *more, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = located(tmp_path)
    assert found["words"] == "worse than this precision explains"
    assert found["sentence"].partition(" as if computed in ")[2].startswith(words)
    floor = "inputs moved by one unit in the last place" if more else "the reference against float64"
    assert any(floor in line for line in found["explanation"])


def test_a_sigmoid_that_makes_small_scores_only_is_no_fault(polycmp, tmp_path, inputs):
    ends = [("x", onnx.TensorProto.FLOAT, [1, 4096])], [("y", onnx.TensorProto.FLOAT, [1, 4096])]
    nodes = [onnx.helper.make_node("Sigmoid", ["x"], ["s"]), onnx.helper.make_node("Mul", ["s", "thousand"], ["y"])]
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, [("thousand", np.float32(1000))])
    words = inputs(x=np.linspace(-10, -4, 4096, dtype=np.float32)[None])
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", *words, *REPORT)
    assert done.status == 0, done.out


@pytest.mark.parametrize("dtype", a_few(["float16", "bfloat16"]))
def test_what_a_type_rounds_that_was_asked_for_is_no_fault(polycmp, tmp_path, dtype):
    good, bad = faulty_models.chain(tmp_path / "good.onnx", 6), faulty_models.chain(tmp_path / "bad.onnx", 6, 4)
    candidate = f"onnx:name=narrow,dtype={dtype}"
    done = polycmp("run", good, "-b", candidate, "-b", "onnx", "--atol", "1e-5", "--rtol", "1e-5")
    assert done.status == 1
    assert f"narrow may round to {dtype}" in " ".join(done.out.split())
    done = polycmp("locate", good, "-b", candidate, "-b", "onnx", *REPORT)
    assert done.status == 0, done.out
    assert f"rounding to {dtype}, which narrow may calculate in" in located(tmp_path)["sentence"]
    done = polycmp("locate", bad, "-b", candidate, "-b", f"onnx:name=ref,model={good}", *REPORT)
    assert done.status == 1, done.out
    assert located(tmp_path)["first_bad"] == "conv4"


@pytest.mark.parametrize("pair", [("onnxrt", "onnx"), ("onnxrt", "onnx:dtype=float64")], ids=" against ".join)
def test_rounding_that_adds_up_is_no_fault_however_strict_the_tolerance(polycmp, tmp_path, pair):
    model = faulty_models.chain(tmp_path / "m.onnx", channels=24)
    words = (model, "-b", pair[0], "-b", pair[1], "--atol", 0, "--rtol", 0)
    if polycmp("run", *words).status == 0:
        assert pair[1] == "onnx"
        pytest.skip("on this processor both round alike")
    done = polycmp("locate", *words, *REPORT)
    assert done.status == 0, done.out
    assert located(tmp_path)["words"] == "within rounding"


LOWEST = float(np.finfo(np.float32).min)


def masked(path, factor=1.0):
    """scores + mask -> Softmax -> MatMul, as in every transformer with padding."""
    nodes = [
        helper.make_node("Where", ["mask", "zero", "low"], ["bias"], name="where"),
        helper.make_node("Add", ["s", "bias"], ["t"], name="add"),
        helper.make_node("Softmax", ["t"], ["p"], name="softmax"),
        helper.make_node("MatMul", ["p", "v"], ["y"], name="values"),
    ]
    values = np.random.default_rng(1).standard_normal((8, 4)).astype(np.float32)
    weights = [("zero", np.float32(0)), ("low", np.float32(LOWEST)), ("v", values * np.float32(factor))]
    inputs = [("s", TensorProto.FLOAT, [2, 8]), ("mask", TensorProto.BOOL, [2, 8])]
    return save_graph(path, nodes, inputs, [("y", TensorProto.FLOAT, [2, 4])], weights)


@pytest.fixture
def masks(tmp_path):
    """Save scores with a padding mask and return the words that use them."""
    scores = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    np.savez(tmp_path / "x.npz", s=scores, mask=np.arange(8)[None, :] < np.array([[8], [5]]))
    return ("--load-inputs", tmp_path / "x.npz")


@pytest.mark.parametrize("dtype", a_few(["float16", "bfloat16"]))
@pytest.mark.parametrize("tolerance", [(), ("--atol", "0.1")], ids=["strict", "loose"])
def test_an_attention_mask_that_overflows_is_absorbed(polycmp, tmp_path, masks, dtype, tolerance):
    model = masked(tmp_path / "m.onnx")
    done = polycmp(
        "locate", model, "-b", f"onnx:name=narrow,dtype={dtype}", "-b", "onnxrt", *masks, *tolerance, *REPORT
    )
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (0, None), found["sentence"]
    assert any(
        "Inf of narrow in 'bias', the output of Where 'where', is absorbed by Softmax 'softmax'" in note
        for note in found["notes"]
    )


def test_the_search_goes_on_behind_an_absorbed_mask(polycmp, tmp_path, masks):
    good, bad = masked(tmp_path / "good.onnx"), masked(tmp_path / "bad.onnx", 1.5)
    words = ("-b", "onnx:dtype=float16", "-b", f"onnxrt:name=ref,model={good}")
    done = polycmp("locate", bad, *words, *masks, *REPORT)
    assert (done.status, located(tmp_path)["first_bad"]) == (1, "y")


def quantised(path):
    """x -> DynamicQuantizeLinear -> MatMulInteger -> Cast -> y."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"], name="quantise"),
        helper.make_node("MatMulInteger", ["q", "w", "zero"], ["product"], name="product"),
        helper.make_node("Cast", ["product"], ["real"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "scale"], ["y"], name="scale"),
    ]
    weight = np.random.default_rng(0).integers(0, 60, (64, 8)).astype(np.uint8)
    return save_graph(
        path, nodes, [("x", TensorProto.FLOAT, [40, 64])], [("y", TensorProto.FLOAT, [40, 8])], [("w", weight)]
    )


def near_a_tie():
    """Numbers of which one is as near as can be to the middle between two steps of their scale."""
    x = np.random.default_rng(0).uniform(-1, 1, (40, 64)).astype(np.float32)
    x[0, 0], x[0, 1] = -1, 1
    x[3, 3] = np.float32(80.5) * np.float32(2 / 255)
    return x


def test_a_tie_of_rounding_in_a_quantised_tensor_accuses_nobody(polycmp, tmp_path):
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantise"),
        helper.make_node("MatMulInteger", ["q", "w", "zero"], ["y"], name="product"),
    ]
    weights = [("scale", np.float32(0.1)), ("zero", np.uint8(0)), ("w", np.ones((64, 4), np.uint8))]
    inputs, outputs = [("x", TensorProto.FLOAT, [2, 64])], [("y", TensorProto.INT32, [2, 4])]
    model = save_graph(tmp_path / "m.onnx", nodes, inputs, outputs, weights)
    halves = (np.arange(128).reshape(2, 64) + np.float32(0.5)) * np.float32(0.1)
    np.savez(tmp_path / "x.npz", x=halves.astype(np.float32))
    words = ("--load-inputs", tmp_path / "x.npz", *REPORT)
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx:dtype=float64", *words)
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (0, None), found["sentence"]
    assert found["sentence"].startswith(
        "within rounding: no operator is wrong; in 'q', the output of QuantizeLinear 'quantise'"
    )
    assert "off by one step, a tie of rounding, and the outputs differ from there" in found["sentence"]


@pytest.mark.parametrize("at", ["quantise", "product"])
def test_a_fault_in_a_quantised_operator_is_named(polycmp, tmp_path, at):
    model = quantised(tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=near_a_tie())
    words = ("--load-inputs", tmp_path / "x.npz", *REPORT)
    done = polycmp("locate", model, "-b", f"faulty:backend=onnxrt,fault=shuffle,at={at}", "-b", "onnx", *words)
    found = located(tmp_path)
    assert (done.status, (found["operator"] or {}).get("name")) == (1, at), found["sentence"]
    measured = next(row for row in found["tensors"] if row["tensor"] == found["first_bad"])
    assert measured["own_error"] is not None


def test_a_saturated_sigmoid_is_no_ill_condition(polycmp, tmp_path):
    nodes = [helper.make_node("Sigmoid", ["x"], ["y"], name="sigmoid")]
    kind = TensorProto.FLOAT
    model = save_graph(tmp_path / "m.onnx", nodes, [("x", kind, [4])], [("y", kind, [4])])
    np.savez(tmp_path / "x.npz", x=np.full(4, -90, np.float32))
    for other in ("onnxrt:optimization=off", "onnx", "onnx:dtype=float64"):
        strict = ("--atol", "0", "--rtol", "0") if other != "onnxrt:optimization=off" else ()
        done = polycmp(
            "locate", model, "-b", "onnxrt", "-b", other, "--load-inputs", tmp_path / "x.npz", *strict, *REPORT
        )
        found = located(tmp_path)
        assert (done.status, found["first_bad"]) == (0, None)
        assert found["words"] in {"equal", "within rounding"}
        assert not [note for note in found["notes"] if "float64" in note]


def test_a_wrong_reference_is_said_to_be_the_one_that_is_off(polycmp, tmp_path):
    kind = TensorProto.FLOAT
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["y"], name="relu"),
    ]
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    model = save_graph(tmp_path / "m.onnx", nodes, [("x", kind, [4, 8])], [("y", kind, [4, 8])], [("w", weight)])
    done = polycmp(
        "locate", model, "-b", "onnx", "-b", "faulty:name=bad,backend=onnxrt,fault=row-noise,at=first", *REPORT
    )
    found = located(tmp_path)
    assert (done.status, found["first_bad"]) == (1, "h"), found["sentence"]
    assert "run alone, it is bad that is off from float64" in found["sentence"]


def two_faults(path, factor: float, shift: float):
    """Write a product, a sum and Exp, whose results are next to nothing with a large shift."""
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["a"], name="first"),
        helper.make_node("Add", ["a", "shift"], ["b"], name="second"),
        helper.make_node("Exp", ["b"], ["y"], name="exp"),
    ]
    weights = [("factor", np.float32(factor)), ("shift", np.float32(shift))]
    return save_graph(path, nodes, [("x", TensorProto.FLOAT, [8])], [("y", TensorProto.FLOAT, None)], weights)


def test_the_first_of_two_wrong_operators_is_named_where_the_outputs_are_next_to_nothing(polycmp, tmp_path):
    good = two_faults(tmp_path / "good.onnx", 1.0, -10.0)
    bad = two_faults(tmp_path / "bad.onnx", 0.5, 0.0)
    np.savez(tmp_path / "x.npz", x=np.linspace(0.5, 4.0, 8, dtype=np.float32))
    polycmp(
        "locate", bad, "-b", "onnxrt:name=new", "-b", f"onnxrt:name=old,model={good}", "--load-inputs", "x.npz", *REPORT
    )
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["operator"]["name"], found["tensors"][0]["tensor"]) == ("first", "a"), found["sentence"]
    assert max(row["relative_error"] for row in found["tensors"]) > 100


def detector(path, factor: float) -> None:
    """Write x -> four times (Conv, Relu) -> Conv -> Sub 30 -> Sigmoid, with one kernel times a factor."""
    rng, nodes, weights, source = np.random.default_rng(2), [], [], "x"
    for index in range(5):
        kernel = (rng.standard_normal((8, 8 if index else 3, 3, 3)) / 6).astype(np.float32)
        weights.append((f"w{index}", kernel * np.float32(factor if index == 2 else 1)))
        nodes.append(
            helper.make_node("Conv", [source, f"w{index}"], [f"c{index}"], name=f"c{index}", pads=[1, 1, 1, 1])
        )
        source = f"c{index}"
        if index < 4:
            nodes.append(helper.make_node("Relu", [source], [f"r{index}"], name=f"r{index}"))
            source = f"r{index}"
    weights.append(("far", np.float32(16)))
    nodes += [
        helper.make_node("Sub", [source, "far"], ["s"], name="s"),
        helper.make_node("Sigmoid", ["s"], ["y"], name="y"),
    ]
    shape = [1, 3, 16, 16]
    onnx.save(graph_model(nodes, [("x", TensorProto.FLOAT, shape)], [("y", TensorProto.FLOAT, None)], weights), path)


@pytest.mark.parametrize("factor", [1.4, 1.0])
def test_a_wrong_convolution_before_a_saturated_sigmoid_is_named(polycmp, tmp_path, factor):
    detector(tmp_path / "old.onnx", 1.0)
    detector(tmp_path / "new.onnx", factor)
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(4).random((1, 3, 16, 16), np.float32))
    words = ("-b", "onnxrt:name=new", "-b", "onnxrt:name=old,model=old.onnx", "--load-inputs", "x.npz")
    done = polycmp("locate", "new.onnx", *words)
    text = " ".join(done.out.split())
    assert done.status == (1 if factor != 1.0 else 0), done.out
    assert ("Conv 'c2'" in text) == (factor != 1.0)


OPERATORS = """
import numpy as np
from onnx.reference.op_run import OpRun

class Sqrt(OpRun):
    def _run(self, x):
        return (np.sqrt(x) * np.float32(FACTOR),)

class Relu(OpRun):
    def _run(self, x):
        return (np.where(x > 0, x, np.float32(0)),)

new_ops = [Sqrt, Relu]
"""


@pytest.mark.parametrize("factor", [1.0, 1 + 2.0**-23], ids=["the same numbers", "rounded otherwise"])
def test_a_nan_that_is_lost_and_comes_back_before_the_outputs_accuses_nothing(polycmp, tmp_path, factor):
    """Numbers below zero have no square root; the sign brings their NaN back after a Relu that drops it."""
    (tmp_path / "operators.py").write_text(OPERATORS.replace("FACTOR", str(factor)))
    nodes = [
        helper.make_node("Sqrt", ["x"], ["root"], name="root"),
        helper.make_node("Sign", ["root"], ["sign"], name="sign"),
        helper.make_node("Relu", ["root"], ["positive"], name="positive"),
        helper.make_node("Mul", ["sign", "positive"], ["y"], name="y"),
    ]
    values = [("x", TensorProto.FLOAT, [3, 8])], [("y", TensorProto.FLOAT, None)]
    onnx.save(graph_model(nodes, *values, []), tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32))
    words = ("-b", "onnx:ops=operators.py", "-b", "onnxrt", "--load-inputs", "x.npz", "--nan", "equal")
    assert polycmp("run", "m.onnx", *words).status == 0
    done = polycmp("locate", "m.onnx", *words)
    assert done.status == 0, done.out
    assert "'positive', the output of Relu 'positive', is absorbed by Mul 'y'" in " ".join(done.out.split())


def test_of_several_wrong_operators_the_first_is_named(polycmp, tmp_path):
    """Four factors are 1.1 times as large: no one of them makes half of the outputs' error."""
    factors = np.random.default_rng(0).uniform(0.5, 2.0, (4, 16))
    nodes = [helper.make_node("Mul", [f"m{i - 1}" if i else "x", f"c{i}"], [f"m{i}"]) for i in range(4)]
    nodes.append(helper.make_node("Relu", ["m3"], ["y"]))
    ends = [("x", TensorProto.FLOAT, [4, 16])], [("y", TensorProto.FLOAT, [4, 16])]
    for name, off in (("new", 1.1), ("old", 1.0)):
        held = [(f"c{i}", (off * item).astype(np.float32)) for i, item in enumerate(factors)]
        save_graph(tmp_path / f"{name}.onnx", nodes, *ends, held)
    done = locate_files(polycmp, tmp_path / "new.onnx", tmp_path / "old.onnx")
    found = located(tmp_path)
    assert (done.status, found["first_bad"], found["last_good"]) == (1, "m0", None), found["sentence"]


@pytest.mark.corpus
def test_backends_that_agree_on_a_wrong_answer(polycmp, tmp_path):
    done = polycmp("locate", faulty_models.cancellation(tmp_path / "m.onnx"), "-b", "onnxrt", "-b", "onnx", *REPORT)
    assert done.status == 0
    found = located(tmp_path)
    assert found["words"] == "equal"
    assert "the model loses digits in this type" in " ".join(done.out.split())
    assert found["tensors"][-1]["float64"]["reference"] > 0.5


@pytest.mark.corpus
def test_infinities_born_in_a_smaller_type(polycmp, tmp_path, inputs):
    words = inputs(x=np.full(8, 12, np.float32))
    model = faulty_models.overflow(tmp_path / "m.onnx")
    done = polycmp("locate", model, "-b", "onnx:dtype=float16", "-b", "onnx", *words, *REPORT)
    assert done.status == 1
    found = located(tmp_path)
    assert (found["words"], found["operator"]["type"]) == ("NaN/Inf born here", "Exp")

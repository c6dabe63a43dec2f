"""`polycmp locate` where the two sides calculate differently: masks, quantised tensors, fused kernels, saturation."""

from __future__ import annotations

import json

import numpy as np
import pytest
from fakes import FakeSite, runner
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph

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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
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


FUSING = '''
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

class Fusing(OnnxrtRunner):
    """The first product is always a little off; two operators together, unless looked at, are wrong by half."""
    def infer_impl(self, feed_dict):
        made = super().infer_impl(feed_dict)
        if "h" in made:
            made["h"] = made["h"] * made["h"].dtype.type(1 + 2e-5)
        if list(made) == ["y"] and "x" in feed_dict:
            made["y"] = made["y"] * made["y"].dtype.type(1.5)
        return made

def make(model, options, *, name):
    return Fusing(SessionFromOnnx(model.load("onnx")), name)
'''


def test_two_operators_wrong_together_are_named_and_not_a_small_difference_before_them(tmp_path):
    site = FakeSite(tmp_path / "site")
    site.plugin("fusing", runner("fusing", factory="fusing_impl:make"))
    (site.folder / "fusing_impl.py").write_text(FUSING)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="second"),
    ]
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    kind = TensorProto.FLOAT
    model = save_graph(tmp_path / "m.onnx", nodes, [("x", kind, [4, 8])], [("y", kind, [4, 8])], [("w", weight)])
    done = site.polycmp("locate", model, "-b", "fusing", "-b", "onnxrt", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["words"]) == (1, "probing removes the fault"), found["sentence"]
    assert len(found["probe"]["cured_by"]) == 1
    assert "the outputs' error of 0.5 relative" in found["sentence"]


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


@pytest.mark.parametrize("inner", ["encoder.layer.0.scale", "_empty_nn_module_stack_from_metadata_hook"])
def test_the_module_and_line_of_pytorch_are_said(polycmp, tmp_path, inner):
    """torch.export notes a name of its own where it has lost the module."""

    def model(path, factor):
        node = helper.make_node("Mul", ["x", "k"], ["y"], name="node_mul")
        for key, value in (
            ("pkg.torch.onnx.name_scopes", f"['', 'encoder', 'encoder.layer.0', '{inner}', 'mul']"),
            ("pkg.torch.onnx.stack_trace", 'File "/a/model.py", line 3, in forward\n    return self.net(x)\n'
             'File "/a/scale.py", line 17, in forward\n    return x * self.k'),
        ):  # fmt: skip
            entry = node.metadata_props.add()
            entry.key, entry.value = key, value
        kind = TensorProto.FLOAT
        return save_graph(path, [node], [("x", kind, [4])], [("y", kind, [4])], [("k", np.float32(factor))])

    good, bad = model(tmp_path / "good.onnx", 1), model(tmp_path / "bad.onnx", 2)
    polycmp("locate", bad, "-b", "onnxrt", "-b", f"onnxrt:name=ref,model={good}", *REPORT)
    sentence = located(tmp_path)["sentence"]
    module = "encoder.layer.0" if inner.startswith("_") else inner
    assert sentence.endswith(f"in the model's source: module {module}, scale.py:17 (return x * self.k)")


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

"""`polycmp locate` where the two sides calculate differently: masks, quantised tensors, fused kernels, saturation."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from fakes import FakeSite, runner
from onnx import TensorProto, helper, numpy_helper

REPORT = ("--report", "found.json")
LOWEST = float(np.finfo(np.float32).min)


def save(path, nodes, inputs, outputs, weights=()):
    """Write a model; inputs and outputs are (name, element type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(*item) for item in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


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
    return save(path, nodes, inputs, [("y", TensorProto.FLOAT, [2, 4])], weights)


@pytest.fixture
def masks(tmp_path):
    """Save scores with a padding mask and return the words that use them."""
    scores = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    np.savez(tmp_path / "x.npz", s=scores, mask=np.arange(8)[None, :] < np.array([[8], [5]]))
    return ("--load-inputs", tmp_path / "x.npz")


def located(tmp_path):
    return json.loads((tmp_path / "found.json").read_text())


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
    return save(path, nodes, [("x", TensorProto.FLOAT, [40, 64])], [("y", TensorProto.FLOAT, [40, 8])], [("w", weight)])


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
    model = save(tmp_path / "m.onnx", nodes, inputs, outputs, weights)
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


SATURATING = '''
import numpy as np
from polycmp.runner import Runner
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

class Saturating(OnnxrtRunner):
    """What a processor without VNNI makes of MatMulInteger: pairs of products are added in 16 bits."""
    def infer_impl(self, feed_dict):
        made = super().infer_impl(feed_dict)
        graph = self.model.graph
        weights = {item.name: item for item in graph.initializer}
        for node in graph.node:
            known = {**feed_dict, **made}
            if node.op_type == "MatMulInteger" and node.output[0] in made and node.input[0] in known:
                from onnx import numpy_helper
                a = known[node.input[0]].astype(np.int64)
                w = numpy_helper.to_array(weights[node.input[1]]).astype(np.int64)
                pairs = a[:, 0::2, None] * w[None, 0::2] + a[:, 1::2, None] * w[None, 1::2]
                made[node.output[0]] = np.clip(pairs, -32768, 32767).sum(1).astype(np.int32)
        return made

def make(model, options, *, name):
    loaded = model.load("onnx")()
    runner = Saturating(SessionFromOnnx(loaded), name)
    runner.model = loaded
    return runner
'''


def test_a_kernel_that_saturates_is_accused_with_what_helps(tmp_path):
    site = FakeSite(tmp_path / "site")
    site.plugin("avx2", runner("avx2", factory="avx2_impl:make"))
    (site.folder / "avx2_impl.py").write_text(SATURATING)
    nodes = [helper.make_node("MatMulInteger", ["x", "w"], ["y"], name="product")]
    weight = np.full((64, 4), 127, np.int8)
    model = save(
        tmp_path / "m.onnx", nodes, [("x", TensorProto.UINT8, [3, 64])], [("y", TensorProto.INT32, [3, 4])],
        [("w", weight)],
    )  # fmt: skip
    np.savez(tmp_path / "x.npz", x=np.full((3, 64), 255, np.uint8))
    words = ("locate", model, "-b", "avx2", "-b", "onnx", "--load-inputs", tmp_path / "x.npz", *REPORT)
    done = site.polycmp(*words, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["operator"]["name"]) == (1, "product"), done.stdout + done.stderr
    assert any("reduce_range=True" in note and "VNNI" in note for note in found["notes"])


def overflowing(path):
    """Two products, of which the first reaches some 100,000 and the second brings that back."""
    rng = np.random.default_rng(4)
    nodes = [
        helper.make_node("MatMul", ["x", "up"], ["large"], name="up"),
        helper.make_node("Relu", ["large"], ["kept"], name="relu"),
        helper.make_node("MatMul", ["kept", "down"], ["y"], name="down"),
    ]
    ranges = {"up": (2e3, 6e3), "down": (-1e-3, 1e-3)}
    weights = [(name, rng.uniform(*ends, (64, 64)).astype(np.float32)) for name, ends in ranges.items()]
    return save(path, nodes, [("x", TensorProto.FLOAT, [8, 64])], [("y", TensorProto.FLOAT, [8, 64])], weights)


@pytest.mark.parametrize("where", ["in the backend", "in the file"])
def test_numbers_that_float16_cannot_hold_are_told(polycmp, tmp_path, where):
    """The commonest fault of a model in float16: nothing is wrong with the kernels."""
    model = overflowing(tmp_path / "m.onnx")
    words = (model, "-b", "onnx:dtype=float16", "-b", "onnx")
    if where == "in the file":
        assert polycmp("convert", model, "--fp-to-fp16", "-o", tmp_path / "half.onnx").status == 0
        words = (tmp_path / "half.onnx", model, "-b", "onnx")
    done = polycmp("locate", *words, *REPORT)
    assert done.status == 1, done.out + done.err
    [note] = [note for note in located(tmp_path)["notes"] if note.startswith("cause:")]
    assert "in the reference; " in note, note
    assert "has float16, whose largest number is 65504" in note.replace("may calculate in", "has"), note


ROUNDING = '''
import numpy as np
import onnx
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

class Rounding(OnnxrtRunner):
    """Multiplies real numbers, of which it takes the first ones in steps of a 127th of the largest of 32."""
    def infer_impl(self, feed_dict):
        x = feed_dict["x"]
        blocks = x.reshape(-1, x.shape[-1] // 32, 32)
        step = abs(blocks).max(-1, keepdims=True) / np.float32(127)
        return super().infer_impl({**feed_dict, "x": (np.rint(blocks / step) * step).reshape(x.shape)})

def make(model, options, *, name):
    loaded = onnx.ModelProto()
    loaded.CopyFrom(model.load("onnx")())
    for node in loaded.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 1
    return Rounding(SessionFromOnnx(loaded), name)
'''


TOGETHER = '''
import numpy as np
from polycmp_onnxrt.runner import OnnxrtRunner
from polycmp_onnxrt.session import SessionFromOnnx

class Together(OnnxrtRunner):
    """Changes what the product reads, unless somebody looks at what it reads."""
    def infer_impl(self, feed_dict):
        made = super().infer_impl(feed_dict)
        if list(made) == ["y"] and "x" in feed_dict:
            blocks = feed_dict["x"].reshape(-1, 2, 32)
            step = abs(blocks).max(-1, keepdims=True) / np.float32(127)
            made = super().infer_impl({{**feed_dict, "x": ({changed}).reshape(feed_dict["x"].shape)}})
        return made

def make(model, options, *, name):
    return Together(SessionFromOnnx(model.load("onnx")), name)
'''


@pytest.mark.parametrize("level", [1, 4])
def test_numbers_that_an_attribute_lets_a_product_round_are_told(tmp_path, level):
    """With an accuracy level of 1 the file allows no such thing, and nobody says so."""
    site = FakeSite(tmp_path / "site")
    site.plugin("rounding", runner("rounding", factory="rounding_impl:make"))
    (site.folder / "rounding_impl.py").write_text(ROUNDING)
    rng = np.random.default_rng(0)
    attributes = {"K": 64, "N": 32, "bits": 4, "block_size": 32, "accuracy_level": level}
    product = helper.make_node(
        "MatMulNBits", ["x", "codes", "scales"], ["y"], "product", domain="com.microsoft", **attributes
    )
    codes, scales = rng.integers(0, 256, (32, 2, 16)).astype(np.uint8), rng.random(64, np.float32) / 20
    graph = helper.make_graph(
        [product], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 32])],
        [numpy_helper.from_array(codes, "codes"), numpy_helper.from_array(scales, "scales")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opsets), tmp_path / "m.onnx")
    done = site.polycmp("locate", tmp_path / "m.onnx", "-b", "rounding", "-b", "onnx", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["operator"]["name"]) == (1, "product"), done.stdout + done.stderr
    told = [
        note
        for note in found["notes"]
        if "allows rounding what MatMulNBits 'product' reads to 8 bits in blocks of 32" in note
    ]
    assert len(told) == (level == 4), found["notes"]
    assert all("accuracy_level=1 asks for float32" in note for note in told)


@pytest.mark.parametrize("rounds", [True, False], ids=["rounds", "is wrong"])
def test_numbers_that_a_kernel_for_small_weights_rounds_are_told(tmp_path, rounds):
    """The weights alone are quantised, so that nobody is told of kernels for two operands of 8 bits, which saturate."""
    site = FakeSite(tmp_path / "site")
    site.plugin("rounding", runner("rounding", factory="rounding_impl:make"))
    changed = "np.rint(blocks / step) * step" if rounds else "blocks * np.float32(1.01)"
    (site.folder / "rounding_impl.py").write_text(TOGETHER.format(changed=changed))
    nodes = [
        helper.make_node("DequantizeLinear", ["codes", "scale", "zero"], ["w"], name="weights"),
        helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
        helper.make_node("Tanh", ["p"], ["y"], name="tanh"),
    ]
    codes = np.random.default_rng(0).integers(-8, 8, (64, 32)).astype(np.int8)
    values = [("codes", codes), ("scale", np.float32(0.03)), ("zero", np.int8(0))]
    kind = TensorProto.FLOAT
    model = save(tmp_path / "m.onnx", nodes, [("x", kind, [4, 64])], [("y", kind, [4, 32])], values)
    done = site.polycmp("locate", model, "-b", "rounding", "-b", "onnx", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["words"]) == (1, "probing removes the fault"), done.stdout + done.stderr
    told = [note for note in found["notes"] if "what MatMul 'product' reads to 8 bits in blocks of 32" in note]
    assert len(told) == rounds, found["notes"]
    assert not [note for note in found["notes"] if "VNNI" in note]


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
    model = save(tmp_path / "m.onnx", nodes, [("x", kind, [4, 8])], [("y", kind, [4, 8])], [("w", weight)])
    done = site.polycmp("locate", model, "-b", "fusing", "-b", "onnxrt", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["words"]) == (1, "probing removes the fault"), found["sentence"]
    assert len(found["probe"]["cured_by"]) == 1
    assert "the outputs' error of 0.5 relative" in found["sentence"]


def test_a_saturated_sigmoid_is_no_ill_condition(polycmp, tmp_path):
    nodes = [helper.make_node("Sigmoid", ["x"], ["y"], name="sigmoid")]
    kind = TensorProto.FLOAT
    model = save(tmp_path / "m.onnx", nodes, [("x", kind, [4])], [("y", kind, [4])])
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
    model = save(tmp_path / "m.onnx", nodes, [("x", kind, [4, 8])], [("y", kind, [4, 8])], [("w", weight)])
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
        return save(path, [node], [("x", kind, [4])], [("y", kind, [4])], [("k", np.float32(factor))])

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
    return save(path, nodes, [("x", TensorProto.FLOAT, [8])], [("y", TensorProto.FLOAT, None)], weights)


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

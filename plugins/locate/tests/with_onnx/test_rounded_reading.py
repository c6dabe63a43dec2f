"""Numbers that a kernel rounds to 8 bits before it multiplies them."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from fakes import FakeSite, runner
from located import REPORT, located
from onnx import TensorProto, helper, numpy_helper
from small_models import save_graph

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
    model = save_graph(tmp_path / "m.onnx", nodes, [("x", kind, [4, 64])], [("y", kind, [4, 32])], values)
    done = site.polycmp("locate", model, "-b", "rounding", "-b", "onnx", *REPORT, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["words"]) == (1, "probing removes the fault"), done.stdout + done.stderr
    told = [note for note in found["notes"] if "what MatMul 'product' reads to 8 bits in blocks of 32" in note]
    assert len(told) == rounds, found["notes"]
    assert not [note for note in found["notes"] if "VNNI" in note]

"""Kernels for 8 bits that saturate."""

from __future__ import annotations

import numpy as np
from fakes import FakeSite, runner
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph

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
    model = save_graph(
        tmp_path / "m.onnx", nodes, [("x", TensorProto.UINT8, [3, 64])], [("y", TensorProto.INT32, [3, 4])],
        [("w", weight)],
    )  # fmt: skip
    np.savez(tmp_path / "x.npz", x=np.full((3, 64), 255, np.uint8))
    words = ("locate", model, "-b", "avx2", "-b", "onnx", "--load-inputs", tmp_path / "x.npz", *REPORT)
    done = site.polycmp(*words, cwd=tmp_path)
    found = located(tmp_path)
    assert (done.returncode, found["operator"]["name"]) == (1, "product"), done.stdout + done.stderr
    assert any("reduce_range=True" in note and "VNNI" in note for note in found["notes"])

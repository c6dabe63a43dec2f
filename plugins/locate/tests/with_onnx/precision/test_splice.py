"""Layers of one model in place of another's: what they read, and names that are taken."""

from __future__ import annotations

import low_precision_models as low_precision
import numpy as np
import onnx
from low_precision_models import run
from onnx import TensorProto, helper, numpy_helper

from polycmp_locate.precision.mixed import Mixer


def test_a_branch_inside_a_layer_reads_what_stands_around_it(tmp_path):
    """An If reads a tensor and a weight of the graph around it; in float it has to read them in float."""
    branch = helper.make_graph(
        [helper.make_node("MatMul", ["a", "w"], ["inner"])], "then",
        [], [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Identity", ["a"], ["same"])], "else",
        [], [helper.make_tensor_value_info("same", TensorProto.FLOAT, None)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Tanh", ["x"], ["a"], name="before"),
        helper.make_node("ReduceSum", ["a"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "limit"], ["positive"], name="greater"),
        helper.make_node("If", ["positive"], ["b"], name="choice", then_branch=branch, else_branch=other),
        helper.make_node("Tanh", ["b"], ["y"], name="after"),
    ]
    weight = np.random.default_rng(1).standard_normal((low_precision.WIDTH, low_precision.WIDTH)).astype(np.float32)
    weights = [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(-1e4), "limit")]
    shapes = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [low_precision.BATCH, low_precision.WIDTH])
        for name in "xy"
    ]
    graph = helper.make_graph(nodes, "branches", shapes[:1], shapes[1:], weights)
    exact = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    mixer = Mixer(exact, low_precision.bfloat16(exact, tmp_path))
    choice = next(layer for layer in mixer.layers if layer.name == "choice")
    assert not np.allclose(run(mixer.reduced), run(exact), atol=1e-4)
    np.testing.assert_allclose(run(mixer.mix(mixer.layers)), run(exact), atol=1e-5)
    onnx.checker.check_model(mixer.mix([choice]))
    assert np.isfinite(run(mixer.mix([choice]))).all()


def test_names_that_are_taken_stay_their_owners(tmp_path):
    exact = low_precision.chain(3)
    clash = onnx.ModelProto()
    clash.CopyFrom(exact)
    for node in clash.graph.node:
        for field in (node.input, node.output):
            field[:] = [{"a1": "m2_float32", "a2": "w2_float32"}.get(name, name) for name in field]
    mixer = Mixer(clash, low_precision.float16(clash, tmp_path))
    for layer in mixer.layers:
        mixed = mixer.mix([layer])
        onnx.checker.check_model(mixed)
        made = [name for node in mixed.graph.node for name in node.output]
        assert len(made) == len(set(made))
    np.testing.assert_allclose(run(mixer.mix(mixer.layers)), run(exact), atol=1e-6)

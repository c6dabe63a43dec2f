"""Several models as one of separate parts, each with names of its own."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper
from small_models import graph_model

from polycmp_onnx.compose import make_loader
from polycmp_onnx.join import join
from polycmp_onnx.reference import make_evaluator

F = TensorProto.FLOAT


def part(op, factor):
    """A model that reads a weight from within an If, and has an input that is left out."""
    branches = [
        helper.make_graph([helper.make_node(kind, ["x", "w"], ["b"])], kind, [],
                          [helper.make_tensor_value_info("b", F, None)]) for kind in (op, "Add")
    ]  # fmt: skip
    nodes = [
        helper.make_node("If", ["which"], ["h"], "choice", then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Clip", ["h", "", "most"], ["y"], "clip"),
    ]
    inputs = [("x", F, [2]), ("which", TensorProto.BOOL, [])]
    weights = [("w", np.float32([factor, factor])), ("most", np.float32(100))]
    return graph_model(nodes, inputs, [("y", F, [2])], weights)


def test_parts_with_the_same_names_compute_what_each_computes_alone(tmp_path):
    parts = {"a_": part("Mul", 3), "b_": part("Sub", 5)}
    for prefix, model in parts.items():
        onnx.save(model, tmp_path / f"{prefix}.onnx")
    joined = join({prefix: make_loader(str(tmp_path / f"{prefix}.onnx")) for prefix in parts})()
    onnx.checker.check_model(joined)
    x, which = np.float32([7, 50]), np.array(True)
    feed = {f"{prefix}{name}": value for prefix in parts for name, value in (("x", x), ("which", which))}
    found = make_evaluator(joined).run(["a_y", "b_y"], feed)
    alone = [make_evaluator(model).run(["y"], {"x": x, "which": which})[0] for model in parts.values()]
    assert [item.tolist() for item in found] == [item.tolist() for item in alone] == [[21, 100], [2, 45]]

"""Samples of a model whose tensors lie in bodies of operators, which draw their own random numbers."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from polycmp.builtin.judging.limits import SAMPLES
from polycmp.builtin.judging.samples import PerturbedRuns
from polycmp.options import OptionValues
from polycmp.plan.build import make_plan
from polycmp.plan.sections import SECTIONS
from polycmp.plugins import Registry
from polycmp.runs import resolve


def test_each_differs_where_a_backend_draws_the_same_numbers_in_each_run(tmp_path):
    """ONNX's own evaluator does, and it alone runs what draws numbers in a file of version 22."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 8]) for name in "xyz"]
    branches = [helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], name, [], value[1:2]) for name in ("a", "b")]
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=onnx.numpy_helper.from_array(np.array(True))),
        helper.make_node("If", ["yes"], ["z"], then_branch=branches[0], else_branch=branches[1]),
    ]
    graph = helper.make_graph(nodes, "g", value[:1], value[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    registry = Registry.discover()
    values = OptionValues({}, SECTIONS, model=str(tmp_path / "m.onnx"), backends=("onnx",))
    backend = resolve(make_plan(values, registry), registry).backends[0]
    feed = {"x": np.linspace(-1, 1, 32, dtype=np.float32).reshape(4, 8)}
    samples = PerturbedRuns(backend, backend.model.graph()).samples(feed, {"": "float32"})
    assert samples is not None
    assert len({tensors["z"].tobytes() for tensors in samples.perturbed()}) == SAMPLES

"""`polycmp locate` on operators that are right one by one: which fail or are wrong together, why, and what to type."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from polycmp.plugins import Registry

REPORT = ("--report", "found.json")
DOUBLE, FLOAT = TensorProto.DOUBLE, TensorProto.FLOAT


def save(path, nodes, inputs, outputs, weights=(), opset=17):
    """Write a model; inputs and outputs are (name, element type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*item) for item in inputs],
        [helper.make_tensor_value_info(*item) for item in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights],
    )
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


def located(tmp_path):
    return json.loads((tmp_path / "found.json").read_text())


def relu_clip(path):
    """Mul, Sigmoid, Relu, Clip, Add, Exp in float64, which ONNX Runtime's rule for Relu and Clip does not know."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["m"], name="mul"),
        helper.make_node("Sigmoid", ["m"], ["s"], name="sigmoid"),
        helper.make_node("Relu", ["s"], ["r"], name="relu"),
        helper.make_node("Clip", ["r", "low", "two"], ["c"], name="clip"),
        helper.make_node("Add", ["c", "two"], ["a"], name="add"),
        helper.make_node("Exp", ["a"], ["y"], name="exp"),
    ]
    ends = [("x", DOUBLE, [3, 4])], [("y", DOUBLE, [3, 4])]
    return save(path, nodes, *ends, [("two", np.float64(2)), ("low", np.float64(-1))])


def fails_in_relu_clip(tmp_path):
    """Return whether the installed ONNX Runtime cannot load that model."""
    import onnxruntime

    try:
        onnxruntime.InferenceSession(relu_clip(tmp_path / "probe.onnx"), providers=["CPUExecutionProvider"])
    except Exception:  # the runtime's own types
        return True
    return False


def test_operators_that_the_optimiser_cannot_join_are_named(polycmp, tmp_path):
    if not fails_in_relu_clip(tmp_path):
        pytest.skip("this ONNX Runtime joins Relu and Clip of float64")
    done = polycmp("locate", relu_clip(tmp_path / "m.onnx"), "-b", "onnxrt", "-b", "onnx", *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"]) == (1, "the backend fails here")
    assert [node["name"] for node in found["fused"]["operators"]] == ["relu", "clip"]
    assert "Relu 'relu' and Clip 'clip' run one by one, together they do not (FuseReluClip)" in found["sentence"]
    assert "a way round: -b onnxrt:disable_optimizers=FuseReluClip" in found["sentence"]
    assert "FOUND: the backend fails here" in done.out


def test_the_way_round_keeps_what_was_asked_for_and_works(polycmp, tmp_path):
    if not fails_in_relu_clip(tmp_path):
        pytest.skip("this ONNX Runtime joins Relu and Clip of float64")
    model = relu_clip(tmp_path / "m.onnx")
    backend = "onnxrt:threads=1,disable_optimizers=[GeluFusionL1,LayerNormFusionL1],name=mine"
    polycmp("locate", model, "-b", backend, "-b", "onnx", *REPORT)
    words = located(tmp_path)["fused"]["switch"]["words"]
    assert words == "-b onnxrt:disable_optimizers=[GeluFusionL1,LayerNormFusionL1,FuseReluClip],threads=1,name=mine"
    assert polycmp("run", model, *words.split(), "-b", "onnx").status == 0


def test_switches_of_a_backend_are_checked(tmp_path):
    """Every switch of our own backends names an option, and values that it takes."""
    from polycmp.model import Model
    from polycmp.plan import BackendPlan
    from polycmp.runs.resolve import ResolvedBackend

    registry = Registry.discover()
    model = Model(str(relu_clip(tmp_path / "m.onnx")), registry)
    known = [(name, item) for name, item in registry.runners.items() if item.spec.switches]
    assert "onnxrt" in dict(known)
    for name, item in known:
        backend = ResolvedBackend(BackendPlan(name, name, item.spec.options()), model, item)
        for switch in item.spec.switches:
            values = backend.switch_values(switch)
            several = isinstance(getattr(backend.plan.options, switch.option), tuple)
            assert values
            assert len(set(values)) == len(values)
            assert all(backend.with_option(switch.option, (value,) if several else value) for value in values)

"""`polycmp locate` on operators that are right one by one: which fail or are wrong together, why, and what to type."""

from __future__ import annotations

import numpy as np
import pytest
from located import REPORT, located
from onnx import TensorProto, helper
from small_models import save_graph

from polycmp.plugins import Registry

DOUBLE, FLOAT = TensorProto.DOUBLE, TensorProto.FLOAT


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
    return save_graph(path, nodes, *ends, [("two", np.float64(2)), ("low", np.float64(-1))])


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
    assert "Relu 'relu' and Clip 'clip' run one by one, but not together (FuseReluClip)" in found["sentence"]
    assert "workaround: -b onnxrt:disable_optimizers=FuseReluClip" in found["sentence"]
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
    from polycmp.runs.resolved_backend import ResolvedBackend

    registry = Registry.discover()
    model = Model(str(relu_clip(tmp_path / "m.onnx")), registry)
    known = {item.name: item for item, tools in registry.equipped(registry.runners.values()) if tools.switches}
    assert "onnxrt" in known
    for name, item in known.items():
        given = {"compile": True} if name == "torch" else {}  # what is not compiled leaves nothing out
        backend = ResolvedBackend(BackendPlan(name, name, item.spec.options(**given)), model, item)
        for switch in backend.tools.switches:
            values = backend.switch_values(switch)
            several = isinstance(getattr(backend.plan.options, switch.option), tuple)
            assert values
            assert len(set(values)) == len(values)
            assert all(backend.with_option(switch.option, (value,) if several else value) for value in values)


# --- operators that are wrong together


def layer_norm(path):
    """A layer norm by hand whose means have lost their dimension, so that columns are normalised by rows' figures."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], name="mean", axes=[1], keepdims=0),
        helper.make_node("Sub", ["x", "mean"], ["centred"], name="sub"),
        helper.make_node("Pow", ["centred", "two"], ["square"], name="pow"),
        helper.make_node("ReduceMean", ["square"], ["variance"], name="variance", axes=[1], keepdims=0),
        helper.make_node("Add", ["variance", "epsilon"], ["shifted"], name="epsilon"),
        helper.make_node("Sqrt", ["shifted"], ["deviation"], name="sqrt"),
        helper.make_node("Div", ["centred", "deviation"], ["normal"], name="div"),
        helper.make_node("Mul", ["normal", "gain"], ["scaled"], name="gain"),
        helper.make_node("Add", ["scaled", "bias"], ["n"], name="bias"),
        helper.make_node("Tanh", ["n"], ["y"], name="tanh"),
    ]
    weights = [("two", np.float32(2)), ("epsilon", np.float32(1e-5))]
    weights += [("gain", np.linspace(0.5, 2, 8, dtype=np.float32)), ("bias", np.linspace(-1, 1, 8, dtype=np.float32))]
    return save_graph(path, nodes, [("x", FLOAT, [8, 8])], [("y", FLOAT, [8, 8])], weights, opset=13)


def test_all_operators_that_one_kernel_replaced_are_named_with_the_pass(polycmp, tmp_path):
    model = layer_norm(tmp_path / "m.onnx")
    if polycmp("run", model, "-b", "onnxrt", "-b", "onnx").status == 0:
        pytest.skip("this ONNX Runtime computes it rightly")
    done = polycmp("locate", model, "-b", "onnxrt", "-b", "onnx", *REPORT)
    found = located(tmp_path)
    assert (done.status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "n")
    named = [node["name"] for node in found["fused"]["operators"]]
    assert named == ["mean", "sub", "pow", "variance", "epsilon", "sqrt", "div", "gain", "bias"]
    assert found["fused"]["replaced_by"] == ["LayerNormalization"]
    assert "as one LayerNormalization (LayerNormFusion" in found["sentence"]
    words = found["fused"]["switch"]["words"]
    assert polycmp("run", model, *words.split(), "-b", "onnx").status == 0


def test_operators_between_two_others_that_became_one(optimising, tmp_path):
    """What happens to `n` is inside; the pass that does it is found among those that do nothing here."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], name="exp"),
        helper.make_node("Neg", ["e"], ["n"], name="neg"),
        helper.make_node("Add", ["one", "n"], ["a"], name="add"),
        helper.make_node("Tanh", ["a"], ["y"], name="tanh"),
    ]
    ends = [("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 8])]
    status, found = optimising(save_graph(tmp_path / "m.onnx", nodes, *ends, [("one", np.float32(1))]))
    assert (status, found["words"], found["first_bad"]) == (1, "probing removes the fault", "a")
    assert "computes Neg 'neg' and Add 'add' as one Sub (Differences), which is wrong" in found["sentence"]
    assert found["sentence"].endswith("workaround: -b optimising:skip=Differences")


def test_a_pass_that_rounds_weights_is_named_although_the_operator_is_right_alone(optimising, tmp_path):
    """Alone the product reads real numbers, and keeps its weights; probes leave the codes before it where they are."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], name="dequantize"),
        helper.make_node("MatMul", ["d", "w"], ["p"], name="product"),
        helper.make_node("Tanh", ["p"], ["y"], name="tanh"),
    ]
    values = [("scale", np.float32(0.03)), ("zero", np.uint8(128))]
    values += [("w", (rng.standard_normal((16, 8)) / 4).astype(np.float32))]
    ends = [("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 8])]
    np.savez(tmp_path / "x.npz", x=rng.standard_normal((4, 16)).astype(np.float32))
    model = save_graph(tmp_path / "m.onnx", nodes, *ends, values)
    status, found = optimising(model, "--load-inputs", tmp_path / "x.npz")
    assert (status, found["words"]) == (1, "beyond rounding")
    assert "optimising rewrites MatMul 'product' (Weights), and is right where it does not" in found["sentence"]
    assert found["sentence"].endswith("workaround: -b optimising:skip=Weights")


def test_a_slow_backend_is_searched_as_any_other(optimising, tmp_path, monkeypatch):
    """How long the whole model takes says nothing of what is wrong with it."""
    monkeypatch.setenv("SLOW", "3.2")
    test_operators_between_two_others_that_became_one(optimising, tmp_path)
